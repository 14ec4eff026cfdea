package code

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// queue bounds how many compilers run at once, over all processes that share dir: who runs one holds the lock on one
// of the slot files. Another file, waitingFile, is locked (shared) by each that waits with Foreground; Background takes
// no slot while it is.
type queue struct {
	dir   string
	slots int
}

const waitingFile = "waiting.lock"

// enter waits for a slot. Closing the file gives it back.
func (q queue) enter(ctx context.Context, p Priority) (*os.File, error) {
	first := 0
	if p == Background && q.slots > 1 {
		first = 1 // a slot that is left to Foreground
	}
	var files []*os.File
	defer func() {
		for _, f := range files {
			f.Close()
		}
	}()
	for n := first; n < q.slots; n++ {
		f, err := openLock(filepath.Join(q.dir, fmt.Sprintf("slot-%d.lock", n)))
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	waiting, err := openLock(filepath.Join(q.dir, waitingFile))
	if err != nil {
		return nil, err
	}
	defer waiting.Close()
	var got *os.File
	err = poll(ctx, func() (bool, error) {
		if p == Background {
			free, err := nobodyWaits(waiting)
			if err != nil || !free {
				return false, err
			}
		}
		for n, f := range files {
			taken, err := tryLock(f, syscall.LOCK_EX)
			if taken {
				got, files = f, append(files[:n], files[n+1:]...)
			}
			if taken || err != nil {
				return taken, err
			}
		}
		if p == Foreground {
			_, err := tryLock(waiting, syscall.LOCK_SH)
			return false, err
		}
		return false, nil
	})
	return got, err
}

// nobodyWaits tells whether no Foreground waits.
func nobodyWaits(waiting *os.File) (bool, error) {
	free, err := tryLock(waiting, syscall.LOCK_EX)
	if free {
		err = syscall.Flock(int(waiting.Fd()), syscall.LOCK_UN)
	}
	return free, err
}

// entryLock is held by whoever fills an entry.
type entryLock struct {
	path string
	file *os.File
}

// tryEntry takes the lock of an entry; nil: somebody has it.
func (q queue) tryEntry(key string) (*entryLock, error) {
	path := filepath.Join(q.dir, key+".lock")
	file, err := openLock(path)
	if err != nil {
		return nil, err
	}
	locked, err := tryLock(file, syscall.LOCK_EX)
	if err != nil || !locked || !inPlace(file, path) { // else its last owner has removed it
		file.Close()
		return nil, err
	}
	return &entryLock{path, file}, nil
}

// lockEntry waits for the lock of an entry.
func (q queue) lockEntry(ctx context.Context, key string) (*entryLock, error) {
	var lock *entryLock
	err := poll(ctx, func() (_ bool, err error) {
		lock, err = q.tryEntry(key)
		return lock != nil, err
	})
	return lock, err
}

func (l *entryLock) unlock() {
	_ = os.Remove(l.path)
	l.file.Close()
}

// turn is the right to fill an entry: the lock of the entry, and a slot.
type turn struct {
	entry *entryLock
	slot  *os.File
}

func (t *turn) end() {
	if t.slot != nil {
		t.slot.Close()
	}
	if t.entry != nil {
		t.entry.unlock()
	}
}

// turn waits for the right to fill an entry. Without an error, either the caller has it, or (nil) it should look for
// the entry again, since another has just given it up.
//
// Foreground locks the entry before it waits for a slot. Background never waits with the lock of an entry, so that no
// Foreground waits for a Background that waits: it takes a slot and then the lock if nobody has it.
func (q queue) turn(ctx context.Context, key string, p Priority) (*turn, error) {
	if p == Foreground {
		entry, err := q.lockEntry(ctx, key)
		if err != nil {
			return nil, err
		}
		return &turn{entry: entry}, nil
	}
	slot, err := q.enter(ctx, p)
	if err != nil {
		return nil, err
	}
	entry, err := q.tryEntry(key)
	if entry != nil {
		return &turn{entry, slot}, nil
	}
	slot.Close()
	if err != nil {
		return nil, err
	}
	if entry, err = q.lockEntry(ctx, key); err == nil {
		entry.unlock()
	}
	return nil, err
}

// ready completes a turn by a slot, after the entry was looked for once more.
func (t *turn) ready(ctx context.Context, q queue, p Priority) (err error) {
	if t.slot == nil {
		t.slot, err = q.enter(ctx, p)
	}
	return err
}
