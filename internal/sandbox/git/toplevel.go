package git

import (
	"os"
	"path/filepath"
)

// TopLevel returns the top level of the repository that contains a directory: the nearest ancestor, or the directory
// itself, that has a .git, be it a directory or (in a linked worktree or submodule) a file. It does not follow a .git
// file. It returns false if there is no repository. It is for the host process: it opens files by path.
func TopLevel(dir string) (string, bool) {
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
