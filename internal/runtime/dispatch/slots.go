package dispatch

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// slots bounds the number of a plugin's calls that run or whose answers are not yet written. When a slot becomes free, the waiting call
// that was requested first gets it, so later reads cannot overtake a write.
type slots struct {
	mu      sync.Mutex
	limit   int
	free    int           // number of free slots; negative if more calls run than a reduced limit allows
	waiting []*slotWaiter // the waiting calls, sorted by number; empty while a slot is free
}

type slotWaiter struct {
	number uint64
	ready  chan struct{} // closed when this waiter gets a slot
}

var errNoSlot = errors.New("none of the plugin's slots became free in time")

// acquire takes a slot for the request with the given number. If no slot becomes free within patience, it returns errNoSlot. If ctx
// ends first, it returns ctx's error. After success, the caller must call release.
func (s *slots) acquire(ctx context.Context, number uint64, patience time.Duration) error {
	w := s.enqueue(number)
	if w == nil {
		return nil
	}
	timeout := time.NewTimer(patience)
	defer timeout.Stop()
	var err error
	select {
	case <-w.ready:
		return nil
	case <-timeout.C:
		err = errNoSlot
	case <-ctx.Done():
		err = ctx.Err()
	}
	if s.withdraw(w) {
		return err
	}
	return nil
}

// withdraw removes a waiter. It returns false if the waiter already has a slot.
func (s *slots) withdraw(w *slotWaiter) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.Index(s.waiting, w)
	if i < 0 {
		return false
	}
	s.waiting = slices.Delete(s.waiting, i, i+1)
	return true
}

// enqueue takes a free slot and returns nil. If no slot is free, it adds a waiter and returns that.
func (s *slots) enqueue(number uint64) *slotWaiter {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.free > 0 {
		s.free--
		return nil
	}
	w := &slotWaiter{number, make(chan struct{})}
	i, _ := slices.BinarySearchFunc(s.waiting, number, func(w *slotWaiter, number uint64) int {
		if w.number < number {
			return -1
		}
		return 1
	})
	s.waiting = slices.Insert(s.waiting, i, w)
	return w
}

func (s *slots) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.free++
	s.grant()
}

// resize sets the number of slots to limit.
func (s *slots) resize(limit int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.free, s.limit = s.free+limit-s.limit, limit
	s.grant()
}

// grant gives the free slots to waiting requests, in the order of their numbers.
func (s *slots) grant() {
	for s.free > 0 && len(s.waiting) > 0 {
		s.free--
		close(s.waiting[0].ready)
		s.waiting = slices.Delete(s.waiting, 0, 1)
	}
}
