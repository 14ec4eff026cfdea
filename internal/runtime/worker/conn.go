package worker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/bulkhead-mcp/bulkhead/internal/base/guard"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/call"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/audit"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/worker/budget"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/worker/wire"
)

// conn is the host's end of the connection to a worker, which is untrusted: what it sends is bounded, validated, and
// affects its own calls only.
//
// The connection has no goroutine of its own. A caller writes its call and, unless another caller is reading, reads
// frames until its result arrives; then it passes the reading on to a caller that still waits. So sequential calls cost
// no switch between goroutines.
type conn struct {
	in      *wire.Reader
	out     *wire.Writer
	log     hclog.Logger
	limits  wire.Limits
	logMax  int             // bytes of log frames that are charged to each call
	derived func([]byte)    // Launch.Derived
	account *budget.Account // the worker's memory; nil: it can get no more
	kill    func(reason string)

	mu      sync.Mutex // guards the following fields
	calls   map[uint32]*pending
	last    uint32
	reading bool
	closed  error                 // why the connection ended; nil while it is open
	logged  int                   // bytes of log frames that are not yet charged to a call
	records int                   // bytes of frames of derived data that are not yet charged to a call
	returns int                   // returns of credit that are not yet charged to a call
	watched map[*pending]struct{} // calls whose method call has not returned
	next    time.Time             // time at which checkLate runs; zero if it is not scheduled
	timer   *time.Timer           // runs checkLate
}

// pending is a call that waits for its result.
type pending struct {
	conn    *conn
	number  uint32
	ctx     context.Context
	operate Operate
	record  func(audit.Operation)
	claim   budget.Call   // its Patience is the maximum time that the call waits for memory
	wake    chan struct{} // receives an element when the state has changed; capacity 1

	sent, canceled atomic.Bool    // whether the call, and its cancellation, were sent
	inFlight       sync.WaitGroup // host operations in flight

	// The following fields are guarded by conn.mu. After done, result and err do not change.
	late       time.Time          // time at which the worker is killed, unless it has ended the call and read the reply to its operation
	cancel     context.CancelFunc // cancels the operations; nil if the call had none
	wrote      bool               // whether the call may have written something
	told       bool               // whether the worker has reported that the call writes
	records    int                // number of records
	operations int                // number of operations
	parts      int                // number of parts of git operations, bounded by maxParts
	growths    int                // number of requests for credit
	end        time.Time          // deadline of the call's operations
	waited     time.Duration      // time that the call has waited for credit
	refused    bool               // whether the call must end with busy, unless it has written something
	busy       bool               // whether an operation is in flight
	waiting    bool               // whether the call is in await, so that it can take over reading
	done       bool               // whether the call has ended
	result     call.Result
	err        error
}

// Bounds of what a worker may send beyond a call's own limits, in bytes.
const (
	// maxRecords bounds the records of a call: one for each distinct operation, and a second one for denied operations.
	maxRecords = 3 * 32
	maxRecord  = 8 << 10
	maxLogText = 64 << 10 // size of an escaped log line
	maxFailure = 64 << 10
	// maxParts bounds how often a call may open, read and close responses of git servers.
	maxParts = 16 << 10
	// perLogFrame is charged for each log frame in addition to its text.
	perLogFrame = 64
	// perDerivedFrame is charged for each frame of derived data in addition to the records. maxDerived has room for the
	// frames of a call whose records are joined to large frames.
	perDerivedFrame = 1 << 10
	maxDerived      = wire.DerivedPerCall + 64*perDerivedFrame
)

func newConn(stream io.ReadWriter, limits wire.Limits, log hclog.Logger) *conn {
	c := &conn{log: log, limits: limits, logMax: 2*limits.LogSize + 64<<10, calls: map[uint32]*pending{}, watched: map[*pending]struct{}{}}
	c.in, c.out = wire.NewReader(stream, c.limit), wire.NewWriter(stream)
	c.timer = time.AfterFunc(time.Hour, c.checkLate)
	c.timer.Stop()
	return c
}

// limit returns the maximum payload of a frame of type t.
func (c *conn) limit(t wire.Type) int {
	switch t {
	case wire.TypeResult:
		return int(c.limits.Output) + maxFailure
	case wire.TypeOperation:
		return c.limits.OperationBytes
	case wire.TypeRecord:
		return maxRecord
	case wire.TypeLog:
		return maxLogText
	case wire.TypeReady, wire.TypeFailed:
		return maxFailure
	case wire.TypeLoaded, wire.TypeWrote:
		return 0
	case wire.TypeReturn:
		return 8
	case wire.TypeDerived:
		if c.derived != nil {
			return wire.MaxDerived
		}
	}
	return -1
}

