package disk

import (
	"io/fs"
	"os"
	"path/filepath"

	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem"
)

// Aliases finds directories that are the same directory under several paths. Paths alone do not show this in a sandbox:
// a granted directory that is a symbolic link looks like a directory there. The key is the path of a directory, and the
// value is the first path of the same directory.
type Aliases map[string]string

// NewAliases compares all directories in dirs. A directory that does not exist, or is not accessible, has no aliases.
func NewAliases(fsys filesystem.FS, dirs []string) Aliases {
	type existing struct {
		path string
		info fs.FileInfo
	}
	var first []existing
	a := Aliases{}
next:
	for _, dir := range dirs {
		if _, known := a[dir]; known {
			continue
		}
		a[dir] = dir
		info, err := fsys.Stat(dir)
		if err != nil {
			continue
		}
		for _, e := range first {
			if os.SameFile(e.info, info) {
				a[dir] = e.path
				continue next
			}
		}
		first = append(first, existing{dir, info})
	}
	return a
}

// Canonical returns a path that is the same for all paths of one file. The argument path is below the directory dir.
func (a Aliases) Canonical(dir, path string) string {
	relative, err := filepath.Rel(dir, path)
	if first, ok := a[dir]; ok && err == nil {
		return filepath.Join(first, relative)
	}
	return path
}
