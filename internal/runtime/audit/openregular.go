package audit

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/bulkhead-mcp/bulkhead/internal/base/platform"
)

// openRegular opens a regular file, or creates it with mode 0600 if flag has O_CREATE. It does not follow a
// symbolic link as the last component, does not block on a FIFO, and refuses a file on which other users have
// a forbidden permission, because they could have created it.
func openRegular(path string, flag int, forbidden fs.FileMode) (*os.File, error) {
	// Check before the open, because opening a device can have side effects; and after it, because the file
	// may have been replaced in between.
	if info, err := os.Lstat(path); err == nil {
		if err := checkFile(path, info, forbidden); err != nil {
			return nil, err
		}
	}
	f, err := os.OpenFile(path, flag|platform.NoFollow|platform.NonBlock, 0o600)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil {
		err = checkFile(path, info, forbidden)
	}
	if err == nil {
		err = checkOpen(path, f)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

func checkFile(path string, info fs.FileInfo, forbidden fs.FileMode) error {
	switch mode := info.Mode(); {
	case mode&fs.ModeSymlink != 0:
		return fmt.Errorf("%s is a symbolic link: name the file itself", path)
	case !mode.IsRegular():
		return fmt.Errorf("%s is not a regular file: move it away, or name a different file", path)
	}
	return checkPermissions(path, info, forbidden)
}
