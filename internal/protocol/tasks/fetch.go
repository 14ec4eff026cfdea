package tasks

import (
	"context"
	"errors"
	"sync"
	"time"
)

// Bounds of the payloads that are in memory since their owners fetch them, until the responses are written. One is fetched in any case, and a
// small one does not count.
const (
	maxFetched      = 128 << 20 // bytes of all
	maxOwnedFetched = 32 << 20  // of one owner, so that none keeps others from fetching
	smallPayload    = 64 << 10
	fetchPatience   = 30 * time.Second
)

// ErrBusy is the error of Fetch if other responses with large results are not read.
var ErrBusy = errors.New("other responses with results of tasks are not read: read them, or fetch fewer at a time")

// Fetch returns the state of a task with its payload. If the error is nil, the caller must call end when the payload is not used any more.
func (s *Store) Fetch(ctx context.Context, owner Owner, id string) (state State, end func(), err error) {
	t, r, err := s.look(owner, id)
	if err != nil {
		return State{}, nil, err
	}
	if t != nil {
		state = t.State()
		end, err = s.fetches.begin(ctx, owner, int64(len(state.Payload)))
		return state, end, err
	}
	if end, err = s.fetches.begin(ctx, owner, int64(r.Size)); err != nil {
		return State{}, nil, err
	}
	if r.Size > 0 && r.payload == nil {
		if r, err = s.files.read(owner, id); err != nil {
			end()
			return State{}, nil, s.unreadable(err)
		}
	}
	return r.state(id), end, nil
}

// fetches counts the payloads that are in memory.
type fetches struct {
	mu    sync.Mutex
	all   int64
	owned map[Owner]int64
	freed chan struct{} // closed when a payload is not in memory any more; nil if no fetch waits
}

// begin waits until a payload of that size may be in memory.
func (f *fetches) begin(ctx context.Context, owner Owner, size int64) (end func(), err error) {
	if size <= smallPayload {
		return func() {}, nil
	}
	timeout := time.NewTimer(fetchPatience)
	defer timeout.Stop()
	for {
		freed := f.add(owner, size)
		if freed == nil {
			return func() { f.remove(owner, size) }, nil
		}
		select {
		case <-freed:
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-timeout.C:
			return nil, ErrBusy
		}
	}
}

// add counts a payload, and returns nil. If it does not fit, add returns a channel that is closed when it may.
func (f *fetches) add(owner Owner, size int64) (freed <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	mine := f.owned[owner]
	if mine > 0 && mine+size > maxOwnedFetched || f.all > 0 && f.all+size > maxFetched {
		if f.freed == nil {
			f.freed = make(chan struct{})
		}
		return f.freed
	}
	if f.owned == nil {
		f.owned = map[Owner]int64{}
	}
	f.all, f.owned[owner] = f.all+size, mine+size
	return nil
}

func (f *fetches) remove(owner Owner, size int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.all -= size
	if f.owned[owner] -= size; f.owned[owner] == 0 {
		delete(f.owned, owner)
	}
	if f.freed != nil {
		close(f.freed)
		f.freed = nil
	}
}
