package call

import (
	"sync"
	"sync/atomic"
	"time"
)

// Times are the moments of a call's phases, for metrics and traces. A phase that the call has not reached is zero.
type Times struct {
	Queued   time.Time // the call waits for its turn and a slot of its plugin
	Started  time.Time // it has both, and waits for a worker process
	Ready    time.Time // it has a worker process, to which it is sent
	Retried  time.Time // that process has ended, and another one has the call
	Answered time.Time // it has ended in the worker process

	phase atomic.Int32

	mu      sync.Mutex
	all     []Performed
	leftOut int
}

// Performed is an operation that the host process has performed for a call.
type Performed struct {
	Op         string
	Begin, End time.Time
	Code       string // of the abi.HostError; empty: it succeeded
}

// maxPerformed bounds the operations of a call that Times lists: a module decides how many it requests.
const maxPerformed = 64

// Perform adds an operation that has ended. It is safe for concurrent use.
func (t *Times) Perform(p Performed) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.all) == maxPerformed {
		t.leftOut++
		return
	}
	t.all = append(t.all, p)
}

// Performed returns the operations, and how many more there were.
func (t *Times) Performed() (all []Performed, leftOut int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.all, t.leftOut
}

// The phases of a call, in their order, by the moment with which each began.
const (
	PhaseChecked int32 = iota // the arguments are checked, and the user may be asked for approval
	PhaseQueued
	PhaseStarted
	PhaseReady
)

// Reach states that the call is in a phase. Unlike the moments, the phase may be read while the call runs.
func (t *Times) Reach(phase int32) { t.phase.Store(phase) }

// Phase returns the word for the phase that the call is in.
func (t *Times) Phase() string {
	return [...]string{PhaseChecked: "checked", PhaseQueued: "queued", PhaseStarted: "starting", PhaseReady: "running"}[t.phase.Load()]
}
