package audit

import (
	"errors"
	"io/fs"
	"os"
	"strconv"
)

// rotate moves the file to path.1, that to path.2 and so on; the oldest is replaced. It runs under the lock
// of the file at the path, which is moved last: until then no other process can rotate. Where a step
// fails nothing after it is done, so that no file is replaced out of turn.
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