// call sends a call and returns its result. If the connection ends, it returns the connection's error.
func (c *conn) call(p *pending, r *call.Request) (call.Result, error) {
	others, err := c.add(p)
	if err != nil {
		return call.Result{}, &lostError{reason: err}
	}
	defer c.unwatch(p)
	defer p.endOperations()
	stop := context.AfterFunc(p.ctx, func() {
		c.mu.Lock()
		p.late = time.Now().Add(grace)
		c.watch(p)
		c.mu.Unlock()
		if p.sent.Load() {
			p.sendCancel()
		}
	})
	defer stop()
	send := c.out.Write
	if others {
		send = c.out.Gather
	}
	if err := send(wire.TypeCall, p.number, wire.EncodeRequest(r)...); err != nil {
		c.fail(err)
	}
	if p.sent.Store(true); p.ctx.Err() != nil {
		go p.sendCancel() // the write may block, and reading must not wait for it
	}
	c.await(p)
	return p.result, p.err
}

// sendCancel sends the cancellation of a call once, after the call itself: a worker ignores the cancellation of an
// unknown call, and would then be killed because the call does not end.
func (p *pending) sendCancel() {
	if !p.canceled.Swap(true) {
		_ = p.conn.out.Write(wire.TypeCancel, p.number) // a connection that ended fails the call by itself
	}
}

// add registers a call, and reports whether other calls are in flight.
func (c *conn) add(p *pending) (others bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed != nil {
		return false, c.closed
	}
	c.last++
	p.conn, p.number, p.wake = c, c.last, make(chan struct{}, 1)
	c.calls[p.number] = p
	c.watched[p] = struct{}{}
	c.watch(p)
	return len(c.calls) > 1, nil
}

// watch makes checkLate run when a call is late. All calls share one timer, which is not stopped when a call ends:
// setting a timer may wake a thread that waits for the network poller.
func (c *conn) watch(p *pending) {
	if !c.next.IsZero() && !p.late.Before(c.next) {
		return
	}
	c.next = p.late
	c.timer.Reset(time.Until(p.late))
}

func (c *conn) unwatch(p *pending) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.watched, p)
}

// checkLate kills a worker that has not ended a call in time.
func (c *conn) checkLate() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.next = time.Time{}
	now := time.Now()
	for p := range c.watched {
		if !p.late.After(now) {
			c.kill("it did not end a call in time")
			return
		}
		c.watch(p)
	}
}

// await returns when the call is done. It reads frames unless another caller is reading.
func (c *conn) await(p *pending) {
	for {
		c.mu.Lock()
		p.waiting = true
		switch {
		case p.done:
			c.handOver()
			c.mu.Unlock()
			return
		case c.reading:
			c.mu.Unlock()
			<-p.wake
		default:
			c.reading = true
			c.mu.Unlock()
			c.read(p)
		}
	}
}

// handOver wakes a waiting call if no call is reading, so that it reads. Calls that are still writing their requests are
// not considered: they read when they enter await.
func (c *conn) handOver() {
	if c.reading {
		return
	}
	for _, other := range c.calls {
		if other.waiting {
			other.signal()
			return
		}
	}
}

func (p *pending) signal() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// read handles frames until p is done and no further frame is buffered: calls whose results arrive together then
// continue together, so that their next frames can be joined.
func (c *conn) read(p *pending) {
	for {
		f, err := c.in.Next()
		if err == nil {
			err = c.serve(f)
		}
		c.mu.Lock()
		if err != nil {
			c.failLocked(err)
		}
		if p.done && (err != nil || !c.in.Buffered()) {
			c.reading = false
			c.mu.Unlock()
			return
		}
		c.mu.Unlock()
	}
}

// serve takes a frame. A panic ends the connection, and so the worker: what the worker sent may be the cause.
func (c *conn) serve(f wire.Frame) (err error) {
	defer guard.Recover(c.log, servingWorker, &err)
	return c.take(f)
}

const servingWorker = "while a worker was served"

// fail ends the connection and all calls on it.
func (c *conn) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.failLocked(err)
}

func (c *conn) failLocked(err error) {
	if c.closed == nil {
		c.closed = err
	}
	alone := len(c.calls) == 1
	for number, p := range c.calls {
		delete(c.calls, number)
		p.err, p.done = &lostError{reason: c.closed, sent: true, wrote: p.wrote, alone: alone, waited: p.waited}, true
		p.signal()
	}
}

// lostError is the error of a call whose worker ended before the result arrived.
type lostError struct {
	reason error
	sent   bool          // whether the worker may have received the call
	wrote  bool          // whether the call may have written something
	alone  bool          // whether no other call was in flight
	late   bool          // whether the call's time limit had passed
	waited time.Duration // time that the call has waited for memory
}

// isRetried reports whether the call is made again, where killed says whether the host killed the worker.
func (e *lostError) isRetried(killed bool) bool {
	// If the call was alone and the host had to kill the worker, or the worker violated the protocol, the call caused it.
	// Otherwise another call or process may be the cause.
	blamed := e.alone && (killed || errors.Is(e.reason, wire.ErrProtocol))
	return !e.sent || !e.wrote && !e.late && !blamed
}

func (e *lostError) Error() string { return fmt.Sprintf("the worker process ended: %v", e.reason) }

func (e *lostError) Unwrap() error { return e.reason }
