package discovery

import (
	"os"
	"path/filepath"
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
