package writers

import (
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/beneath"
)

var errReplaced = errors.New("the directory was replaced while the server claimed it")

// firstByte is the byte of a directory, a range of numbers only, that a lock of the kind here is on; the next one has the lock of the kind
// below. Programs do not lock bytes of directories.
const firstByte = 0x62756c6b

// add marks a directory, and looks for marks of other servers that exclude this one: then the error is errMarked. isNew says that the mark
// was set.
//
// The mark is a read lock on a byte, of an open file description (fcntl, F_OFD_SETLK): directories are never open for writing, which write locks
// need. Read locks exclude no one, but F_OFD_GETLK tells whether another description has one. Each server first sets its marks and then
// looks, so that of two servers at least one finds the other. These locks are independent of those of flock, by which plugins lock
// directories.
func (all markedDirs) add(m mark) (isNew bool, err error) {
	dir := all[m.key]
	if dir == nil {
		f, err := os.OpenFile(m.path, os.O_RDONLY|unix.O_DIRECTORY|unix.O_NONBLOCK, 0)
		if err != nil {
			return false, err
		}
		if st, err := beneath.StatFile(f); err != nil || keyFor(st) != m.key {
			return false, errors.Join(errReplaced, err, f.Close())
		}
		dir = &markedDir{file: f}
		all[m.key] = dir
	}
	if !dir.set[m.kind] {
		if err := dir.lock(unix.F_OFD_SETLK, &unix.Flock_t{Type: unix.F_RDLCK, Start: firstByte + int64(m.kind), Len: 1}); err != nil {
			all.remove(m)
			return false, err
		}
		dir.set[m.kind], isNew = true, true
	}
	// A claim of a directory is excluded by any mark of another server on it, and by claims of those that contain it.
	search := &unix.Flock_t{Type: unix.F_WRLCK, Start: firstByte, Len: int64(kinds)}
	if m.kind == below {
		search.Len = 1
	}
	if err := dir.lock(unix.F_OFD_GETLK, search); err != nil {
		return isNew, err
	}
	if search.Type != unix.F_UNLCK {
		return isNew, errMarked
	}
	return isNew, nil
}

// remove removes a mark.
func (all markedDirs) remove(m mark) {
	dir := all[m.key]
	if dir == nil {
		return
	}
	_ = dir.lock(unix.F_OFD_SETLK, &unix.Flock_t{Type: unix.F_UNLCK, Start: firstByte + int64(m.kind), Len: 1})
	if dir.set[m.kind] = false; dir.set == [kinds]bool{} {
		_ = dir.file.Close() // it is only read
		delete(all, m.key)
	}
}

func (d *markedDir) lock(command int, l *unix.Flock_t) error {
	l.Whence = io.SeekStart
	for {
		if err := unix.FcntlFlock(d.file.Fd(), command, l); err != unix.EINTR {
			return err
		}
	}
}
