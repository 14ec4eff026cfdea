package discovery

import (
	"os"
	"path/filepath"

	"github.com/bulkhead-mcp/bulkhead/internal/base/ownedpath"
)

// topLevel returns the top level of the repository that contains dir: the nearest ancestor of dir, or dir itself, that contains a .git. That
// may be a directory or, in a linked worktree or submodule, a file; topLevel does not read the file. It returns false if there is no
// repository.
func topLevel(dir string) (string, bool) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", false
	}
	for {
		info, err := os.Stat(filepath.Join(dir, ".git"))
		if err == nil && (info.IsDir() || info.Mode().IsRegular()) {
			return dir, true
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", false
		}
		dir = parent
	}
}

// checkTopLevel returns an error if a user other than root and the host's may have made top the top level of the repository that contains
// dir, which would extend the project to everything in top. Git has the same rule for the directories that it obeys (safe.directory).
func checkTopLevel(top, dir string) error {
	if top == dir {
		return nil // the project is the working directory, repository or not
	}
	if err := ownedpath.CheckEntry(filepath.Join(top, ".git")); err != nil {
		return err
	}
	for at := filepath.Dir(dir); ; at = filepath.Dir(at) {
		if err := ownedpath.CheckEntry(at); err != nil || at == top {
			return err
		}
	}
}
