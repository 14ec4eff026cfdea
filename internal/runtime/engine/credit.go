package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// Credit is the memory that the process may use for instances and calls. Its methods are safe for concurrent use.
type Credit interface {
	// Take takes bytes. It may have to wait for memory if MayWait(ctx), and calls PauseTimeLimit for this time. The error is
	// ErrRefused, or else a reason why the call must end.
	Take(ctx context.Context, bytes int64) error
	Give(bytes int64)
}

// ErrRefused is the error of Credit.Take if there is not enough memory, and the call may continue without it.
var ErrRefused = errors.New("the host refused the memory")

const (
	// instanceCost is the credit of an instance besides its linear memory: wazero's state, tables, the native stack, and pages that
	// a restore has cleared without returning them to the system.
	instanceCost = 1 << 20
	// BufferCost is the credit for each byte of a message: one copy of it is in use, another one may be, and the garbage of the Go
	// heap takes as much again.
	BufferCost = 4
	// FreeBuffer is the size of messages whose credit is that of the instance.
	FreeBuffer = 64 << 10
)

// take takes credit for the memory of an instance. It returns false if the memory is refused, and ends the current call if that must end.
func (i *instance) take(bytes uint64) bool {
	ctx := i.creator // nil for an idle instance, whose memory does not grow
	if i.current != nil {
		ctx = i.current.ctx
	}
	err := i.owner.takeCredit(ctx, bytes)
	if err != nil && !errors.Is(err, ErrRefused) && i.current != nil {
		i.current.abort(i.owner.noCredit(ctx, err))
	}
	return err == nil
}

func (m *Module) takeCredit(ctx context.Context, bytes uint64) error {
	switch {
	case m.spec.Credit == nil:
		return nil
	case ctx == nil:
		return ErrRefused
	}
	return m.spec.Credit.Take(ctx, int64(bytes))
}

func (i *instance) give(bytes uint64) {
	if credit := i.owner.spec.Credit; credit != nil {
		credit.Give(int64(bytes))
	}
}

// noCredit returns the failure of a call that got no credit.
func (m *Module) noCredit(ctx context.Context, err error) *Error {
	if failure := m.contextError(ctx); failure != nil {
		return failure
	}
	return m.errorf(CodeMemory, fmt.Errorf("%w: %w", errNoCredit, err), "needed memory that the server does not have: other calls use it")
}

// errNoCredit is wrapped by the failure of a call that got no credit.
var errNoCredit = errors.New("no credit")

// prepaid is the Credit of derive instances, of which the caller of Derive has taken the first part. It keeps what is given back for the
// next derivation. Further parts are taken without waiting: other calls may wait for the derivation.
type prepaid struct {
	Credit

	mu   sync.Mutex
	left int64
}

// Take implements Credit.
func (p *prepaid) Take(ctx context.Context, bytes int64) error {
	p.mu.Lock()
	held := min(bytes, p.left)
	p.left -= held
	p.mu.Unlock()
	if held == bytes {
		return nil
	}
	if err := p.Credit.Take(AtOnce(ctx), bytes-held); err != nil {
		p.Give(held)
		return fmt.Errorf("%w: %v", errNoCredit, err) // not ErrRefused: the result must not depend on the memory of the system
	}
	return nil
}

// Give implements Credit.
func (p *prepaid) Give(bytes int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.left += bytes
}

type atOnceKey struct{}

// AtOnce returns a context with which Credit.Take does not wait for memory.
func AtOnce(ctx context.Context) context.Context { return context.WithValue(ctx, atOnceKey{}, true) }

// MayWait reports whether Credit.Take may wait for memory.
func MayWait(ctx context.Context) bool { return ctx.Value(atOnceKey{}) == nil }

// covered are the sizes in bytes of what a call has outside of its linear memory, for which it has taken credit.
type covered struct {
	operation, output, blocks int
	taken                     uint64
}

// cover takes credit for a buffer that has grown to a size, of which before is covered already. It ends the call if it gets none.
func (c *execution) cover(before *int, size int) {
	if failure := c.tryCover(before, size); failure != nil {
		c.abort(failure)
	}
}

// tryCover is cover outside of a run of the module.
func (c *execution) tryCover(before *int, size int) *Error {
	if size <= FreeBuffer || size <= *before || c.module.derives() {
		return nil
	}
	need := uint64(BufferCost * (size - *before))
	if err := c.module.takeCredit(c.ctx, need); err != nil {
		return c.module.noCredit(c.ctx, err)
	}
	c.covered.taken += need
	*before = size
	return nil
}

// uncover returns the credit for the buffers of a call.
func (c *execution) uncover() {
	c.instance.give(c.covered.taken)
	c.covered = covered{}
}
