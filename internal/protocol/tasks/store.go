package tasks

import (
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
)

// keep is how long the state of a task that has ended is kept.
const keep = time.Hour

// sweepInterval is the time between two searches for tasks that have expired.
const sweepInterval = time.Minute

// Store has the tasks of a server. It is safe for concurrent use. Several processes can use one directory.
type Store struct {
	files files
	log   hclog.Logger
	now   func() time.Time
	keep  time.Duration

	opening sync.Mutex
	opened  bool // guarded by opening

	mu      sync.Mutex
	closed  bool
	running map[string]*Task
	kept    map[string]entry // tasks with a file that this process is to remove, and those that run, by ID
	owned   map[Owner]usage
	all     usage
	sweeper *time.Timer

	fetches fetches
}

// In returns a Store that keeps its records below the host's state directory, where it makes a directory for the first task. If state is empty,
// the Store is nil: there are no tasks.
func In(state string, log hclog.Logger) *Store {
	if state == "" {
		return nil
	}
	return &Store{
		files: files{dir: filepath.Join(state, ".tasks")}, log: log, now: time.Now, keep: keep,
		running: map[string]*Task{}, kept: map[string]entry{}, owned: map[Owner]usage{},
	}
}

// Options describe a task.
type Options struct {
	ID     string        // of NewID
	Time   time.Duration // longest duration of its call
	Writes bool          // whether the call may write something
	Size   int64         // bytes of its request
}

// Begin makes a task. When it returns, the record of the task is durable.
func (s *Store) Begin(owner Owner, o Options) (*Task, error) {
	if err := s.open(); err != nil {
		return nil, err
	}
	now := s.now()
	t := &Task{store: s, owner: owner, writes: o.Writes, size: o.Size, state: State{
		ID: o.ID, Status: Working, Created: now, Updated: now, Expires: now.Add(o.Time + s.keep),
	}}
	if err := s.admit(t); err != nil {
		return nil, err
	}
	if err := s.files.write(owner, o.ID, s.record(t, t.state)); err != nil {
		s.forget(t)
		return nil, fmt.Errorf("the record of the task cannot be written: %w", err)
	}
	return t, nil
}

// Discard removes a task whose owner does not get to know of it.
func (s *Store) Discard(t *Task) {
	s.forget(t)
	s.remove(t.owner, t.State().ID)
}

func (s *Store) forget(t *Task) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := t.State().ID
	delete(s.running, id)
	s.setEntry(id, entry{})
}

func (s *Store) remove(owner Owner, id string) {
	if err := s.files.remove(owner, id); err != nil {
		s.log.Warn("the record of a task cannot be removed", "error", err)
	}
}

// record returns the record of a state of a task.
func (s *Store) record(t *Task, state State) record {
	r := record{
		Status: state.Status, Created: state.Created.UnixMilli(), Updated: state.Updated.UnixMilli(), Expires: state.Expires.UnixMilli(),
		Server: s.files.server, Writes: t.writes, payload: state.Payload,
	}
	// The clock may have been set while the task ran, and decodeHead refuses times that contradict each other.
	r.Created = max(0, min(r.Created, r.Expires), r.Expires-maxAge.Milliseconds())
	r.Updated = max(r.Created, r.Updated)
	return r
}

// write makes the final state of a task durable, and reports whether it could.
func (s *Store) write(t *Task, final State) bool {
	err := s.files.write(t.owner, final.ID, s.record(t, final))
	if err != nil {
		s.log.Error("the result of a task cannot be written: it is lost when the server ends", "error", err)
	}
	return err == nil
}

// ErrUnknown is the error for a task that does not exist, has expired, or has another owner.
var ErrUnknown = errors.New("there is no such task")

// ErrElsewhere is the error for a task that another process runs.
var ErrElsewhere = errors.New("the task runs in another server process")

// look returns a task of the owner that runs in this process, or the record of one that does not, without a payload that is in the file.
func (s *Store) look(owner Owner, id string) (*Task, record, error) {
	if t := s.find(owner, id); t != nil {
		return t, record{}, nil
	}
	if !isID(id) {
		return nil, record{}, ErrUnknown
	}
	if err := s.open(); err != nil {
		return nil, record{}, err
	}
	r, err := s.files.readHead(owner, id)
	if err != nil {
		if t := s.find(owner, id); t != nil { // it has begun meanwhile
			return t, record{}, nil
		}
		return nil, record{}, s.unreadable(err)
	}
	if !r.Status.isFinal() && s.isLost(id, r) {
		if r, err = s.interrupt(owner, id, r); err != nil {
			s.log.Warn("the record of a task cannot be written", "error", err)
		}
		s.adopt(owner, id, r)
	}
	if r.Status.isFinal() && r.Expires <= s.now().UnixMilli() {
		return nil, record{}, ErrUnknown
	}
	return nil, r, nil
}

// unreadable returns the error for a record that cannot be read. The log has the reason.
func (s *Store) unreadable(err error) error {
	if !errors.Is(err, ErrUnknown) {
		s.log.Warn("the record of a task is not readable", "error", err)
	}
	return ErrUnknown
}

// find returns a task of the owner that runs in this process; nil if there is none.
func (s *Store) find(owner Owner, id string) *Task {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := s.running[id]; t != nil && t.owner == owner {
		return t
	}
	return nil
}

// isLost reports whether no process runs a task that has not ended by its record.
func (s *Store) isLost(id string, r record) bool {
	if r.Server != s.files.server {
		return !s.files.isAlive(r.Server)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.running[id] == nil
}

// Answer passes the answers of the client, a JSON object, to a task. The task may have ended. The error is ErrUnknown, ErrElsewhere or an
// *AnswerError.
func (s *Store) Answer(owner Owner, id string, responses []byte) error {
	return s.reach(owner, id, func(t *Task) error { return t.answer(responses) })
}

// Cancel has a task cancelled. The task may have ended. The error is ErrUnknown or ErrElsewhere.
func (s *Store) Cancel(owner Owner, id string) error {
	return s.reach(owner, id, func(t *Task) error { t.requestCancel(); return nil })
}

// reach calls f with a task that runs in this process.
func (s *Store) reach(owner Owner, id string, f func(*Task) error) error {
	t, r, err := s.look(owner, id)
	switch {
	case t != nil:
		return f(t)
	case err == nil && !r.Status.isFinal():
		return ErrElsewhere
	}
	return err
}

// Close ends the use of the directory. All tasks must have ended: others are reported as failed by the next process.
func (s *Store) Close() {
	if s == nil {
		return
	}
	s.mu.Lock()
	s.closed = true
	if s.sweeper != nil {
		s.sweeper.Stop()
	}
	s.mu.Unlock()
	s.opening.Lock()
	defer s.opening.Unlock()
	s.files.close()
}
