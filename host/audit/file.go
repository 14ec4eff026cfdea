package audit

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// lockWait is how long another process may hold the file. It does so for microseconds, unless it is stopped
// in the middle.
const lockWait = 2 * time.Second

// maxReopen bounds how often the file may be replaced by others between opening and locking it.
const maxReopen = 100

// file appends lines to a file that other processes append to and rotate. Whoever writes or rotates holds
// the lock of the file that is at the path, and looks that it still is there: so no line goes to a file
// that was rotated away, no two rotate at once, and whoever meets a torn line may mend it. The lock is on the
// log itself, so there is no second file that could be missing or another. It is for one goroutine.
type file struct {
	path string
	max  int64 // bytes
	keep int   // rotated files
	wait time.Duration

	open *os.File    // nil: not open
	info fs.FileInfo // of open, for its identity
	end  int64       // where our last line ended; another size means that others wrote

	unrotated error // why the file is longer than max; nil: it is not
}

func newFile(path string, size int64, keep int) *file {
	return &file{path: path, max: size, keep: keep, wait: lockWait}
}

func (f *file) makeFolder() error { return os.MkdirAll(filepath.Dir(f.path), 0o700) }

// append appends whole lines, and returns how many bytes of them are in the file: always whole lines.
func (f *file) append(lines []byte) (int, error) {
	f.unrotated = nil
	done := 0
	for done < len(lines) {
		size, err := f.lock()
		if err != nil {
			return done, err
		}
		n, err := f.appendLocked(lines[done:], size)
		f.unlock()
		if done += n; err != nil {
			return done, err
		}
	}
	return done, nil
}

// appendLocked appends as many lines as the file has room for; if it has none it rotates and appends none.
func (f *file) appendLocked(lines []byte, size int64) (int, error) {
	if f.unrotated == nil {
		fitting := wholeLines(lines, f.max-size)
		if fitting == 0 && size > 0 {
			f.unrotated = f.rotate()
			return 0, nil
		}
		lines = lines[:fitting]
	}
	torn, err := f.torn(size)
	if err != nil {
		return 0, err
	}
	begin := size
	if torn {
		// What a process left that died while it wrote is kept, as a line of its own.
		if _, err := f.open.Write([]byte{'\n'}); err != nil {
			return 0, err
		}
		begin++
	}
	n, err := f.open.Write(lines)
	if err == nil {
		f.end = begin + int64(n)
		return n, nil
	}
	f.end = -1
	whole := bytes.LastIndexByte(lines[:n], '\n') + 1
	if n > whole {
		// A full disk takes half a line. If that cannot be taken back, the next writer ends it.
		err = errors.Join(err, f.open.Truncate(begin+int64(whole)))
	}
	return whole, err
}

// wholeLines is how many bytes of whole lines fit into room.
func wholeLines(lines []byte, room int64) int {
	if int64(len(lines)) <= room {
		return len(lines)
	}
	if room <= 0 {
		return 0
	}
	return bytes.LastIndexByte(lines[:room], '\n') + 1
}

// torn reports whether the file ends in the middle of a line.
func (f *file) torn(size int64) (bool, error) {
	if size == 0 || size == f.end {
		return false, nil
	}
	var last [1]byte
	if _, err := f.open.ReadAt(last[:], size-1); err != nil {
		return false, err
	}
	return last[0] != '\n', nil
}

// lock opens the file at the path, if it is another than the one that is open, and locks it. It returns
// the file's size.
func (f *file) lock() (int64, error) {
	for range maxReopen {
		if f.open == nil {
			if err := f.reopen(); err != nil {
				return 0, err
			}
		}
		if err := f.flock(); err != nil {
			return 0, err
		}
		now, err := os.Lstat(f.path)
		if err == nil && os.SameFile(now, f.info) {
			return now.Size(), nil
		}
		if err := f.close(); err != nil { // and with it the lock
			return 0, err
		}
	}
	return 0, fmt.Errorf("%s is replaced again and again by another program", f.path)
}

func (f *file) reopen() error {
	opened, err := openRegular(f.path, os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o022)
	if err != nil {
		return err
	}
	if f.info, err = opened.Stat(); err != nil {
		return errors.Join(err, opened.Close())
	}
	f.open, f.end = opened, -1
	return nil
}

// flock asks again and again, because a wait in the kernel has no end.
func (f *file) flock() error {
	const first, longest = 20 * time.Microsecond, 2 * time.Millisecond
	var begin time.Time
	for pause := first; ; pause = min(2*pause, longest) {
		err := syscall.Flock(int(f.open.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		switch {
		case err == nil:
			return nil
		case !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR):
			return fmt.Errorf("lock %s: %w", f.path, err)
		case begin.IsZero():
			begin = time.Now()
		case time.Since(begin) > f.wait:
			return fmt.Errorf("lock %s: another process holds it for more than %s", f.path, f.wait)
		}
		time.Sleep(pause)
	}
}

// unlock leaves a file that was rotated away open: the next lock sees that.
func (f *file) unlock() {
	if f.open != nil {
		_ = syscall.Flock(int(f.open.Fd()), syscall.LOCK_UN)
	}
}

func (f *file) close() error {
	if f.open == nil {
		return nil
	}
	err := f.open.Close()
	f.open, f.info = nil, nil
	return err
}
