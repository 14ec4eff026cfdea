package tasks

import (
	"errors"
	"fmt"
	"time"
)

// Bounds of what a Store keeps: of each owner, and of all.
const (
	maxOwned      = 256       // tasks
	maxOwnedBytes = 128 << 20 // of payloads
	maxAll        = 4096
	maxAllBytes   = 1 << 30
	maxRequests   = 64 << 20 // bytes of the requests of tasks that run

	maxOwnedRequests = maxRequests / 4 // of one owner, so that none keeps others from beginning tasks; a single request fits in any case
)

// entry is what a task counts for.
type entry struct {
	owner   Owner
	expires time.Time // zero while the task runs
	size    int64     // of the payload
	request int64     // bytes of the request while the task runs
}

// usage is what several tasks count for.
type usage struct {
	tasks    int
	bytes    int64 // of payloads
	requests int64 // bytes of the requests of tasks that run
}

// FullError is the error of a task beyond a bound.
type FullError struct{ What string }

func (e *FullError) Error() string {
	return "there are too many tasks: " + e.What + ": wait until some have ended, and their results have expired"
}

// admit counts a task that begins.
func (s *Store) admit(t *Task) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	mine := s.owned[t.owner]
	switch {
	case s.closed:
		return errors.New("the server is shutting down")
	case mine.tasks >= maxOwned:
		return &FullError{fmt.Sprintf("%d of this client", mine.tasks)}
	case mine.bytes >= maxOwnedBytes:
		return &FullError{fmt.Sprintf("their results have %d bytes", mine.bytes)}
	case s.all.tasks >= maxAll || s.all.bytes >= maxAllBytes:
		return &FullError{"of all clients"}
	case mine.requests > 0 && mine.requests+t.size > maxOwnedRequests:
		return &FullError{fmt.Sprintf("the requests of those of this client that run have more than %d bytes", maxOwnedRequests)}
	case s.all.requests > 0 && s.all.requests+t.size > maxRequests:
		return &FullError{fmt.Sprintf("the requests of those that run have more than %d bytes", maxRequests)}
	}
	s.running[t.state.ID] = t
	s.setEntry(t.state.ID, entry{owner: t.owner, request: t.size})
	if s.sweeper == nil {
		s.sweeper = time.AfterFunc(sweepInterval, s.sweep)
	}
	return nil
}

// Count returns the number of tasks that run, and of those that have ended and are kept. s may be nil.
func (s *Store) Count() (running, kept int) {
	if s == nil {
		return 0, 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.running), len(s.kept) - len(s.running)
}

// setEntry replaces the entry of a task. An entry without owner removes it.
func (s *Store) setEntry(id string, e entry) {
	if old, ok := s.kept[id]; ok {
		s.add(old, -1)
		delete(s.kept, id)
	}
	if e.owner != "" {
		s.add(e, 1)
		s.kept[id] = e
	}
}

func (s *Store) add(e entry, n int) {
	u := s.owned[e.owner].plus(e, n)
	s.all = s.all.plus(e, n)
	if s.owned[e.owner] = u; u.tasks == 0 {
		delete(s.owned, e.owner)
	}
}

func (u usage) plus(e entry, n int) usage {
	return usage{u.tasks + n, u.bytes + int64(n)*e.size, u.requests + int64(n)*e.request}
}

// reserve counts the payload of a task that ends. It returns why the payload cannot be kept; empty if it can.
func (s *Store) reserve(t *Task, size int64) (why string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch mine := s.owned[t.owner]; {
	case size > maxPayload:
		return fmt.Sprintf("it is larger than %d bytes", maxPayload)
	case mine.bytes+size > maxOwnedBytes:
		return fmt.Sprintf("the results of tasks of this client that are kept have %d bytes already", mine.bytes)
	case s.all.bytes+size > maxAllBytes:
		return "the results of tasks of all clients that are kept have too many bytes"
	}
	s.setEntry(t.State().ID, entry{owner: t.owner, size: size, request: t.size})
	return ""
}

// ended counts a task that has ended. It stays in memory if its final state was not written.
func (s *Store) ended(t *Task, written bool) {
	final := t.State()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.setEntry(final.ID, entry{owner: t.owner, expires: final.Expires, size: int64(len(final.Payload))})
	if written {
		delete(s.running, final.ID)
	}
}

// adopt counts the record of a task that a process left.
func (s *Store) adopt(owner Owner, id string, r record) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.setEntry(id, entry{owner: owner, expires: time.UnixMilli(r.Expires), size: int64(r.Size)})
}
