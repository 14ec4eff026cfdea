package beneath

import (
	"io"
	"io/fs"
	"os"
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
	file  *os.File
	left  []byte // entries read from the system and not yet returned
	begun bool   // entries were read since the last Rewind
}

// List starts to list a directory that Open returned. The caller closes the file.
func List(file *os.File) *Listing { return &Listing{file: file} }

// Rewind makes the next Read begin with the first entry.
func (l *Listing) Rewind() error {
	l.left, l.begun = nil, false
	_, err := l.file.Seek(0, io.SeekStart)
	return err
}

// Read returns the next entries without "." and "..": at least one and at most n, or io.EOF at the end. Entries that are removed
// during the listing may be left out.
func (l *Listing) Read(n int) ([]Entry, error) {
	var out []Entry
	err := Control(l.file, func(fd int) error {
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
	n, err := retry(func() (int, error) { return readDirent(fd, buf, l.begun) })
	switch {
	case err != nil:
		return err
	case n == 0:
		return io.EOF
	}
	l.left, l.begun = buf[:n], true
	return nil
}
