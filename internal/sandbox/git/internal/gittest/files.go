//go:build unix

package gittest

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/beneath"
)

// Files opens files of the working tree without restrictions, except for those whose base names are in Hidden.
type Files struct{ Hidden []string }

// Identify implements worktree.Files.
func (f Files) Identify(name string) (beneath.FileID, error) {
	if slices.Contains(f.Hidden, filepath.Base(name)) {
		return beneath.FileID{}, fs.ErrPermission
	}
	info, err := os.Lstat(name)
	if err != nil {
		return beneath.FileID{}, err
	}
	st := info.Sys().(*syscall.Stat_t)
	return beneath.FileID{Dev: uint64(st.Dev), Ino: st.Ino}, nil
}

// Open implements worktree.Files.
func (f Files) Open(name string) (io.ReadCloser, beneath.FileID, error) {
	id, err := f.Identify(name)
	if err != nil {
		return nil, id, err
	}
	file, err := os.Open(name)
	return file, id, err
}
