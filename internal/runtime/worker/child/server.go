package child

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/hashicorp/go-hclog"

	"github.com/bulkhead-mcp/bulkhead/internal/protocol/call"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/audit"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/derived"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/engine"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/worker/wire"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

// server runs the host's calls by the leader/follower pattern. The leader reads frames and runs a call itself. When
// that call has run for some time or is about to wait, another goroutine becomes the leader. So short calls cost no switch
// between goroutines. If the frame of the next call was received already, the result of a short call is sent together with
// the next one.
type server struct {
	in             *wire.Reader
	out            *wire.Writer
	box            *sandbox.Box
	module         *engine.Module
	request        requester
	responses      responses
	log            hclog.Logger
	operationBytes int // maximum size of an operation
	cache          *derived.Cache
	credit         *credit
	derivations    creditOnce    // for the cache, and for what Derive needs
	delayed        int           // results that the leader has not sent yet; accessed by the leader only
	follow         chan struct{} // makes a waiting goroutine the leader
	failed         chan error    // receives the reason why reading ended; capacity 1

	mu    sync.Mutex
	calls map[uint32]*running
}

// running is a call that the module runs, and that may request operations of the host.
type running struct {
	server   *server
	number   uint32
	cancel   context.CancelFunc
	recorded bool
	// readsOnly is set if the call must change nothing but the plugin's own state.
	readsOnly bool
	leads     bool            // whether the call's goroutine is the leader
	reply     chan wire.Reply // capacity 1
	trail     audit.Trail
	wrote     sync.Once
}

type runningKey struct{}

// runningOf returns the call of an operation; nil outside of a call.
func runningOf(ctx context.Context) *running {
	c, _ := ctx.Value(runningKey{}).(*running)
	return c
}

// serve runs calls until the host closes the connection, and returns io.EOF then.
func (s *server) serve() error {
	s.calls, s.follow, s.failed = map[uint32]*running{}, make(chan struct{}), make(chan error, 1)
	go s.leadInTurn()
	return <-s.failed
}

// leadInTurn is the loop of one goroutine: it leads until its call makes another goroutine the leader, finishes the call, and waits to
// become the leader again. The number of these goroutines exceeds the number of calls in flight by at most one.
func (s *server) leadInTurn() {
	for s.lead() {
		<-s.follow
	}
}

// pass makes another goroutine the leader.
func (s *server) pass() {
	select {
	case s.follow <- struct{}{}:
	default:
		go s.leadInTurn()
	}
}

// lead reads frames until another goroutine becomes the leader. It returns false if reading has ended.
func (s *server) lead() bool {
	for {
		if !s.in.Buffered() {
			s.flush()
		}
		f, err := s.in.Next()
		if err == nil && f.Type == wire.TypeCall {
			var request call.Request
			if request, err = wire.DecodeRequest(f.Payload); err == nil {
				if !s.execute(f.Call, &request, len(f.Payload)) {
					return true
				}
				continue
			}
		}
		if err == nil {
			err = s.take(f)
		}
		if err != nil {
			s.failed <- err
			return false
		}
	}
}

// take handles a frame of a call in flight, or one that belongs to no call.
func (s *server) take(f wire.Frame) error {
	s.mu.Lock()
	c, calls := s.calls[f.Call], len(s.calls)
	s.mu.Unlock()
	if f.Type == wire.TypeShort {
		return s.credit.setShort(f.Payload, calls)
	}
	if c == nil {
		return nil // the call has ended
	}
	switch f.Type {
	case wire.TypeCancel:
		c.cancel()
	case wire.TypeReply:
		reply, err := wire.DecodeReply(f.Payload)
		if err != nil {
			return err
		}
		c.reply <- reply
	}
	return nil
}

