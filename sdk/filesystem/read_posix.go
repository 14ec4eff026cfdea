//go:build unix || wasip1

package filesystem

import (
	"errors"
	"io/fs"
	"syscall"
)

// readOS implements ReadFile with four system calls: open, stat, read and close. Package os makes twice as many calls, and in a module each
// call costs as much as reading a kilobyte.
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
	// The file may change while it is read. If the spare byte is filled, the file has grown: a read of a regular file is short only at the end
	// of the file.
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

// openFD opens a file for reading. If the file is a pipe, openFD does not block.
func openFD(path string) (int, error) {
	return retry(func() (int, error) { return syscall.Open(path, syscall.O_RDONLY|syscall.O_CLOEXEC|nonblock, 0) })
}

// retry repeats a system call as long as a signal interrupts it.
func retry(call func() (int, error)) (int, error) {
	for {
		n, err := call()
		if !errors.Is(err, syscall.EINTR) {
			return n, err
		}
	}
}
