//go:build unix

package audit

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"github.com/bulkhead-mcp/bulkhead/internal/base/ownedpath"
)

func checkPermissions(path string, info fs.FileInfo, forbidden fs.FileMode) error {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok && forbidden != 0 && !ownedpath.IsTrusted(int(stat.Uid)) {
		return fmt.Errorf("%s belongs to another user (user id %d): check its content, then chown it", path, stat.Uid)
	}
	if mode := info.Mode().Perm(); mode&forbidden != 0 {
		return fmt.Errorf("%s is accessible to other users (mode %04o): check its content, then chmod 600 it", path, mode)
	}
	return nil
}

func checkOpen(string, *os.File) error { return nil } // checkPermissions has checked the mode