// execute executes a request whose frame has size bytes, and reports whether its goroutine is still the leader.
func (s *server) execute(number uint32, request *call.Request, size int) bool {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	c := &running{server: s, number: number, cancel: cancel, recorded: request.Recorded, readsOnly: request.ReadsOnly, leads: true, reply: make(chan wire.Reply, 1)}
	s.mu.Lock()
	s.calls[number] = c
	s.mu.Unlock()
	result, release := c.send(context.WithValue(ctx, runningKey{}, c), request, size)
	if s.credit.isShort() { // the host reads what release returns before the result, since it may not read after it
		release()
	}
	s.mu.Lock()
	delete(s.calls, number)
	s.mu.Unlock()
	if len(result.Body) > largeAnswer {
		c.busy()
	}
	send := s.out.Write
	if c.leads && s.delayed < maxDelayed && s.in.Buffered() {
		send = s.out.Delay
		s.delayed++
	} else if c.leads {
		s.delayed = 0
	}
	_ = send(wire.TypeResult, number, wire.EncodeResult(result)...) // the next read reports that the host has ended
	release()
	return c.leads
}

// maxDelayed bounds the delayed results, which wait until the current call ends or calls busy.
const maxDelayed = 7

// flush sends the delayed results.
func (s *server) flush() {
	if s.delayed > 0 {
		s.delayed = 0
		_ = s.out.Flush() // the next read reports that the host has ended
	}
}

// largeAnswer is the size in bytes from which validating a response takes long, and a write to the connection may block.
const largeAnswer = 64 << 10

// busy makes another goroutine the leader if the call's goroutine is the leader.
func (c *running) busy() {
	if c.leads {
		c.leads = false
		c.server.flush()
		c.server.pass()
	}
}

// send sends the request to the module and returns the result of its response. release must be called after the result was sent.
func (c *running) send(ctx context.Context, request *call.Request, size int) (_ call.Result, release func()) {
	ctx = sandbox.Begin(ctx, c, c.record)
	uncover, err := c.server.credit.cover(ctx, size)
	if err != nil {
		result := call.Result{}
		result.Kind, result.Body = failed(&engine.Error{Code: engine.CodeMemory, Message: "needs memory for its request that the server does not have"})
		return result, func() {}
	}
	defer uncover()
	response, err := c.server.request(ctx, engine.Prepared{Request: request, Busy: c.busy})
	result := response.Result
	if failure := (*engine.Error)(nil); errors.As(err, &failure) {
		result.Kind, result.Body = failed(failure)
	} else {
		for _, fault := range response.Faults {
			c.server.log.Error("the file system failed", "method", request.Method, "name", nameOf(request.Params), "error", fault)
		}
		if len(response.Body) > largeAnswer { // validating the response takes long
			c.busy()
		}
		if uncover, err := c.server.credit.coverValues(ctx, request, response.Body); err != nil {
			result.Kind, result.Body = failed(&engine.Error{Code: engine.CodeMemory, Message: "needs memory to validate its result that the server does not have"})
		} else {
			result.Kind, result.Body = c.server.responses.parse(request, response)
			uncover()
		}
	}
	result.LeftOut = c.sendRecords()
	if request.Recorded {
		result.Uses = call.Uses(c.server.box.Used(ctx))
	}
	c.sendDerived()
	return result, response.Release
}

// nameOf returns the name or URI that a request is for.
func nameOf(params []byte) string {
	for _, key := range []string{"name", "uri"} {
		if name, ok := rawjson.Unquote(rawjson.Member(params, key)); ok {
			return name
		}
	}
	return ""
}

// operate sends an operation to the host process and returns the result.
func (c *running) operate(ctx context.Context, op string, params []byte) ([]byte, error) {
	c.busy()
	if len(params)+1+len(op) > c.server.operationBytes {
		return nil, &abi.HostError{Code: abi.HostInvalid, Message: fmt.Sprintf("%s: the request has %d bytes, more than the limit of this plugin", op, len(params))}
	}
	if err := c.server.out.Write(wire.TypeOperation, c.number, wire.Operation{Op: op, Params: params}.Encode()...); err != nil {
		return nil, err
	}
	// The host replies even if the call is cancelled, because it then cancels the operation.
	reply := <-c.reply
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case reply.Error != nil:
		return nil, reply.Error
	}
	return reply.Result, nil
}

// Notify implements sandbox.Notifier.
func (c *running) Notify(method string, params json.RawMessage) error {
	notification, err := json.Marshal(abi.Notification{Method: method, Params: params})
	if err != nil {
		return err
	}
	_, err = c.operate(context.Background(), abi.OpNotify, notification)
	return err
}

// changes tells the host that the call is about to write something.
func (c *running) changes() {
	c.wrote.Do(func() { _ = c.server.out.Write(wire.TypeWrote, c.number) })
}
