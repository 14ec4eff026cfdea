package tasks

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/base/visible"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/interaction"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

// Task is a task that runs in this process.
type Task struct {
	store  *Store
	owner  Owner
	writes bool
	size   int64 // bytes of the request

	mu      sync.Mutex
	state   State
	rounds  int
	answers map[string]json.RawMessage // of the questions of this round, by the id of the request
	held    int64                      // bytes of answers
	wake    chan struct{}              // receives an element when the last question is answered; capacity 1
	cancel  func()                     // nil until Run
	stopped bool                       // the owner has cancelled the task
}

// State returns the present state.
func (t *Task) State() State {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.state
}

// Run sets the function that cancels the call of the task. If the task was cancelled already, Run calls it.
func (t *Task) Run(cancel func()) {
	t.mu.Lock()
	t.cancel = cancel
	stopped := t.stopped
	t.mu.Unlock()
	if stopped {
		cancel()
	}
}

// requestCancel has the call of the task cancelled. End decides about the status of the task.
func (t *Task) requestCancel() {
	t.mu.Lock()
	t.stopped = true
	cancel := t.cancel
	t.mu.Unlock()
	if cancel != nil {
		cancel()
	}
}

// IsCancelled reports whether the owner has cancelled the task.
func (t *Task) IsCancelled() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.stopped
}

// Report shows a text of the module in the state of the task.
func (t *Task) Report(text string) {
	t.mu.Lock()
	t.state.Message, t.state.Updated = visible.Bounded(text, maxMessage/2), t.store.now()
	t.mu.Unlock()
}

// AnswerError is the error of a set of answers that does not conform to MCP.
type AnswerError struct{ Key, Why string }

func (e *AnswerError) Error() string { return visible.Name(e.Key) + ": " + e.Why }

// ErrTimeout is the error of Ask if the client does not answer in time.
var ErrTimeout = errors.New("the client did not answer in time")

// Ask asks the client, and waits for all answers at most for a duration. Then the task continues for "further" at most. The error is ErrTimeout,
// or that of ctx.
func (t *Task) Ask(ctx context.Context, requests []interaction.Request, wait, further time.Duration) (map[string]json.RawMessage, error) {
	t.mu.Lock()
	t.rounds++
	now := t.store.now()
	t.answers, t.held, t.wake = map[string]json.RawMessage{}, 0, make(chan struct{}, 1)
	t.state.Status, t.state.Message, t.state.Updated, t.state.Questions = InputRequired, "", now, nil
	t.state.Expires = later(t.state.Expires, now.Add(wait+further+t.store.keep))
	for _, r := range requests {
		t.state.Questions = append(t.state.Questions, Question{fmt.Sprintf("%d-%s", t.rounds, r.ID), r})
	}
	wake, answers := t.wake, t.answers
	if len(requests) == 0 {
		wake <- struct{}{} // the module wants to be called again
	}
	t.mu.Unlock()
	timeout := time.NewTimer(wait)
	defer timeout.Stop()
	var err error
	select {
	case <-wake:
	case <-ctx.Done():
		err = ctx.Err()
	case <-timeout.C:
		err = ErrTimeout
	}
	t.mu.Lock()
	t.state.Status, t.state.Updated, t.state.Questions, t.answers = Working, t.store.now(), nil, nil
	t.mu.Unlock()
	return answers, err
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// answer takes answers of the client, a JSON object. It ignores keys of questions that the task does not ask at present. If an answer is
// invalid, it takes none of them.
func (t *Task) answer(responses []byte) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	found, held := map[string][]byte{}, t.held
	for key, value := range rawjson.Members(responses) {
		for _, q := range t.state.Questions {
			if q.Key != key {
				continue
			}
			if why := interaction.CheckAnswer(q.Kind, value); why != "" {
				return &AnswerError{key, why}
			}
			held += int64(len(value) - len(found[key]))
			found[key] = value
		}
	}
	if held > abi.MaxAskAnswers {
		return &AnswerError{"all answers", fmt.Sprintf("they have more than %d bytes", abi.MaxAskAnswers)}
	}
	if len(found) == 0 {
		return nil
	}
	t.held = held
	var open []Question
	for _, q := range t.state.Questions {
		if value, ok := found[q.Key]; ok {
			t.answers[q.ID] = bytes.Clone(value)
		} else {
			open = append(open, q)
		}
	}
	t.state.Questions, t.state.Updated = open, t.store.now()
	if len(open) == 0 {
		t.wake <- struct{}{}
	}
	return nil
}

// End ends the task with a status that does not change any more, and its payload. The owner sees it when its record is durable. If the record
// cannot be written, the state is kept in memory.
func (t *Task) End(status Status, payload []byte) {
	if why := t.store.reserve(t, int64(len(payload))); why != "" {
		status, payload = Failed, failure("result_size", fmt.Sprintf("The task ended, but its result of %d bytes is not kept: %s. %s", len(payload), why, wrote(t.writes)), t.writes)
	}
	final, now := t.State(), t.store.now()
	final.Status, final.Message, final.Updated, final.Payload, final.Questions = status, "", now, payload, nil
	final.Expires = now.Add(t.store.keep)
	written := t.store.write(t, final) // before it is visible
	t.mu.Lock()
	t.state = final
	t.mu.Unlock()
	t.store.ended(t, written)
}

// Stop ends the task because its call was cancelled: by the owner, or by the end of the server, of which why tells.
func (t *Task) Stop(why string) {
	if t.IsCancelled() {
		t.End(Cancelled, nil)
		return
	}
	t.End(Failed, failure("interrupted", why+" "+wrote(t.writes), t.writes))
}
