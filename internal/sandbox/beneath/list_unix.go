//go:build unix

package beneath

import (
	"bytes"
	"encoding/binary"
	"io/fs"

	"golang.org/x/sys/unix"
)

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
