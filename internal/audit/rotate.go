package audit

import (
	"errors"
	"io/fs"
	"os"
	"strconv"
)

// rotate renames path to path.1, path.1 to path.2 and so on, and replaces the oldest. The caller holds the lock of the
// file at path. That file is renamed last, so no other process can begin a rotation before this one is complete. An error
// stops the rotation, so no file is replaced out of order.
func (f *file) rotate() error {
	for i := f.keep - 1; i >= 0; i-- {
		err := os.Rename(f.rotated(i), f.rotated(i+1))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

func (f *file) rotated(i int) string {
	if i == 0 {
		return f.path
	}
	return f.path + "." + strconv.Itoa(i)
}
