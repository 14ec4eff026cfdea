package audit

import (
	"errors"
	"io/fs"
	"os"
	"strconv"
)

// rotate renames path to path.1, path.1 to path.2 and so on, and replaces the oldest file. The caller must hold the lock of
// the file at path. The file at path is renamed last, so no other process can begin a rotation before this rotation is
// complete. An error stops the rotation, so no file is replaced out of order.
func (f *file) rotate() error {
	for i := f.keep - 1; i >= 0; i-- {
		err := os.Rename(rotatedName(f.path, i), rotatedName(f.path, i+1))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// rotatedName returns the name of the i-th rotated file of a log; 0 is the log itself.
func rotatedName(path string, i int) string {
	if i == 0 {
		return path
	}
	return path + "." + strconv.Itoa(i)
}
