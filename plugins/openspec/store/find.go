// Package store accesses the openspec directory on disk: it finds the directory, lists its content, reads files within
// bounds, and changes several files atomically.
//
//	root, err := store.Find(filesystem.OS{}, cwd, top)
//	specs, err := root.Specs()
//
// The package does not parse files. It accesses them through a filesystem.FS, so that a test can make any operation fail.
package store

import (
	"errors"
	"io/fs"
	"path/filepath"

	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/workflow"
	"github.com/bulkhead-mcp/bulkhead/sdk/contain"
	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem"
)

// MaxFile bounds a file that is read, in bytes.
const MaxFile = 4 << 20

// ErrNoRoot reports that neither the working directory nor its parents contain an openspec directory.
var ErrNoRoot = errors.New("No OpenSpec root found from the current directory.") //lint:ignore ST1005 the wording of the openspec CLI

// Names in an openspec directory.
const (
	DirName   = "openspec"
	oldName   = ".openspec" // old name of the directory: read if openspec is absent, never created
	specsName = "specs"
	changes   = "changes"
	schemas   = "schemas"
	specFile  = "spec.md"
)

// ConfigNames are the possible names of the config file, in order of precedence.
var ConfigNames = []string{"config.yaml", "config.yml"}

// Root is a project with an openspec directory, which need not exist. A Root serves one call.
type Root struct {
	Path  string // path of the project
	Dir   string // path of its openspec directory
	files filesystem.FS
	// entries counts the directory entries that the call has read, up to maxEntries.
	entries  int
	patterns map[string]*workflow.Pattern // parsed patterns, by source
	// scanned is the value of files if these are the files of the operating system: only those can be scanned. Otherwise
	// it is nil.
	scanned *scanned
}

// maxEntries bounds the directory entries that one call reads.
const maxEntries = 20000

// At returns the root at a path, which need not exist.
func At(files filesystem.FS, path string) *Root {
	root := &Root{Path: path, Dir: filepath.Join(path, DirName), files: files}
	if _, ok := files.(filesystem.OS); ok {
		root.scanned = &scanned{FS: files}
		root.files = root.scanned
	}
	return root
}

// Find returns the nearest root from cwd upwards to top. The error is ErrNoRoot if there is none.
func Find(files filesystem.FS, cwd, top string) (*Root, error) {
	for at := cwd; ; {
		root := At(files, at)
		for _, name := range []string{DirName, oldName} {
			root.Dir = filepath.Join(at, name)
			if root.isRoot() {
				return root, nil
			}
			if _, err := files.Lstat(root.Dir); err == nil {
				break // an existing openspec directory, even if empty, takes precedence over .openspec
			}
		}
		parent := filepath.Dir(at)
		if at == top || parent == at || !contain.Within(top, parent) {
			return nil, ErrNoRoot
		}
		at = parent
	}
}

// isRoot reports whether the directory exists and has a config file or the directory of specs or changes.
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

// Config returns the path of the config file; "" if there is none.
func (r *Root) Config() string {
	for _, name := range ConfigNames {
		path := filepath.Join(r.Dir, name)
		if info, err := r.files.Lstat(path); err == nil && info.Mode().IsRegular() {
			return path
		}
	}
	return ""
}

// reachable reports whether a path exists and, with symbolic links resolved, is in the project.
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

// SpecsDir is the directory of the main specs.
func (r *Root) SpecsDir() string { return filepath.Join(r.Dir, specsName) }

// ChangesDir is the directory of the active changes.
func (r *Root) ChangesDir() string { return filepath.Join(r.Dir, changes) }

// ArchiveDir is the directory of the archived changes.
func (r *Root) ArchiveDir() string { return filepath.Join(r.ChangesDir(), ArchiveName) }

// SpecPath is the path of a capability's main spec. The id must have passed CheckSpec.
func (r *Root) SpecPath(id string) string {
	return filepath.Join(r.SpecsDir(), filepath.FromSlash(id), specFile)
}
