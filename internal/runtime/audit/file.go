package audit

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/base/filelock"
)

// lockWait is how long to wait for another process that holds the lock. A process holds it for microseconds,
// unless it is stopped in its critical section.
const lockWait = 2 * time.Second

// maxReopen bounds how often other processes may replace the file between opening and locking it.
const maxReopen = 100

// file appends lines to a log that other processes append to and rotate. A process that writes or rotates holds an flock
// of the file and checks that the file is still at the path. So no line goes to a rotated file, rotations do not overlap,
// and a process that finds a torn line can terminate it. The lock is on the log itself, so there is no lock file that
// could be missing or replaced. A file must be used by one goroutine at a time.
type file struct {
	path string
	max  int64            // bytes
	keep int              // number of rotated files
	now  func() time.Time // clock for lockWait

	open *os.File    // nil: not open
	info fs.FileInfo // describes open, for os.SameFile
	end  int64       // offset after the last line of this process; if the size differs, other processes have written

	rotationFailed func(error) // called after an append whose rotation failed; may be nil

	unrotated error // error of the last append's rotation, after which the file may exceed max; nil if it succeeded or was not needed
}

func newFile(path string, size int64, keep int, now func() time.Time) *file {
	return &file{path: path, max: size, keep: keep, now: now}
}

func (f *file) makeDir() error { return os.MkdirAll(filepath.Dir(f.path), 0o700) }

// Append implements Appender.
func (f *file) Append(lines []byte) (int, error) {
	f.unrotated = nil
	defer func() {
		if f.unrotated != nil && f.rotationFailed != nil {
			f.rotationFailed(f.unrotated)
		}
	}()
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

// appendLocked appends as many lines as fit into the file. If not even one fits, it rotates the file and appends nothing.
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
		// Terminate the torn line of a process that died in the middle of a write.
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
		// A full disk leaves an incomplete line. If truncating it fails, the next writer terminates it.
		err = errors.Join(err, f.open.Truncate(begin+int64(whole)))
	}
	return whole, err
}

// wholeLines returns the length of the longest prefix of whole lines that fits into room.
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

// lock locks the file at the path and returns its size. It reopens the path first if the open file was rotated or
// replaced.
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
		if err := f.Close(); err != nil { // releases the lock
			return 0, err
		}
	}
	return 0, fmt.Errorf("cannot lock %s: another program has replaced the file %d times: stop that program", f.path, maxReopen)
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

// flock polls, because a blocking flock has no timeout.
func (f *file) flock() error {
	const first, longest = 20 * time.Microsecond, 2 * time.Millisecond
	var begin time.Time
	for pause := first; ; pause = min(2*pause, longest) {
		locked, err := filelock.Try(f.open, filelock.Exclusive)
		switch {
		case locked || err != nil:
			return err
		case begin.IsZero():
			begin = f.now()
		case f.now().Sub(begin) > lockWait:
			return fmt.Errorf("cannot lock %s: another process has held the lock for more than %s", f.path, lockWait)
		}
		time.Sleep(pause)
	}
}

// unlock releases the lock but keeps the file open, even if it was rotated: the next lock detects the rotation.
func (f *file) unlock() {
	if f.open != nil {
		_ = filelock.Unlock(f.open)
	}
}

// Close implements Appender.
func (f *file) Close() error {
	if f.open == nil {
		return nil
	}
	err := f.open.Close()
	f.open, f.info = nil, nil
	return err
}
