// Package store is the openspec directory on disk: where it is, what is in it, how files are read within
// bounds, and how several of them change atomically.
//
//	root, err := store.Find(filesystem.OS{}, cwd, top)
//	specs, err := root.Specs()
//
// It knows names and files, and nothing of what is in them. All its access to files goes through a filesystem.FS, so
// that a test can make any operation fail.
package store

import (
	"errors"
	"io/fs"
	"path/filepath"

	"github.com/bulkhead-mcp/bulkhead/sdk/contain"
	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem"
)

// MaxFile bounds a file that is read, in bytes.
const MaxFile = 4 << 20

// ErrNoRoot says that no folder on the way up holds an openspec folder.
var ErrNoRoot = errors.New("No OpenSpec root found from the current directory.") //lint:ignore ST1005 the command line's words

// Names of what an openspec folder holds.
const (
	FolderName = "openspec"
	oldName    = ".openspec" // read where there is no openspec, never made
	specsName  = "specs"
	changes    = "changes"
	schemas    = "schemas"
	specFile   = "spec.md"
)

// ConfigNames are the names of a config file, the first that is there counts.
var ConfigNames = []string{"config.yaml", "config.yml"}

// Root is a project with an openspec folder, as one call sees it. The folder need not be there yet.
type Root struct {
	Path   string // of the project
	Folder string // of its openspec folder
	files  filesystem.FS
	// entries counts what was found in folders: a Root is for one call, which looks at maxEntries of them.
	entries int
}

// maxEntries bounds the folder entries that one call reads.
const maxEntries = 20000

// At returns the root at a path, whatever is there.
func At(files filesystem.FS, path string) *Root {
	return &Root{Path: path, Folder: filepath.Join(path, FolderName), files: files}
}

// Find returns the nearest root from cwd upwards to top. The error is ErrNoRoot if there is none.
func Find(files filesystem.FS, cwd, top string) (*Root, error) {
	for at := cwd; ; {
		root := At(files, at)
		for _, name := range []string{FolderName, oldName} {
			root.Folder = filepath.Join(at, name)
			if root.isRoot() {
				return root, nil
			}
			if _, err := files.Lstat(root.Folder); err == nil {
				break // an openspec folder without content hides an old one
			}
		}
		parent := filepath.Dir(at)
		if at == top || parent == at || !contain.Within(top, parent) {
			return nil, ErrNoRoot
		}
		at = parent
	}
}

// isRoot tells whether the folder is there and holds what makes it one.
func (r *Root) isRoot() bool {
	if !r.reachable(r.Folder) {
		return false
	}
	for _, name := range []string{specsName, changes} {
		path := filepath.Join(r.Folder, name)
		if info, err := r.files.Stat(path); err == nil && info.IsDir() && r.reachable(path) {
			return true
		}
	}
	return r.Config() != ""
}

// Config returns the path of the config file; "" if there is none.
func (r *Root) Config() string {
	for _, name := range ConfigNames {
		path := filepath.Join(r.Folder, name)
		if info, err := r.files.Lstat(path); err == nil && info.Mode().IsRegular() {
			return path
		}
	}
	return ""
}

// reachable tells whether a path exists and leads, by whatever links, to a place in the project.
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

// SpecsDir is the folder of the main specs.
func (r *Root) SpecsDir() string { return filepath.Join(r.Folder, specsName) }

// ChangesDir is the folder of the active changes.
func (r *Root) ChangesDir() string { return filepath.Join(r.Folder, changes) }

// ArchiveDir is the folder of the archived changes.
func (r *Root) ArchiveDir() string { return filepath.Join(r.ChangesDir(), ArchiveName) }

// SpecPath is the path of a capability's main spec. The id must have passed CheckSpec.
func (r *Root) SpecPath(id string) string {
	return filepath.Join(r.SpecsDir(), filepath.FromSlash(id), specFile)
}
