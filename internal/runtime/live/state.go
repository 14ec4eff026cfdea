// Package live keeps what a server does now, and offers it to the user's other programs. State is told of calls and of audit records by
// dispatch; Server offers a Snapshot of it at a socket in the user's state directory; Read reads those of all servers of the user.
//
// Everything is bounded, and no arguments, results or questions are kept: only what the audit log has of every call.
package live

import (
	"cmp"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/base/visible"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/call"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/audit"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/engine"
)

// Bounds of a Snapshot. maxSnapshot follows from the others: a text is escaped to at most six times its size.
const (
	maxCalls    = 100
	maxEvents   = 50 // of each list
	maxText     = 256
	maxFile     = 4096 // of a path
	maxWorkers  = 200
	maxSnapshot = 6 << 20
	maxValues   = 10_000 // in its JSON: one that is full has about 6,500
	maxNesting  = 8
)

// Snapshot is the state of a server at a time. Its strings are untrusted.
type Snapshot struct {
	PID       int    `json:"pid"`
	Transport string `json:"transport"` // stdio or http
	Config    string `json:"config"`    // path of the config in force; empty: none
	// ProjectDir is the directory of the server's own project; empty: none, or a server of another version.
	ProjectDir string    `json:"project_dir,omitempty"`
	Started    time.Time `json:"started"`
	Time       time.Time `json:"time"`

	Calls     []Call  `json:"calls"`                // that have not ended, the oldest first
	MoreCalls int     `json:"more_calls,omitempty"` // that are left out
	Ended     []Event `json:"ended"`                // calls that have ended, the latest first, and so the other lists
	Refused   []Event `json:"refused"`              // requests and operations that were not granted
	Limits    []Event `json:"limits"`               // calls that a limit has ended
	Asked     []Event `json:"asked"`                // calls that have asked their client, such as for approval

	Waiting []Question `json:"waiting"` // the oldest first

	Workers []Worker `json:"workers"`
	Memory  Memory   `json:"memory"`
}

// Call is a call that has not ended.
type Call struct {
	ID        string    `json:"id"`
	Plugin    string    `json:"plugin,omitempty"` // empty: the host itself
	Method    string    `json:"method"`
	Tool      string    `json:"tool,omitempty"`
	Via       string    `json:"via,omitempty"`
	Principal string    `json:"principal"`
	Client    string    `json:"client,omitempty"`
	Project   string    `json:"project,omitempty"`
	Since     time.Time `json:"since"`
	Phase     string    `json:"phase"`
}

// Event is what an audit record is about.
type Event struct {
	Time       time.Time `json:"time"` // of the record; that of a call is when it began
	ID         string    `json:"id"`
	Plugin     string    `json:"plugin,omitempty"`
	Method     string    `json:"method,omitempty"`
	Tool       string    `json:"tool,omitempty"`
	Principal  string    `json:"principal,omitempty"`
	Client     string    `json:"client,omitempty"`
	Project    string    `json:"project,omitempty"` // its name in [[projects]]; empty: the server's own
	Outcome    string    `json:"outcome"`
	Code       string    `json:"code,omitempty"`
	Reason     string    `json:"reason,omitempty"`
	Op         string    `json:"op,omitempty"`
	Target     string    `json:"target,omitempty"`
	DurationUS int64     `json:"duration_us,omitempty"`
}

// Worker is the worker processes of a plugin.
type Worker struct {
	Plugin  string `json:"plugin"`
	Count   int    `json:"count"`
	Running int    `json:"running"` // calls
	Waiting int    `json:"waiting"`
	Slots   int    `json:"slots"`
}

// Memory is the memory of all workers, in bytes.
type Memory struct {
	Budget  int64 `json:"budget"`
	Credit  int64 `json:"credit"`  // that workers may use now
	Waiting int   `json:"waiting"` // requests for memory
}

