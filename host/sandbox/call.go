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

// Call is what the operations of one call share: whom to notify, who keeps a record, and the locks they
// hold. Begin makes one; End releases what it holds.
type Call struct {
	notifier Notifier        // nil: notifications are dropped
	record   func(Operation) // nil: no record is kept

	mu      sync.Mutex
	locks   map[string]*fileLock // by name
	folders []*fileLock
}

// Operation is something that a call had the host do, or was refused, for the audit.
type Operation struct {
	Op     string // a host operation, or "file/" and what was tried
	Target string // a path, a repository, an origin, a lock's folder or name, a notification's method; never a secret
	Code   string // of the abi.HostError it failed with; empty: it was done
}

type callKey struct{}

// Begin starts a call. The context is for the call's operations and its files; record is told of each
// operation, and of each access to a file that was refused. It may be nil.
func Begin(ctx context.Context, n Notifier, record func(Operation)) (context.Context, *Call) {
	c := &Call{notifier: n, record: record}
	return context.WithValue(ctx, callKey{}, c), c
}

// End releases the call's locks.
func (c *Call) End() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, l := range c.locks {
		l.release()
	}
	for _, l := range c.folders {
		l.release()
	}
	c.locks, c.folders = nil, nil
}

// callOf is the call that an operation belongs to; one of its own where the engine was called without.
func callOf(ctx context.Context) *Call {
	if c, ok := ctx.Value(callKey{}).(*Call); ok {
		return c
	}
	return &Call{}
}
