package live

import (
	"slices"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/runtime/audit"
)

// Question is a call that has asked its client, and is made again with the answer.
type Question struct {
	Event
	Until time.Time `json:"until"` // when it expires
}

// Ask adds the question of the call that has the record r. It waits until Answer is called, or for timeout.
func (s *State) Ask(r *audit.Record, timeout time.Duration) {
	q := Question{Event: eventOf(r)}
	q.Until = time.Now().Add(timeout)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expire()
	if len(s.questions) == maxEvents {
		s.questions = slices.Delete(s.questions, 0, 1)
	}
	s.questions = append(s.questions, q)
}

// Answer removes the question that the call of the record r is the repetition of: the oldest of this tool and client, which only their order
// tells apart.
func (s *State) Answer(r *audit.Record) {
	e := eventOf(r)
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.questions, func(q Question) bool {
		return q.Plugin == e.Plugin && q.Method == e.Method && q.Tool == e.Tool && q.Principal == e.Principal && q.Client == e.Client
	})
	if i >= 0 {
		s.questions = slices.Delete(s.questions, i, i+1)
	}
}

// expire removes the questions that have expired. s.mu must be held.
func (s *State) expire() {
	now := time.Now()
	s.questions = slices.DeleteFunc(s.questions, func(q Question) bool { return !now.Before(q.Until) })
}
