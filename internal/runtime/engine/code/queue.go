package code

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/bulkhead-mcp/bulkhead/internal/base/filelock"
)

// queue limits the compilers that run at once in all processes that share dir: each compiler holds the lock of a slot
// file. Each waiting Foreground caller holds a shared lock of waitingFile. A Background caller acquires no slot while
// waitingFile is locked.
type queue struct {
	dir   string
	slots int
}

const waitingFile = "waiting.lock"

// acquireSlot waits for a slot. Closing the returned file releases the slot.
func (q queue) acquireSlot(ctx context.Context, p Priority) (*os.File, error) {
	first := 0
	if p == Background && q.slots > 1 {
		first = 1 // slot 0 is reserved for Foreground callers
	}
	var files []*os.File
	defer func() {
		for _, f := range files {
			f.Close()
		}
	}()
	for n := first; n < q.slots; n++ {
		f, err := filelock.Open(filepath.Join(q.dir, fmt.Sprintf("slot-%d.lock", n)))
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	waiting, err := filelock.Open(filepath.Join(q.dir, waitingFile))
	if err != nil {
		return nil, err
	}
	defer waiting.Close()
	var got *os.File
	err = filelock.Poll(ctx, func() (bool, error) {
		if p == Background {
			free, err := noForegroundWaits(waiting)
			if err != nil || !free {
				return false, err
			}
		}
		for n, f := range files {
			taken, err := filelock.Try(f, filelock.Exclusive)
			if taken {
				got, files = f, append(files[:n], files[n+1:]...)
			}
			if taken || err != nil {
				return taken, err
			}
		}
		if p == Foreground {
			_, err := filelock.Try(waiting, filelock.Shared)
			return false, err
		}
		return false, nil
	})
	return got, err
}

// noForegroundWaits reports whether waitingFile is unlocked, so that no Foreground caller waits.
func noForegroundWaits(waiting *os.File) (bool, error) {
	free, err := filelock.Try(waiting, filelock.Exclusive)
	if free {
		err = filelock.Unlock(waiting)
	}
	return free, err
}

// turn is the right to fill an entry: its lock and a slot.
type turn struct {
	entry *entryLock
	slot  *os.File
}

func (t *turn) release() {
	if t.slot != nil {
		t.slot.Close()
	}
	if t.entry != nil {
		t.entry.unlock()
	}
}

// acquireTurn waits for the right to fill an entry. It returns nil without an error if another caller has just released
// the right; the caller should then look the entry up again.
//
// Lock order: a Foreground caller locks the entry and then waits for a slot (see takeSlot). A Background caller acquires a
// slot and then tries to lock the entry. It never waits while it holds the lock of an entry, so no Foreground caller waits
// for a Background caller that waits.
func (q queue) acquireTurn(ctx context.Context, key string, p Priority) (*turn, error) {
	if p == Foreground {
		entry, err := q.lockEntry(ctx, key)
		if err != nil {
			return nil, err
		}
		return &turn{entry: entry}, nil
	}
	slot, err := q.acquireSlot(ctx, p)
	if err != nil {
		return nil, err
	}
	entry, err := q.tryLockEntry(key)
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

// takeSlot acquires a slot for a turn that has none. The caller must first check whether another caller has filled the entry.
func (t *turn) takeSlot(ctx context.Context, q queue, p Priority) (err error) {
	if t.slot == nil {
		t.slot, err = q.acquireSlot(ctx, p)
	}
	return err
}
