package child

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/hashicorp/go-hclog"

	"github.com/bulkhead-mcp/bulkhead/host/audit"
	"github.com/bulkhead-mcp/bulkhead/host/engine"
	"github.com/bulkhead-mcp/bulkhead/host/internal/worker/wire"
	"github.com/bulkhead-mcp/bulkhead/host/rawjson"
	"github.com/bulkhead-mcp/bulkhead/host/sandbox"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// server answers the host's calls. One goroutine leads: it reads frames, and runs a call that has come itself.
// When that call has run for several quanta, or is about to wait, or when more frames have come already, another
// goroutine takes the lead. So one short call at a time costs no switch between goroutines.
type server struct {
	in     *wire.Reader
	out    *wire.Writer
	module *engine.Module
	answer func(method string, schema int, r engine.Response) (wire.Kind, []byte)
	log    hclog.Logger
	maxAsk int           // bytes
	follow chan struct{} // takes a goroutine that waits into the lead
	failed chan error    // of capacity 1: why nothing more can be read

	mu    sync.Mutex
	calls map[uint32]*call
}

// call is a call that runs.
type call struct {
	server   *server
	number   uint32
	cancel   context.CancelFunc
	recorded bool
	leads    bool            // its goroutine has the lead
	reply    chan wire.Reply // of capacity 1
	trail    audit.Trail
	wrote    sync.Once
}

type callKey struct{}

// callOf is the call that an operation belongs to; nil while no call runs.
func callOf(ctx context.Context) *call {
	c, _ := ctx.Value(callKey{}).(*call)
	return c
}

// serve answers calls until the host closes the connection, which is io.EOF.
func (s *server) serve() error {
	s.calls, s.follow, s.failed = map[uint32]*call{}, make(chan struct{}), make(chan error, 1)
	go s.run()
	return <-s.failed
}

// run is a goroutine's life: it leads until a call of its own makes another take over, runs that call, and waits
// to take over again. There are no more of them than calls at a time, and one.
func (s *server) run() {
	for s.lead() {
		<-s.follow
	}
}

// pass gives the lead to another goroutine.
func (s *server) pass() {
	select {
	case s.follow <- struct{}{}:
	default:
		go s.run()
	}
}

// lead reads frames until the lead is passed on; false: there is nothing more to read.
func (s *server) lead() bool {
	for {
		f, err := s.in.Next()
		if err == nil && f.Type == wire.TypeCall {
			var request wire.Call
			if request, err = wire.DecodeCall(f.Payload); err == nil {
				if !s.call(f.Call, request) {
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

// take handles a frame that belongs to a call which runs.
func (s *server) take(f wire.Frame) error {
	s.mu.Lock()
	c := s.calls[f.Call]
	s.mu.Unlock()
	if c == nil {
		return nil // the call has ended meanwhile
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

// call runs a call, and reports whether its goroutine has the lead still.
func (s *server) call(number uint32, request wire.Call) bool {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	c := &call{server: s, number: number, cancel: cancel, recorded: request.Recorded, leads: true, reply: make(chan wire.Reply, 1)}
	s.mu.Lock()
	s.calls[number] = c
	s.mu.Unlock()
	if s.in.Buffered() {
		c.busy()
	}
	result := c.run(context.WithValue(ctx, callKey{}, c), request)
	s.mu.Lock()
	delete(s.calls, number)
	s.mu.Unlock()
	if len(result.Body) > largeAnswer {
		c.busy()
	}
	_ = s.out.Write(wire.TypeResult, number, result.Encode()...) // where the host is gone reading says so
	return c.leads
}

// largeAnswer is what the connection may not take at once, in bytes.
const largeAnswer = 64 << 10

// busy passes the lead on, if the call's goroutine has it.
func (c *call) busy() {
	if c.leads {
		c.leads = false
		c.server.pass()
	}
}

// run has the module answer.
func (c *call) run(ctx context.Context, request wire.Call) wire.Result {
	ctx, scope := sandbox.Begin(ctx, c, c.record)
	defer scope.End()
	response, err := c.server.module.Call(ctx, engine.Request{Method: request.Method, Params: request.Params, Busy: c.busy})
	result := wire.Result{Fuel: response.Fuel}
	if failure := (*engine.Error)(nil); errors.As(err, &failure) {
		result.Kind, result.Body = failed(failure)
	} else {
		for _, fault := range response.Faults {
			c.server.log.Error("the file system failed", "method", request.Method, "name", nameOf(request.Params), "error", fault)
		}
		result.Kind, result.Body = c.server.answer(request.Method, request.Schema, response)
	}
	result.LeftOut = c.sendRecords()
	return result
}

// nameOf is the name of what is asked for, or its URI.
func nameOf(params []byte) string {
	for _, key := range []string{"name", "uri"} {
		if name, ok := rawjson.Unquote(rawjson.Member(params, key)); ok {
			return name
		}
	}
	return ""
}

// failed is how a failure is sent.
func failed(failure *engine.Error) (wire.Kind, []byte) {
	text, _ := json.Marshal(wire.Failure{Code: string(failure.Code), Message: failure.Message, Detail: failure.Detail}) // strings always encode
	return wire.KindFailure, text
}

// ask has the host process perform an operation.
func (c *call) ask(ctx context.Context, op string, params []byte) ([]byte, error) {
	c.busy()
	if len(params)+1+len(op) > c.server.maxAsk {
		return nil, &abi.HostError{Code: abi.HostInvalid, Message: fmt.Sprintf("%s: %d bytes are more than the host takes of this plugin", op, len(params))}
	}
	if err := c.server.out.Write(wire.TypeAsk, c.number, wire.Ask{Op: op, Params: params}.Encode()...); err != nil {
		return nil, err
	}
	// The host ends the operation with the call, and answers in any case.
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
func (c *call) Notify(method string, params json.RawMessage) error {
	notification, err := json.Marshal(abi.Notification{Method: method, Params: params})
	if err != nil {
		return err
	}
	_, err = c.ask(context.Background(), abi.OpNotify, notification)
	return err
}

// changes tells the host that the call is about to change something, before it does.
func (c *call) changes() {
	c.wrote.Do(func() { _ = c.server.out.Write(wire.TypeWrote, c.number) })
}
