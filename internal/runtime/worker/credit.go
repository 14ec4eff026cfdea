package worker

import (
	"context"
	"encoding/binary"
	"errors"
	"strconv"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/base/guard"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/engine"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/worker/budget"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/worker/wire"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// Active implements budget.Worker.
func (p *process) Active() int { return int(p.active.Load()) }

// Evict implements budget.Worker.
func (p *process) Evict(reason string) bool {
	if !p.supervisor.evict(p) {
		return false
	}
	go p.supervisor.config.Log.Info("an idle worker process was ended because its memory is needed", "reason", reason) // a log may block
	return true
}

// Tell implements budget.Worker. The write may block, so another goroutine does it.
func (p *process) Tell(short bool) {
	p.telling.Lock()
	defer p.telling.Unlock()
	p.short = short
	if p.tells {
		p.untold = true
		return
	}
	p.tells = true
	go p.tell()
}

// tell tells the worker whether memory is short, until that has not changed since.
func (p *process) tell() {
	p.telling.Lock()
	defer p.telling.Unlock()
	defer func() { p.tells = false }()
	for again := true; again; again = p.untold {
		p.untold = false
		payload := []byte{0}
		if p.short {
			payload[0] = 1
		}
		p.telling.Unlock()
		_ = p.conn.out.Write(wire.TypeShort, 0, payload) // a connection that ended has no credit
		p.telling.Lock()
	}
}

// takeReturn takes credit back from the worker.
func (c *conn) takeReturn(payload []byte) error {
	if len(payload) != 8 {
		return wire.Violation("a return of credit with %d bytes", len(payload))
	}
	c.mu.Lock()
	c.returns++
	over := c.returns > c.maxGrowths()*(len(c.calls)+1)
	c.mu.Unlock()
	if over { // as any return to a worker without an account
		return wire.Violation("too many returns of credit")
	}
	if c.account.Return(int64(binary.LittleEndian.Uint64(payload))) != nil {
		return wire.Violation("the worker returned more credit than it has")
	}
	return nil
}

// grow answers a request for credit of a call, or of the worker while it starts.
func (c *conn) grow(ctx context.Context, request budget.Call, params []byte) (wire.Reply, error) {
	bytes, err := strconv.ParseInt(string(params), 10, 64)
	switch {
	case err != nil || bytes <= 0:
		return wire.Reply{}, wire.Violation("a malformed request for credit")
	case c.account == nil:
		err = budget.ErrLimit
	default:
		bytes, err = c.account.Grow(ctx, request, bytes)
	}
	if err == nil {
		return wire.Reply{Result: strconv.AppendInt(nil, bytes, 10)}, nil
	}
	code := wire.CreditRefused
	if !errors.Is(err, budget.ErrRefused) && !errors.Is(err, budget.ErrLimit) {
		code = wire.CreditBusy
	}
	return wire.Reply{Error: &abi.HostError{Code: code, Message: err.Error()}}, err
}

// maxGrowths bounds the requests for credit of a call, and the returns that are charged to it: each request is for at least
// budget.MinChunk, up to the limit of the worker. A call asks again for memory that another one of its worker has returned, so the bound
// is not tight.
func (c *conn) maxGrowths() int {
	if c.account == nil {
		return 0
	}
	_, limit := c.account.Bound()
	return maxParts + int(limit/budget.MinChunk)
}

// takeGrowth answers a call's request for credit in a new goroutine. The request waits no longer than patience, and all requests of the
// call together no longer than p.claim.Patience: the time that they wait does not count towards the call's time limit, and holds newer calls of
// all plugins back. The caller holds c.mu.
func (c *conn) takeGrowth(p *pending, params []byte, patience time.Duration) error {
	if p.growths++; p.growths > c.maxGrowths() {
		return wire.Violation("too many requests of call %d for credit", p.number)
	}
	p.busy = true
	began := time.Now()
	left := p.late.Sub(began)
	request := p.claim
	request.Wrote, request.Patience = p.wrote, min(patience, max(0, p.claim.Patience-p.waited))
	if p.ctx.Err() == nil { // else the call must end within its grace
		p.late = p.late.Add(request.Patience)
	}
	ctx, cancel := context.WithCancel(p.ctx)
	p.cancel = cancel
	p.inFlight.Go(func() {
		defer cancel()
		if err := p.awaitCredit(ctx, request, params, began, left); err != nil {
			c.fail(err)
			c.kill(err.Error())
		}
	})
	return nil
}

// awaitCredit answers a request for credit that arrived at began, when the call had a time left. An error ends the worker.
func (p *pending) awaitCredit(ctx context.Context, request budget.Call, params []byte, began time.Time, left time.Duration) (err error) {
	c := p.conn
	defer guard.Recover(c.log, servingWorker, &err)
	reply, refusal := c.grow(ctx, request, params)
	if errors.Is(refusal, wire.ErrProtocol) {
		return refusal
	}
	p.continueAfter(began, left, errors.Is(refusal, budget.ErrBusy))
	_ = c.out.Write(wire.TypeReply, p.number, reply.Encode()...) // a connection that ended fails the call by itself
	return nil
}

// continueAfter extends the deadlines of the call by the time since began. left is the time that it had until it was late.
func (p *pending) continueAfter(began time.Time, left time.Duration, refused bool) {
	p.conn.mu.Lock()
	defer p.conn.mu.Unlock()
	now := time.Now()
	waited := now.Sub(began)
	p.busy, p.refused = false, refused
	p.waited += waited
	p.end = p.end.Add(waited)
	if p.ctx.Err() == nil { // else the call must end within its grace
		p.late = now.Add(left)
		p.conn.watch(p)
	}
}

// growStarting returns a function that answers the requests for credit of a worker that starts. They stop the watchdog, which fires at
// late otherwise. All of them together wait no longer than the patience of the request.
func (c *conn) growStarting(ctx context.Context, request budget.Call, watchdog *time.Timer, late time.Time) func(params []byte) (wire.Reply, error) {
	return func(params []byte) (wire.Reply, error) {
		watchdog.Stop()
		began := time.Now()
		defer func() {
			waited := time.Since(began)
			request.Patience, late = max(0, request.Patience-waited), late.Add(waited)
			watchdog.Reset(time.Until(late))
		}()
		return c.grow(ctx, request, params)
	}
}

// unlessBusy returns the error of a request for credit as calls report it.
func (s *Supervisor) unlessBusy(err error) error {
	if errors.Is(err, budget.ErrBusy) {
		return s.busy()
	}
	return err
}

// busy returns the error of a call that ended, or did not start, because the memory of the budget was used up.
func (s *Supervisor) busy() *engine.Error {
	return s.fail(engine.CodeQueue, budget.ErrBusy, "needs memory, but %v: try again later, or raise memory in [server]", budget.ErrBusy)
}
