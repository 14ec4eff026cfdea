package audit

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// openRegular opens a regular file, or makes it with mode 0600 where flag says so. A link in its last
// component is not followed, and a file that others have a forbidden permission on is refused: they could
// have put it there. Nothing blocks on a FIFO.
func openRegular(path string, flag int, forbidden fs.FileMode) (*os.File, error) {
	// Looked at before it is opened, because opening a device can have an effect; and after, because it
	// may have been replaced.
	if info, err := os.Lstat(path); err == nil {
		if err := acceptable(path, info, forbidden); err != nil {
			return nil, err
		}
	}
	f, err := os.OpenFile(path, flag|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o600)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil {
		err = acceptable(path, info, forbidden)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

func acceptable(path string, info fs.FileInfo, forbidden fs.FileMode) error {
	switch mode := info.Mode(); {
	case mode&fs.ModeSymlink != 0:
		return fmt.Errorf("%s is a symbolic link: name the file itself", path)
	case !mode.IsRegular():
		return fmt.Errorf("%s is not a regular file", path)
	case mode.Perm()&forbidden != 0:
		return fmt.Errorf("%s is open to other users (mode %04o): chmod 600 it once its content is trusted", path, mode.Perm())
	}
	return nil
}
