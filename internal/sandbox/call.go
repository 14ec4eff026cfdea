package sandbox

import (
	"context"
	"encoding/json"
	"os"
	"sync"
)

// Notifier sends notifications of a running call to its client. Its error states why a notification is malformed.
type Notifier interface {
	Notify(method string, params json.RawMessage) error
}

// Call is the state of one call that its operations share. Begin starts it; End releases its locks.
type Call struct {
	notifier Notifier        // nil drops notifications
	record   func(Operation) // nil records nothing

	mu    sync.Mutex
	locks map[string]*os.File // open files of the locks of names, by name; the kernel releases a lock when its file is closed or the process ends
	dirs  []*os.File          // open directories that are locked
}

// Operation is the audit record of an operation that a call performed, or that was refused.
type Operation struct {
	Op     string // name of the host operation, or "file/" and the name of the refused file operation
	Target string // a path, repository, origin, lock's directory or name, or notification's method; never a secret
	Code   string // code of the abi.HostError; empty on success
}

type callKey struct{}

// Begin starts a call. The call's operations and file accesses must use the returned context. record, which may be nil, is called
// for each operation and each refused access to a file.
func Begin(ctx context.Context, n Notifier, record func(Operation)) (context.Context, *Call) {
	c := &Call{notifier: n, record: record}
	return context.WithValue(ctx, callKey{}, c), c
}

// End releases the call's locks.
func (c *Call) End() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, file := range c.locks {
		_ = file.Close()
	}
	for _, dir := range c.dirs {
		_ = dir.Close()
	}
	c.locks, c.dirs = nil, nil
}

// callOf returns the Call of a context, or an empty Call if the engine was called without Begin.
func callOf(ctx context.Context) *Call {
	if c, ok := ctx.Value(callKey{}).(*Call); ok {
		return c
	}
	return &Call{}
}
