//go:build unix

package audit

import (
	"fmt"
	"io/fs"
	"os"
)

func checkPermissions(path string, info fs.FileInfo, forbidden fs.FileMode) error {
	if mode := info.Mode().Perm(); mode&forbidden != 0 {
		return fmt.Errorf("%s is accessible to other users (mode %04o): check its content, then chmod 600 it", path, mode)
	}
	return nil
}

func checkOpen(string, *os.File) error { return nil } // checkPermissions has checked the mode
