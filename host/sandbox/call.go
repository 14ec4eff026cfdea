package sandbox

import (
	"context"
	"encoding/json"
	"sync"
)

// Notifier takes what a running call has to say to its client before it ends. The error says what is
// wrong with a notification that no client could read.
type Notifier interface {
	Notify(method string, params json.RawMessage) error
}

// Call is what the operations of one call share: whom to notify, the locks they hold, and what was done.
// Begin makes one; End releases what it holds.
type Call struct {
	notifier Notifier // nil: notifications are dropped

	mu         sync.Mutex
	locks      map[string]*fileLock
	operations []Operation
	dropped    int
}

// Operation is something that a call had the host do, for the audit.
type Operation struct {
	Op     string
	Target string // a path, a repository, an origin, a lock's name; never a secret
	Code   string // of the abi.HostError it failed with; empty: it was done
}

// maxOperations bounds how many operations of a call are kept; more are only counted.
const maxOperations = 64

type callKey struct{}

// Begin starts a call. The context is for the call's operations.
func Begin(ctx context.Context, n Notifier) (context.Context, *Call) {
	c := &Call{notifier: n}
	return context.WithValue(ctx, callKey{}, c), c
}

// End releases the call's locks.
func (c *Call) End() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, l := range c.locks {
		l.release()
	}
	c.locks = nil
}

// Operations are those that the call had done, and how many more there were than are kept.
func (c *Call) Operations() (kept []Operation, more int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.operations, c.dropped
}

func (c *Call) record(o Operation) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.operations) >= maxOperations {
		c.dropped++
		return
	}
	c.operations = append(c.operations, o)
}

// callOf is the call that an operation belongs to; one of its own where the engine was called without.
func callOf(ctx context.Context) *Call {
	if c, ok := ctx.Value(callKey{}).(*Call); ok {
		return c
	}
	return &Call{}
}