// State is the state of one server. It is safe for concurrent use.
type State struct {
	transport string
	started   time.Time
	source    func(*Snapshot)

	mu      sync.Mutex
	calls   map[*Running]bool
	ended   recent
	refused recent
	limits  recent
	asked   recent

	questions []Question // that wait, the oldest first
}

// New returns the state of a server. source adds what is not told to the State: config, workers and memory.
func New(transport string, source func(*Snapshot)) *State {
	return &State{transport: transport, started: time.Now(), source: source, calls: map[*Running]bool{}}
}

// Running is a call that runs.
type Running struct {
	call  Call
	times *call.Times
}

// Begin adds a call, which has the record r so far, until End is called. times has its phase.
func (s *State) Begin(r *audit.Record, times *call.Times) *Running {
	c := &Running{times: times, call: Call{
		ID: r.ID, Plugin: bounded(r.Plugin), Method: bounded(r.Method), Tool: bounded(r.Tool), Via: r.Via, Principal: bounded(r.Principal), Client: bounded(r.Client),
		Project: bounded(r.Project), Since: r.Time,
	}}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls[c] = true
	return c
}

// End removes a call.
func (s *State) End(c *Running) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.calls, c)
}

// eventOf returns what a record is about.
func eventOf(r *audit.Record) Event {
	e := Event{
		Time: r.Time, ID: r.ID, Plugin: bounded(r.Plugin), Method: bounded(r.Method), Tool: bounded(r.Tool), Principal: bounded(r.Principal), Client: bounded(r.Client),
		Project: bounded(r.Project), Outcome: string(r.Outcome), Code: bounded(r.Code), Reason: bounded(r.Reason), DurationUS: r.Duration.Microseconds(),
	}
	if e.Time.IsZero() {
		e.Time = time.Now()
	}
	return e
}

// Record adds what an audit record is about.
func (s *State) Record(r *audit.Record) {
	e := eventOf(r)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case r.Kind == audit.KindRefused:
		if len(r.Operations) > 0 {
			e.Op, e.Target = bounded(r.Operations[0].Op), bounded(r.Operations[0].Target)
		}
		s.refused.add(e)
		return
	case r.Kind != audit.KindCall:
		return
	case r.Outcome == audit.Denied:
		s.refused.add(e)
	case r.Outcome == audit.Asked:
		s.asked.add(e)
	case engine.Code(r.Code).IsLimit():
		s.limits.add(e)
	}
	s.ended.add(e)
}

// Snapshot returns the state now.
func (s *State) Snapshot() Snapshot {
	now := Snapshot{PID: os.Getpid(), Transport: s.transport, Started: s.started, Time: time.Now(), Calls: []Call{}, Workers: []Worker{}}
	s.source(&now)
	now.Workers = now.Workers[:min(len(now.Workers), maxWorkers)]
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.calls {
		one := c.call
		one.Phase = c.times.Phase()
		now.Calls = append(now.Calls, one)
	}
	slices.SortFunc(now.Calls, func(a, b Call) int { return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.ID, b.ID)) })
	now.MoreCalls = max(0, len(now.Calls)-maxCalls)
	now.Calls = now.Calls[:len(now.Calls)-now.MoreCalls]
	now.Ended, now.Refused, now.Limits, now.Asked = s.ended.latest(), s.refused.latest(), s.limits.latest(), s.asked.latest()
	s.expire()
	now.Waiting = append([]Question{}, s.questions...)
	return now
}

// recent is a ring of the latest events.
type recent struct {
	events []Event
	next   int
}

func (r *recent) add(e Event) {
	if len(r.events) < maxEvents {
		r.events = append(r.events, e)
		return
	}
	r.events[r.next] = e
	r.next = (r.next + 1) % maxEvents
}

// latest returns the events, the latest first.
func (r *recent) latest() []Event {
	all := append(slices.Clone(r.events[r.next:]), r.events[:r.next]...)
	slices.Reverse(all)
	return append([]Event{}, all...)
}

func bounded(text string) string { return visible.Truncate(text, maxText) }
