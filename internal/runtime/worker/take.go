package worker

import (
	"context"
	"net/http"

	"github.com/hashicorp/go-hclog"

	"github.com/bulkhead-mcp/bulkhead/internal/base/guard"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/worker/wire"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

// take handles a frame.
func (c *conn) take(f wire.Frame) error {
	switch f.Type {
	case wire.TypeLog:
		return c.takeLog(f)
	case wire.TypeDerived:
		return c.takeDerived(f.Payload)
	case wire.TypeReturn:
		return c.takeReturn(f.Payload)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.calls[f.Call]
	if p == nil {
		return wire.Violation("a frame of type %d for call %d, which is not in flight", f.Type, f.Call)
	}
	switch f.Type {
	case wire.TypeResult:
		return c.finish(p, f.Payload)
	case wire.TypeWrote:
		if p.told {
			return wire.Violation("call %d reports twice that it writes", p.number)
		}
		p.told, p.wrote = true, true
		return nil
	case wire.TypeRecord:
		if p.records++; p.records > maxRecords {
			return wire.Violation("too many records of call %d", p.number)
		}
		return p.takeRecord(f.Payload)
	case wire.TypeOperation:
		return c.takeOperation(p, f.Payload)
	}
	return wire.Violation("a frame of type %d, which is not permitted during calls", f.Type)
}

// finish ends a call with the worker's result.
func (c *conn) finish(p *pending, payload []byte) error {
	if p.busy {
		return wire.Violation("a result of call %d, which waits for an operation", p.number)
	}
	result, err := wire.DecodeResult(payload)
	if err != nil {
		return err
	}
	delete(c.calls, p.number)
	c.logged, c.records = max(0, c.logged-c.logMax), max(0, c.records-maxDerived) // charge this call
	if c.returns > 0 {
		c.returns = max(0, c.returns-c.maxGrowths())
	}
	p.result, p.done = result, true
	p.signal()
	return nil
}

func (p *pending) takeRecord(payload []byte) error {
	r, err := wire.DecodeRecord(payload)
	if err == nil && p.record != nil {
		p.record(r)
	}
	return err
}

// takeOperation performs an operation in a new goroutine, since the operation may wait for a network or a client.
func (c *conn) takeOperation(p *pending, payload []byte) error {
	operation, err := wire.DecodeOperation(payload)
	if err != nil {
		return err
	}
	if p.busy {
		return wire.Violation("call %d requests an operation while another one is in flight", p.number)
	}
	switch operation.Op {
	case wire.OpMemory:
		return c.takeGrowth(p, operation.Params, p.claim.Patience)
	case wire.OpMemoryNow:
		return c.takeGrowth(p, operation.Params, 0)
	}
	count, most := &p.operations, c.limits.Operations
	switch operation.Op {
	case wire.OpGitOpen, wire.OpGitRead, wire.OpGitShut: // parts of one operation
		count, most = &p.parts, maxParts
	}
	if *count++; *count > most {
		return wire.Violation("too many operations of call %d", p.number)
	}
	p.busy = true
	p.wrote = p.wrote || changes(operation)
	ctx, cancel := context.WithDeadline(p.ctx, p.end)
	p.cancel = cancel
	p.inFlight.Go(func() {
		defer cancel()
		if err := p.perform(ctx, operation); err != nil {
			c.fail(err)
			c.kill(err.Error())
		}
	})
	return nil
}

// perform performs an operation and sends the reply. The error is that of a panic.
func (p *pending) perform(ctx context.Context, operation wire.Operation) (err error) {
	c := p.conn
	defer guard.Recover(c.log, servingWorker, &err)
	reply := p.operateSuspended(ctx, operation)
	c.mu.Lock()
	p.busy = false
	c.mu.Unlock()
	_ = c.out.Write(wire.TypeReply, p.number, reply.Encode()...) // a connection that ended fails the call by itself
	return nil
}

// operateSuspended performs an operation. While it consists of calls in other workers, the call that waits for them is suspended.
func (p *pending) operateSuspended(ctx context.Context, operation wire.Operation) wire.Reply {
	if account := p.conn.account; operation.Op == abi.MethodToolsCall && account != nil {
		account.Suspend()
		defer account.Resume()
	}
	return p.operate(ctx, operation)
}

// endOperations cancels the call's operations and waits for them.
func (p *pending) endOperations() {
	p.conn.mu.Lock()
	cancel := p.cancel
	p.conn.mu.Unlock()
	if cancel != nil {
		cancel()
		p.inFlight.Wait()
	}
}

// takeLog logs a line. A worker that logs more than its calls may log in total has been compromised.
func (c *conn) takeLog(f wire.Frame) error {
	line, err := wire.DecodeLog(f.Payload)
	if err != nil {
		return err
	}
	c.mu.Lock()
	c.logged += len(line.Text) + perLogFrame
	for _, arg := range line.Args {
		c.logged += len(arg)
	}
	over := c.logged > c.logMax*(len(c.calls)+1)
	c.mu.Unlock()
	if over {
		return wire.Violation("too many log lines")
	}
	level := hclog.Level(line.Level)
	if level < hclog.Trace || level > hclog.Error {
		level = hclog.Info
	}
	args := make([]any, len(line.Args)/2*2)
	for i := range args {
		args[i] = printable(line.Args[i])
	}
	c.log.Log(level, printable(line.Text), args...)
	return nil
}

// takeDerived passes records of derived data on. A worker that sends more than its calls may send in total has been compromised.
func (c *conn) takeDerived(records []byte) error {
	c.mu.Lock()
	c.records += len(records) + perDerivedFrame
	over := c.records > maxDerived*(len(c.calls)+1)
	c.mu.Unlock()
	if over {
		return wire.Violation("too many records of derived data")
	}
	c.derived(records)
	return nil
}

// changes reports whether an operation may have an effect that a retry must not repeat.
func changes(operation wire.Operation) bool {
	switch operation.Op {
	case abi.OpClaims, abi.OpLock, abi.OpNotify, wire.OpGitUser, wire.OpGitOpen, wire.OpGitRead, wire.OpGitShut:
		return false
	case abi.OpHTTPFetch:
		method, _ := rawjson.Unquote(rawjson.Member(operation.Params, "method"))
		return method != "" && method != http.MethodGet && method != http.MethodHead
	}
	return true
}
