package git

import (
	"os"
	"path/filepath"
)

// TopLevel is for the host process: it looks at files by path. It gives the top level of the repository that holds a folder: the nearest folder, itself or one
// above it, that has a .git, be it a folder or (in a linked worktree or a submodule) a file. It looks
// at names only, follows no .git file, and answers false where there is none.
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
