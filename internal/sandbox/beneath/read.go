package beneath

import (
	"errors"
	"io"
	"os"
	"runtime"
	"slices"
	"syscall"
)

// ErrChanged means that a file was replaced or changed after it had been described. It is wrapped in an *fs.PathError.
var ErrChanged = errors.New("the file has changed")

// Append appends the content of the regular file that st describes to buf. It needs five system calls, whereas Open and an
// *os.File need nine. It fails with ErrChanged if the name refers to a different file, or if size or times of the file differ from
// st before or after the read; so content and st belong together. A symbolic link as the last component is not followed. After an
// error buf is returned unchanged.
func (d *Dir) Append(buf []byte, name string, st Stat) ([]byte, error) {
	fd, err := d.lookup(name, os.O_RDONLY|openFlags, 0, false)
	runtime.KeepAlive(d)
	if err != nil {
		if err == syscall.ELOOP {
			err = ErrChanged
		}
		return buf, pathError("open", name, err)
	}
	defer closeFD(fd)
	if err := unchanged(fd, st); err != nil {
		return buf, pathError("read", name, err)
	}
	content, err := appendAll(fd, buf, int(st.Size))
	if err == nil {
		err = unchanged(fd, st)
	}
	if err != nil {
		return buf, pathError("read", name, err)
	}
	return content, nil
}

func unchanged(fd int, st Stat) error {
	now, err := fstat(fd)
	if err == nil && (!now.Mode.IsRegular() || now.FileID != st.FileID || now.Size != st.Size || now.Mtime != st.Mtime || now.Ctime != st.Ctime) {
		err = ErrChanged
	}
	return err
}

// appendAll reads a file of the given size to its end. If it can read a byte beyond that size, the file has grown, or its file
// system reports no size before the read.
func appendAll(fd int, buf []byte, size int) ([]byte, error) {
	begin := len(buf)
	buf = slices.Grow(buf, size+1)
	for {
		n, err := retry(func() (int, error) { return read(fd, buf[len(buf):begin+size+1]) })
		if err != nil {
			return nil, err
		}
		buf = buf[:len(buf)+n]
		switch {
		case len(buf)-begin > size:
			return nil, ErrChanged
		case len(buf)-begin == size:
			return buf, nil
		case n == 0:
			return nil, io.ErrUnexpectedEOF
		}
	}
}
