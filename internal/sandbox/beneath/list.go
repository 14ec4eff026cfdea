//go:build linux || darwin

package beneath

import (
	"bytes"
	"encoding/binary"
	"io"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// listBuffer is the size of the buffer for the system call, and bounds the memory of a Listing, in bytes.
const listBuffer = 8 << 10

// Entry is a directory entry. Type has the bits of fs.ModeType.
type Entry struct {
	Name string
	Type fs.FileMode
}

// IsDir reports whether the entry is a directory.
func (e Entry) IsDir() bool { return e.Type.IsDir() }

// Listing reads an open directory incrementally. It is not safe for concurrent use.
type Listing struct {
	file *os.File
	left []byte // entries read from the system and not yet returned
}

// List starts to list a directory that Open returned. The caller closes the file.
func List(file *os.File) *Listing { return &Listing{file: file} }

// Rewind goes back to the first entry.
func (l *Listing) Rewind() error {
	l.left = nil
	_, err := l.file.Seek(0, io.SeekStart)
	return err
}

// Read returns the next entries, at least one and at most n, without "." and ".."; io.EOF at the end. Entries that are
// removed during the listing may be left out.
func (l *Listing) Read(n int) ([]Entry, error) {
	var out []Entry
	err := control(l.file, func(fd int) error {
		for len(out) < n {
			if len(l.left) == 0 {
				if len(out) > 0 {
					return nil
				}
				if err := l.fill(fd); err != nil {
					return err
				}
			}
			e, ok, err := l.next(fd)
			if err != nil {
				return err
			}
			if ok {
				out = append(out, e)
			}
		}
		return nil
	})
	if len(out) > 0 {
		err = nil // a persistent error recurs at the next call
	}
	if err == io.EOF {
		return nil, err
	}
	return out, pathError("readdir", l.file.Name(), err)
}

func (l *Listing) fill(fd int) error {
	buf := make([]byte, listBuffer)
	n, err := retry(func() (int, error) { return unix.ReadDirent(fd, buf) })
	switch {
	case err != nil:
		return err
	case n == 0:
		return io.EOF
	}
	l.left = buf[:n]
	return nil
}

// next decodes one entry; ok is false if the entry is to be left out.
func (l *Listing) next(fd int) (e Entry, ok bool, err error) {
	record, name, kind, ok := entryAt(l.left)
	if !ok {
		l.left = nil
		return e, false, unix.EIO
	}
	if l.left = l.left[len(record):]; len(l.left) == 0 {
		l.left = nil
	}
	e.Name = string(name)
	if e.Name == "" || e.Name == "." || e.Name == ".." {
		return e, false, nil
	}
	switch kind {
	case unix.DT_REG:
	case unix.DT_DIR:
		e.Type = fs.ModeDir
	case unix.DT_LNK:
		e.Type = fs.ModeSymlink
	case unix.DT_FIFO:
		e.Type = fs.ModeNamedPipe
	case unix.DT_SOCK:
		e.Type = fs.ModeSocket
	case unix.DT_BLK:
		e.Type = fs.ModeDevice
	case unix.DT_CHR:
		e.Type = fs.ModeDevice | fs.ModeCharDevice
	default: // the file system does not report types
		st, err := fstatat(fd, e.Name)
		if err == unix.ENOENT {
			return e, false, nil
		}
		e.Type = st.Mode.Type()
		return e, err == nil, err
	}
	return e, true, nil
}

// cutEntry decodes the first record, given the offsets of its length, type and name.
func cutEntry(b []byte, length, typ, begin int) (record, name []byte, kind byte, ok bool) {
	if len(b) < begin {
		return nil, nil, 0, false
	}
	size := int(binary.NativeEndian.Uint16(b[length:]))
	if size < begin || size > len(b) {
		return nil, nil, 0, false
	}
	name, _, _ = bytes.Cut(b[begin:size], []byte{0})
	return b[:size], name, b[typ], true
}
