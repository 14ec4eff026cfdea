package child

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/bulkhead-mcp/bulkhead/internal/protocol/call"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/schema"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/engine"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/worker/wire"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// credit is the memory that the process may use for instances and calls. It asks the host for more, and returns what is not in use while
// memory is short. It implements engine.Credit.
type credit struct {
	in  *wire.Reader
	out *wire.Writer

	mu      sync.Mutex
	granted int64
	used    int64
	short   bool // whether the host has said that memory is short
}

var _ engine.Credit = (*credit)(nil)

// leastReturn is the least credit that is returned without being asked for, in bytes.
const leastReturn = 1 << 20

// Take implements engine.Credit. While the caller waits for the host, it holds what is left of the credit.
func (c *credit) Take(ctx context.Context, n int64) error {
	c.mu.Lock()
	held := min(n, max(0, c.granted-c.used))
	c.used += held
	c.mu.Unlock()
	need := n - held
	if need == 0 {
		return nil
	}
	granted, err := c.ask(ctx, need)
	if err != nil {
		c.Give(held)
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.granted += granted
	c.used += need
	return nil
}

// Give implements engine.Credit.
func (c *credit) Give(n int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.used -= n
	if c.short && c.granted-c.used >= leastReturn {
		c.returnUnused()
	}
}

// cover takes credit for the frame of a request, which uncover returns.
func (c *credit) cover(ctx context.Context, size int) (uncover func(), err error) {
	if size <= engine.FreeBuffer {
		return func() {}, nil
	}
	taken := int64(size) * engine.BufferCost
	return func() { c.Give(taken) }, c.Take(ctx, taken)
}

// creditOnce is credit that the first call takes and no call returns.
type creditOnce struct{ taken atomic.Bool }

func (o *creditOnce) take(ctx context.Context, c *credit, n int64) error {
	if o.taken.Load() {
		return nil
	}
	if err := c.Take(ctx, n); err != nil {
		return err
	}
	if o.taken.Swap(true) { // another call was faster
		c.Give(n)
	}
	return nil
}

// coverValues takes credit for the values of a response that are decoded for validation by a schema.
func (c *credit) coverValues(ctx context.Context, r *call.Request, body []byte) (uncover func(), err error) {
	if r.Output == 0 || len(body) <= engine.FreeBuffer {
		return func() {}, nil
	}
	values := 1 // each further one follows one of these bytes
	for _, before := range []string{"[", "{", ","} {
		values += bytes.Count(body, []byte(before))
	}
	taken := int64(len(body)) + int64(values)*schema.BytesPerValue
	return func() { c.Give(taken) }, c.Take(ctx, taken)
}

// ask asks the host for credit and returns what it has granted.
func (c *credit) ask(ctx context.Context, need int64) (int64, error) {
	text := strconv.AppendInt(nil, need, 10)
	op := wire.OpMemory
	if !engine.MayWait(ctx) {
		op = wire.OpMemoryNow
	}
	var err error
	if r := runningOf(ctx); r != nil {
		defer engine.PauseTimeLimit(ctx)()
		text, err = r.operate(ctx, op, text)
	} else {
		text, err = c.askLoading(text)
	}
	if failure := (*abi.HostError)(nil); errors.As(err, &failure) && failure.Code == wire.CreditRefused {
		return 0, engine.ErrRefused
	}
	if err != nil {
		return 0, err
	}
	granted, err := strconv.ParseInt(string(text), 10, 64)
	if err == nil && granted < need {
		err = wire.Violation("credit of %d bytes instead of %d", granted, need)
	}
	return granted, err
}

// askLoading asks for credit while the module is loaded. No other goroutine reads then.
func (c *credit) askLoading(text []byte) ([]byte, error) {
	if c.in == nil {
		return nil, engine.ErrRefused // no call needs the memory
	}
	if err := c.out.Write(wire.TypeOperation, 0, wire.Operation{Op: wire.OpMemory, Params: text}.Encode()...); err != nil {
		return nil, err
	}
	f, err := c.in.Next()
	if err != nil {
		return nil, err
	}
	if f.Type != wire.TypeReply {
		return nil, wire.Violation("a frame of type %d instead of a reply", f.Type)
	}
	reply, err := wire.DecodeReply(f.Payload)
	if err == nil && reply.Error != nil {
		err = reply.Error
	}
	return reply.Result, err
}

// loaded tells that the module is loaded.
func (c *credit) loaded() { c.in = nil }

// setShort handles a frame that tells whether memory is short. Without calls in flight it sends no empty answer: the host reads nothing until
// the next call, and the answers of a long time would fill the socket.
func (c *credit) setShort(payload []byte, calls int) error {
	if len(payload) != 1 {
		return wire.Violation("a frame of type %d with %d bytes", wire.TypeShort, len(payload))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.short = payload[0] == 1; c.short && (calls > 0 || c.granted > c.used) {
		c.returnUnused()
	}
	return nil
}

func (c *credit) isShort() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.short
}

// returnUnused returns the credit that is not in use, which may be none. The caller holds the lock, so that the host gets frames in the
// order in which the credit changes.
func (c *credit) returnUnused() {
	unused := max(0, c.granted-c.used)
	c.granted -= unused
	_ = c.out.Write(wire.TypeReturn, 0, binary.LittleEndian.AppendUint64(nil, uint64(unused))) // the next read reports that the host has ended
}
