// Package store accesses the openspec directory on disk. It finds the directory, lists the content of the directory,
// reads files up to a maximum size, and changes several files atomically.
//
//	root, err := store.Find(filesystem.OS{}, cwd, top)
//	specs, err := root.Specs()
//
// The package does not parse files. It accesses files through a filesystem.FS, so that a test can make any operation
// fail.
package store

import (
	"errors"
	"io/fs"
	"path/filepath"

	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/workflow"
	"github.com/bulkhead-mcp/bulkhead/sdk/contain"
	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem"
)

// MaxFile is the maximum size of a file that the package reads, in bytes.
const MaxFile = 4 << 20

// ErrNoRoot means that neither the working directory nor one of its parents contains an openspec directory.
var ErrNoRoot = errors.New("No OpenSpec root found from the current directory.") //lint:ignore ST1005 the wording of the openspec CLI

// Names of the openspec directory and of files and directories in it.
const (
	DirName   = "openspec"
	oldName   = ".openspec" // the old name of the directory; read if the openspec directory does not exist, and never created
	specsName = "specs"
	changes   = "changes"
	schemas   = "schemas"
	specFile  = "spec.md"
)

// ConfigNames are the names that the config file can have, in order of precedence.
var ConfigNames = []string{"config.yaml", "config.yml"}

// Root is a project together with its openspec directory, which need not exist. A Root serves only one call.
type Root struct {
	Path  string // the path of the project
	Dir   string // the path of the openspec directory of the project
	files filesystem.FS
	// entries is the number of directory entries that the call has read, at most maxEntries.
	entries  int
	patterns map[string]*workflow.Pattern // parsed patterns; the key is the source of the pattern
	// scanned is nil unless files is the file system of the operating system, because only that can be scanned. Then
	// scanned is the same value as files.
	scanned *scanned
}

// maxEntries is the maximum number of directory entries that one call reads.
const maxEntries = 20000

// At returns the root at path. The directory need not exist.
func At(files filesystem.FS, path string) *Root {
	root := &Root{Path: path, Dir: filepath.Join(path, DirName), files: files}
	if _, ok := files.(filesystem.OS); ok {
		root.scanned = &scanned{FS: files}
		root.files = root.scanned
	}
	return root
}

// Find returns the nearest root in cwd or a parent of cwd, up to top. The error is ErrNoRoot if there is none.
func Find(files filesystem.FS, cwd, top string) (*Root, error) {
	for at := cwd; ; {
		root := At(files, at)
		for _, name := range []string{DirName, oldName} {
			root.Dir = filepath.Join(at, name)
			if root.isRoot() {
				return root, nil
			}
			if _, err := files.Lstat(root.Dir); err == nil {
				break // an existing openspec directory takes precedence over .openspec, even if it is empty
			}
		}
		parent := filepath.Dir(at)
		if at == top || parent == at || !contain.Within(top, parent) {
			return nil, ErrNoRoot
		}
		at = parent
	}
}

// isRoot reports whether the openspec directory exists, and contains a config file, the directory of specs or the
// directory of changes.
func (r *Root) isRoot() bool {
	if !r.reachable(r.Dir) {
		return false
	}
	for _, name := range []string{specsName, changes} {
		path := filepath.Join(r.Dir, name)
		if info, err := r.files.Stat(path); err == nil && info.IsDir() && r.reachable(path) {
			return true
		}
	}
	return r.Config() != ""
}

// Config returns the path of the config file; "" if the file does not exist.
func (r *Root) Config() string {
	for _, name := range ConfigNames {
		path := filepath.Join(r.Dir, name)
		if info, err := r.files.Lstat(path); err == nil && info.Mode().IsRegular() {
			return path
		}
	}
	return ""
}

// reachable reports whether path exists and, with symbolic links resolved, is in the project.
func (r *Root) reachable(path string) bool {
	info, err := r.files.Lstat(path)
	if err != nil {
		return false
	}
	if info.Mode()&fs.ModeSymlink == 0 {
		return true
	}
	target, err := r.resolver().Inside(r.Path, path)
	return err == nil && target.Exists
}

// SpecsDir returns the path of the directory of the main specs.
func (r *Root) SpecsDir() string { return filepath.Join(r.Dir, specsName) }

// ChangesDir returns the path of the directory of the active changes.
func (r *Root) ChangesDir() string { return filepath.Join(r.Dir, changes) }

// ArchiveDir returns the path of the directory of the archived changes.
func (r *Root) ArchiveDir() string { return filepath.Join(r.ChangesDir(), ArchiveName) }

// SpecPath returns the path of the main spec of a capability. CheckSpec must have accepted the id.
func (r *Root) SpecPath(id string) string {
	return filepath.Join(r.SpecsDir(), filepath.FromSlash(id), specFile)
}
