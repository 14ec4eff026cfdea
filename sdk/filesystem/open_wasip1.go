package filesystem

import (
	"io"
	"io/fs"
	"os"
	"syscall"
)

// file is a file that is open for reading or for writing. An *os.File would be registered with the poller. For each file that takes four calls to the host,
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

// create creates a file for writing.
func create(path string, mode fs.FileMode) (File, error) {
	fd, err := retry(func() (int, error) {
		return syscall.Open(path, syscall.O_WRONLY|syscall.O_CREAT|syscall.O_EXCL|syscall.O_CLOEXEC, uint32(mode.Perm()))
	})
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	return &file{path, fd}, nil
}

// remove removes a file, a symbolic link or an empty directory. os.Remove makes a second call if the path does not exist.
func remove(path string) error {
	_, err := retry(func() (int, error) { return 0, syscall.Unlink(path) })
	switch err {
	case nil:
		return nil
	case syscall.ENOENT, syscall.ENOTDIR:
		return &fs.PathError{Op: "remove", Path: path, Err: err}
	}
	return os.Remove(path)
}

func (f *file) Write(p []byte) (int, error) {
	if f.fd < 0 {
		return 0, f.err("write", os.ErrClosed)
	}
	written := 0
	for written < len(p) {
		n, err := retry(func() (int, error) { return syscall.Write(f.fd, p[written:]) })
		if err != nil {
			return written, f.err("write", err)
		}
		if n == 0 {
			return written, f.err("write", io.ErrShortWrite)
		}
		written += n
	}
	return written, nil
}

func (f *file) Sync() error {
	if f.fd < 0 {
		return f.err("sync", os.ErrClosed)
	}
	if _, err := retry(func() (int, error) { return 0, syscall.Fsync(f.fd) }); err != nil {
		return f.err("sync", err)
	}
	return nil
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
