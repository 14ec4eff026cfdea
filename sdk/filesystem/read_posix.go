//go:build unix || wasip1

package filesystem

import (
	"errors"
	"io/fs"
	"syscall"
)

// readOS is ReadFile with four system calls: open, stat, read and close. Package os makes twice as many, and in a module
// each of them costs as much as reading a kilobyte.
func readOS(path string, limit int64) (content []byte, err error) {
	fail := func(op string, err error) error { return &fs.PathError{Op: op, Path: path, Err: err} }
	fd, err := openFD(path)
	if err != nil {
		return nil, fail("open", err)
	}
	defer syscall.Close(fd) //nolint:errcheck // nothing was written
	var info syscall.Stat_t
	if _, err := retry(func() (int, error) { return 0, syscall.Fstat(fd, &info) }); err != nil {
		return nil, fail("stat", err)
	}
	if !isRegular(&info) {
		return nil, notRegular(path)
	}
	size := int64(info.Size)
	if size > limit {
		return nil, tooLarge(path, limit)
	}
	// The file may change while it is read. The spare byte shows whether it has grown: reads of a regular file are
	// short only at its end.
	content = make([]byte, 0, size+1)
	for {
		n, err := retry(func() (int, error) { return syscall.Read(fd, content[len(content):cap(content)]) })
		if err != nil {
			return nil, fail("read", err)
		}
		content = content[:len(content)+n]
		switch {
		case int64(len(content)) > limit:
			return nil, tooLarge(path, limit)
		case n == 0 || int64(len(content)) == size:
			return content, nil
		case len(content) == cap(content):
			content = append(content, 0)[:len(content)]
		}
	}
}

// openFD opens a file for reading, and does not block if it is a pipe.
func openFD(path string) (int, error) {
	return retry(func() (int, error) { return syscall.Open(path, syscall.O_RDONLY|syscall.O_CLOEXEC|nonblock, 0) })
}

// retry repeats a system call that a signal interrupted.
func retry(call func() (int, error)) (int, error) {
	for {
		n, err := call()
		if !errors.Is(err, syscall.EINTR) {
			return n, err
		}
	}
}
