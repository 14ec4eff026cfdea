package filesystem

import (
	"io"
	"io/fs"
	"os"
	"syscall"
)

// file is a file that is open for reading. An *os.File would be registered with the poller. For each file that takes four calls to the host,
// and more time than reading a small file.
type file struct {
	path string
	fd   int // descriptor of the file; -1 after Close
}

// open opens a file for reading.
func open(path string) (io.ReadCloser, error) {
	fd, err := openFD(path)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	return &file{path, fd}, nil
}

func (f *file) Read(p []byte) (int, error) {
	switch {
	case f.fd < 0:
		return 0, f.err("read", os.ErrClosed)
	case len(p) == 0:
		return 0, nil
	}
	n, err := retry(func() (int, error) { return syscall.Read(f.fd, p) })
	switch {
	case err != nil:
		return 0, f.err("read", err)
	case n == 0:
		return 0, io.EOF
	}
	return n, nil
}

func (f *file) Close() error {
	if f.fd < 0 {
		return f.err("close", os.ErrClosed)
	}
	err := syscall.Close(f.fd)
	f.fd = -1
	if err != nil {
		return f.err("close", err)
	}
	return nil
}

func (f *file) err(op string, err error) error { return &fs.PathError{Op: op, Path: f.path, Err: err} }
