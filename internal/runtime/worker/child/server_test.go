package child

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/bulkhead-mcp/bulkhead/internal/authoring/wasmtest"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/call"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/command"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/confine"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/engine"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/worker/wire"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// hostSide is the host's end of the connection of a server.
type hostSide struct {
	t      *testing.T
	out    *wire.Writer
	frames chan wire.Frame
	end    func()
	ended  chan error // receives the result of serve
}

// served starts a server whose module is the function request.
func served(t *testing.T, request requester) *hostSide {
	t.Helper()
	ours, theirs := net.Pipe()
	out := wire.NewWriter(theirs)
	s := &server{box: &sandbox.Box{}, in: wire.NewReader(theirs, limit), out: out, log: hclog.NewNullLogger(), operationBytes: 100, request: request,
		cache: newCache(wire.Derived{}), credit: &credit{out: out, granted: 1 << 40}}
	h := &hostSide{t: t, out: wire.NewWriter(ours), frames: make(chan wire.Frame, 1000), ended: make(chan error, 1), end: func() { _ = ours.Close() }}
	go func() { h.ended <- s.serve() }()
	go func() {
		defer close(h.frames)
		in := wire.NewReader(ours, func(wire.Type) int { return 1 << 30 })
		for {
			f, err := in.Next()
			if err != nil {
				return
			}
			h.frames <- f
		}
	}()
	t.Cleanup(h.end)
	return h
}

func (h *hostSide) send(t wire.Type, number uint32, parts ...[]byte) {
	h.t.Helper()
	if err := h.out.Write(t, number, parts...); err != nil {
		h.t.Fatal(err)
	}
}

func (h *hostSide) call(number uint32, method string) {
	h.t.Helper()
	h.send(wire.TypeCall, number, wire.EncodeRequest(&call.Request{Method: method, Recorded: true})...)
}

// want receives a frame of that type and call.
func (h *hostSide) want(t wire.Type, number uint32) wire.Frame {
	h.t.Helper()
	f, open := <-h.frames
	if !open || f.Type != t || f.Call != number {
		h.t.Fatalf("got a frame of type %d for call %d: %.200q; want type %d for call %d", f.Type, f.Call, f.Payload, t, number)
	}
	return f
}

// wantResult receives the result of a call, whose body contains text.
func (h *hostSide) wantResult(number uint32, kind call.Kind, text string) call.Result {
	h.t.Helper()
	r, err := wire.DecodeResult(h.want(wire.TypeResult, number).Payload)
	if err != nil || r.Kind != kind || !strings.Contains(string(r.Body), text) {
		h.t.Fatalf("call %d: got the result %d %s, %v; want %d %s", number, r.Kind, r.Body, err, kind, text)
	}
	return r
}

func answer(text string) (engine.Held, error) {
	return engine.Held{Result: call.Result{Body: fmt.Appendf(nil, `{"result":{"content":[],"m":%q}}`, text)}}, nil
}

func TestCallsThatWaitDoNotDelayOthers(t *testing.T) {
	h := served(t, func(ctx context.Context, r engine.Prepared) (engine.Held, error) {
		switch r.Method {
		case "operation":
			got, err := operate[string](ctx, "op", "p")
			return answer(got + fmt.Sprint(err))
		case "cancelled":
			r.Busy()
			<-ctx.Done()
			return engine.Held{}, &engine.Error{Code: engine.CodeCanceled, Message: "was cancelled"}
		}
		return answer(r.Method)
	})
	h.call(1, "operation")
	if o, err := wire.DecodeOperation(h.want(wire.TypeOperation, 1).Payload); err != nil || o.Op != "op" || string(o.Params) != `"p"` {
		t.Errorf("got the operation %+v, %v", o, err)
	}
	h.call(2, "short")
	h.wantResult(2, call.OK, "short")
	h.call(3, "cancelled")
	h.call(4, "short")
	h.wantResult(4, call.OK, "short")
	h.send(wire.TypeCancel, 77) // of a call that has ended
	h.send(wire.TypeCancel, 3)
	h.wantResult(3, call.Failed, "was cancelled")
	h.send(wire.TypeReply, 77, wire.Reply{}.Encode()...)
	h.send(wire.TypeReply, 1, wire.Reply{Result: []byte(`"reply"`)}.Encode()...)
	h.wantResult(1, call.OK, "reply<nil>")
	h.call(5, "operation")
	h.want(wire.TypeOperation, 5)
	h.send(wire.TypeReply, 5, wire.Reply{Error: &abi.HostError{Code: abi.HostDenied, Message: "refused"}}.Encode()...)
	h.wantResult(5, call.OK, "refused")
	h.end()
	if err := <-h.ended; !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("serve returned %v after the end of the connection", err)
	}
}

// Calls that are received together are answered in few writes, and each is answered.
func TestResultsOfPipelinedCallsAreSent(t *testing.T) {
	h := served(t, func(_ context.Context, r engine.Prepared) (engine.Held, error) { return answer(r.Method) })
	for n := range uint32(100) {
		if err := h.out.Delay(wire.TypeCall, n, wire.EncodeRequest(&call.Request{Method: fmt.Sprint("m", n)})...); err != nil {
			t.Fatal(err)
		}
	}
	go func() { _ = h.out.Flush() }() // blocks until all calls are read
	for n := range uint32(100) {
		h.wantResult(n, call.OK, fmt.Sprintf(`"m%d"`, n))
	}
}

// A host that writes calls and does not read yet must not wait for a worker that writes a large result.
func TestLargeResultDoesNotDelayReading(t *testing.T) {
	ours, theirs := net.Pipe()
	out := wire.NewWriter(theirs)
	s := &server{in: wire.NewReader(theirs, limit), out: out, log: hclog.NewNullLogger(), cache: newCache(wire.Derived{}), credit: &credit{out: out, granted: 1 << 40},
		request: func(context.Context, engine.Prepared) (engine.Held, error) {
			return engine.Held{}, &engine.Error{Code: engine.CodeTrap, Message: strings.Repeat("x", 64<<10)}
		}}
	ended := make(chan error, 1)
	go func() { ended <- s.serve() }()
	host := wire.NewWriter(ours)
	for n := range uint32(2) {
		if err := host.Write(wire.TypeCall, n, wire.EncodeRequest(&call.Request{Method: "m"})...); err != nil {
			t.Fatal(err)
		}
	}
	in := wire.NewReader(ours, func(wire.Type) int { return 1 << 20 })
	for range 2 {
		if f, err := in.Next(); err != nil || f.Type != wire.TypeResult || len(f.Payload) <= 64<<10 {
			t.Errorf("got a frame of type %d with %d bytes, %v", f.Type, len(f.Payload), err)
		}
	}
	if err := ours.Close(); err != nil {
		t.Error(err)
	}
	<-ended
}

func TestDelayedResultsAreBounded(t *testing.T) {
	var in, out bytes.Buffer
	w := wire.NewWriter(&in)
	for n := range uint32(20) {
		if err := w.Write(wire.TypeCall, n, wire.EncodeRequest(&call.Request{Method: "m"})...); err != nil {
			t.Fatal(err)
		}
	}
	o := wire.NewWriter(&out)
	s := &server{in: wire.NewReader(&in, limit), out: o, log: hclog.NewNullLogger(), cache: newCache(wire.Derived{}), credit: &credit{out: o, granted: 1 << 40},
		calls: map[uint32]*running{}, failed: make(chan error, 1)}
	var unsent []int // results that were not sent when a call began
	results := 0
	s.request = func(context.Context, engine.Prepared) (engine.Held, error) {
		results += len(sent(t, &out))
		unsent = append(unsent, len(unsent)-results)
		return answer("")
	}
	if s.lead() {
		t.Fatal("a call made another goroutine the leader")
	}
	if want := "[0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7 0 1 2 3]"; fmt.Sprint(unsent) != want {
		t.Errorf("when calls began, so many results were not sent: %v, want %s", unsent, want)
	}
	if results += len(sent(t, &out)); results != 20 {
		t.Errorf("%d results were sent in the end, want 20", results)
	}
}

func TestMalformedFramesOfHostEndServer(t *testing.T) {
	for name, frame := range map[string]wire.Frame{
		"a call":                      {Type: wire.TypeCall, Call: 1, Payload: []byte{1}},
		"a reply":                     {Type: wire.TypeReply, Call: 9},
		"a statement of short memory": {Type: wire.TypeShort},
		"a frame of a worker":         {Type: wire.TypeResult, Call: 9},
	} {
		h := served(t, func(ctx context.Context, _ engine.Prepared) (engine.Held, error) {
			_, err := operate[string](ctx, "op", nil)
			return engine.Held{}, err
		})
		h.call(9, "m")
		h.want(wire.TypeOperation, 9)
		go func() { _ = h.out.Write(frame.Type, frame.Call, frame.Payload) }()
		if err := <-h.ended; !errors.Is(err, wire.ErrProtocol) {
			t.Errorf("%s: serve returned %v, want a protocol violation", name, err)
		}
		h.end()
	}
}

// An operation of a module is bounded before it reaches the host, which ends a worker that exceeds the limit.
func TestOperationsAreBounded(t *testing.T) {
	for size, want := range map[int]bool{100 - 1 - 2: true, 100 - 2: false} {
		h := served(t, func(ctx context.Context, _ engine.Prepared) (engine.Held, error) {
			_, err := runningOf(ctx).operate(ctx, "op", make([]byte, size))
			return answer(fmt.Sprint(err))
		})
		h.call(1, "m")
		if want {
			if f := h.want(wire.TypeOperation, 1); len(f.Payload) != 100 {
				t.Errorf("the operation has %d bytes", len(f.Payload))
			}
			h.send(wire.TypeReply, 1, wire.Reply{}.Encode()...)
			h.wantResult(1, call.OK, "nil")
		} else {
			h.wantResult(1, call.OK, "more than the limit of this plugin")
		}
	}
}

func TestErrorOfConnectionFailsOperation(t *testing.T) {
	broken := errors.New("broken")
	s := &server{out: wire.NewWriter(writerFunc(func([]byte) (int, error) { return 0, broken })), operationBytes: 100}
	r := &running{server: s, reply: make(chan wire.Reply, 1)} // no reply arrives
	for name, operate := range map[string]func() error{
		"an operation":   func() error { _, err := r.operate(t.Context(), "op", nil); return err },
		"a notification": func() error { return r.Notify("notifications/message", nil) },
	} {
		if err := operate(); !errors.Is(err, broken) {
			t.Errorf("%s: got %v, want %v", name, err, broken)
		}
	}
	if err := r.Notify("notifications/message", json.RawMessage("{")); err == nil || errors.Is(err, broken) {
		t.Errorf("a notification that is not JSON: got %v", err)
	}
}

func TestRequestAndResultWithoutMemoryFail(t *testing.T) {
	large := []byte(`{"result":{"content":[],"structuredContent":{}}}` + strings.Repeat(" ", 64<<10))
	s := &server{out: wire.NewWriter(io.Discard), cache: newCache(wire.Derived{}), log: hclog.NewNullLogger(), credit: &credit{out: wire.NewWriter(io.Discard)},
		request: func(context.Context, engine.Prepared) (engine.Held, error) {
			return engine.Held{Result: call.Result{Body: large}}, nil
		}}
	for name, c := range map[string]struct {
		size int // of the request
		want string
	}{
		"a request": {64<<10 + 1, "needs memory for its request that the server does not have"},
		"a result":  {64 << 10, "needs memory to validate its result that the server does not have"},
	} {
		result, release := (&running{server: s}).send(t.Context(), &call.Request{Method: "tools/call", Output: 1}, c.size)
		release()
		var failure wire.Failure
		if err := json.Unmarshal(result.Body, &failure); err != nil || result.Kind != call.Failed || failure.Code != string(engine.CodeMemory) || failure.Message != c.want {
			t.Errorf("%s: got %d %.300s, %v; want %q", name, result.Kind, result.Body, err, c.want)
		}
	}
}

// What the host is told about the end of a worker must not depend on where the connection was cut.
func TestCallThatIsCutOffIsNoViolation(t *testing.T) {
	var whole bytes.Buffer
	if err := wire.NewWriter(&whole).Write(wire.TypeCall, 1, wire.EncodeRequest(&call.Request{Method: "m"})...); err != nil {
		t.Fatal(err)
	}
	s := &server{in: wire.NewReader(bytes.NewReader(whole.Bytes()[:whole.Len()-1]), limit), out: wire.NewWriter(io.Discard), failed: make(chan error, 1)}
	if s.lead() {
		t.Fatal("a call made another goroutine the leader")
	}
	if err := <-s.failed; !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("got %v, want %v", err, io.ErrUnexpectedEOF)
	}
}

func TestCancelledOperationFails(t *testing.T) {
	h := served(t, func(ctx context.Context, _ engine.Prepared) (engine.Held, error) {
		got, err := runningOf(ctx).operate(ctx, "op", nil)
		return answer(fmt.Sprint(string(got), err))
	})
	h.call(1, "m")
	h.want(wire.TypeOperation, 1)
	h.send(wire.TypeCancel, 1)
	h.send(wire.TypeReply, 1, wire.Reply{Result: []byte("late")}.Encode()...)
	if r := h.wantResult(1, call.OK, "context canceled"); strings.Contains(string(r.Body), "late") {
		t.Errorf("the reply reached a cancelled call: %s", r.Body)
	}
}

func TestHostOperationsNeedCall(t *testing.T) {
	_, claims := claimed(t.Context(), abi.Claims{})
	_, user := gitUser(t.Context())
	_, response := fetch(t.Context(), abi.HTTPRequest{})
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://a", nil)
	if err != nil {
		t.Fatal(err)
	}
	_, trip := transport{}.RoundTrip(request)
	b := &body{ctx: t.Context()}
	_, read := b.Read(make([]byte, 1))
	for name, err := range map[string]error{"claims": claims, "user": user, "fetch": response, "git": trip, "read": read, "close": b.Close()} {
		if !errors.Is(err, errNoCall) {
			t.Errorf("%s: got %v, want %v", name, err, errNoCall)
		}
	}
	if err := changes(t.Context(), true); err != nil {
		t.Errorf("a change of the state: %v", err)
	}
	if err := changes(t.Context(), false); !errors.Is(err, errLoading) {
		t.Errorf("a change: %v", err)
	}
	if _, err := mount(0, wire.Mount{Staged: true}).Create(t.Context()); !errors.Is(err, errNoCall) {
		t.Errorf("create: %v", err)
	}
}

func TestWriteIsReportedOnce(t *testing.T) {
	var out bytes.Buffer
	r := &running{server: &server{out: wire.NewWriter(&out)}, number: 7}
	ctx := context.WithValue(t.Context(), runningKey{}, r)
	for range 2 {
		if err := changes(ctx, false); err != nil {
			t.Error(err)
		}
	}
	if frames := sent(t, &out); len(frames) != 1 || frames[0].Type != wire.TypeWrote || frames[0].Call != 7 {
		t.Errorf("got %+v, want one report", frames)
	}
}

// A call that may only read changes the plugin's own state, and nothing else.
func TestReadingCallChangesOnlyState(t *testing.T) {
	var out bytes.Buffer
	ctx := context.WithValue(t.Context(), runningKey{}, &running{server: &server{out: wire.NewWriter(&out)}, readsOnly: true})
	if err := changes(ctx, false); !errors.Is(err, errReadsOnly) || len(sent(t, &out)) != 0 {
		t.Errorf("got %v, want %v and no report", err, errReadsOnly)
	}
	if err := changes(ctx, true); err != nil || len(sent(t, &out)) != 1 {
		t.Errorf("of state: got %v, want a report", err)
	}
}

func TestSetupIsTheFirstFrame(t *testing.T) {
	for name, c := range map[string]struct {
		frame wire.Frame
		want  error // of errors.Is; nil if it is accepted
	}{
		"a setup":                   {wire.Frame{Type: wire.TypeSetup, Payload: []byte(`{"plugin":"it"}`)}, nil},
		"a call":                    {wire.Frame{Type: wire.TypeCall, Payload: []byte(`{}`)}, wire.ErrProtocol},
		"a setup that is malformed": {wire.Frame{Type: wire.TypeSetup, Payload: []byte(`{`)}, io.ErrUnexpectedEOF},
	} {
		var b bytes.Buffer
		if err := wire.NewWriter(&b).Write(c.frame.Type, 0, c.frame.Payload); err != nil {
			t.Fatal(err)
		}
		setup, err := readSetup(wire.NewReader(&b, limit))
		if malformed := (*json.SyntaxError)(nil); c.want == nil && (err != nil || setup.Plugin != "it") || c.want != nil && !errors.Is(err, c.want) && !errors.As(err, &malformed) {
			t.Errorf("%s: got %+v, %v", name, setup, err)
		}
	}
	if _, err := readSetup(wire.NewReader(strings.NewReader(""), limit)); !errors.Is(err, io.EOF) || !strings.Contains(err.Error(), "cannot read from the host") {
		t.Errorf("without a host: %v", err)
	}
	for kind, want := range map[wire.Type]int{wire.TypeSetup: 1 << 30, wire.TypeCall: 1 << 30, wire.TypeReply: 1 << 30, wire.TypeShort: 1, wire.TypeCancel: 0, wire.TypeResult: -1, wire.TypeReady: -1, 0: -1} {
		if got := limit(kind); got != want {
			t.Errorf("the limit of frames of type %d is %d, want %d", kind, got, want)
		}
	}
}

// The host ends a worker that logs more than its calls may, so a line must not exceed what is charged for it.
func TestLogLinesAreBounded(t *testing.T) {
	var out bytes.Buffer
	log := newLog(wire.NewWriter(&out), hclog.Info)
	log.Debug("below the level")
	var args []any
	for i := range 9 {
		args = append(args, fmt.Sprint("name", i), strings.Repeat("v", 513))
	}
	log.Warn(strings.Repeat("x", 6145), args...)
	log.Info("short", "n", 7)
	var lines []wire.Log
	for _, f := range sent(t, &out) {
		line, err := wire.DecodeLog(f.Payload)
		if err != nil || f.Type != wire.TypeLog || f.Call != 0 {
			t.Fatalf("got %+v, %v", f, err)
		}
		lines = append(lines, line)
	}
	if len(lines) != 2 || lines[0].Level != int8(hclog.Warn) || len(lines[0].Text) != 6144 || len(lines[0].Args) != 16 || len(lines[0].Args[15]) != 512 ||
		lines[1].Text != "short" || strings.Join(lines[1].Args, "=") != "n=7" {
		t.Errorf("got %d lines: %+v", len(lines), lines)
	}
}

func TestDirectoryThatDoesNotExistIsCreatedByHost(t *testing.T) {
	h := served(t, func(ctx context.Context, _ engine.Prepared) (engine.Held, error) {
		r, w, err := os.Pipe()
		if err != nil {
			return engine.Held{}, err
		}
		defer w.Close()
		m := mount(3, wire.Mount{Path: "/p", Staged: true, File: int(r.Fd()), Write: true, Anchors: []wire.FileID{{Dev: 1, Ino: 2}}})
		if m.Dir != nil || len(m.Anchors) != 1 || m.Anchors[0].Ino != 2 {
			return answer(fmt.Sprintf("mounted before it exists: %+v", m))
		}
		got, err := m.Create(ctx)
		return answer(fmt.Sprintf("%t%v", got != nil, err))
	})
	for number, reply := range map[uint32]wire.Reply{1: {}, 2: {Error: &abi.HostError{Code: abi.HostFailed, Message: "no room"}}} {
		h.call(number, "m")
		h.want(wire.TypeWrote, number)
		if o, err := wire.DecodeOperation(h.want(wire.TypeOperation, number).Payload); err != nil || o.Op != wire.OpCreate || string(o.Params) != "3" {
			t.Errorf("got the operation %+v, %v", o, err)
		}
		h.send(wire.TypeReply, number, reply.Encode()...)
		want := "true<nil>"
		if reply.Error != nil {
			want = "false" + reply.Error.Error()
		}
		h.wantResult(number, call.OK, want)
	}
	existing := mount(0, wire.Mount{Path: "/p"})
	if existing.Create != nil || existing.Dir != nil {
		t.Errorf("a directory without a handle: %+v", existing)
	}
}

func TestGitRequestsGoThroughHost(t *testing.T) {
	h := served(t, func(ctx context.Context, _ engine.Prepared) (engine.Held, error) {
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://h/r", strings.NewReader("body"))
		if err != nil {
			return engine.Held{}, err
		}
		request.Header.Set("Accept", "x")
		response, err := transport{}.RoundTrip(request)
		if err != nil {
			return answer(err.Error())
		}
		data, err := io.ReadAll(response.Body)
		return answer(fmt.Sprint(response.StatusCode, " ", response.Header, " ", string(data), " ", err, response.Body.Close(), response.Body.Close()))
	})
	expect := func(number uint32, op, params string, reply wire.Reply) {
		t.Helper()
		o, err := wire.DecodeOperation(h.want(wire.TypeOperation, number).Payload)
		if err != nil || o.Op != op || string(o.Params) != params {
			t.Errorf("got the operation %s %s, %v; want %s %s", o.Op, o.Params, err, op, params)
		}
		h.send(wire.TypeReply, number, reply.Encode()...)
	}
	const opened = `{"method":"POST","url":"https://h/r","header":{"Accept":"x"},"body":"Ym9keQ=="}`
	h.call(1, "m")
	expect(1, wire.OpGitOpen, opened, wire.Reply{Result: []byte(`{"stream":5,"status":200,"contentType":"t/p"}`)})
	expect(1, wire.OpGitRead, "5", wire.Reply{Result: []byte("some ")})
	expect(1, wire.OpGitRead, "5", wire.Reply{Result: []byte("data")})
	expect(1, wire.OpGitRead, "5", wire.Reply{})
	expect(1, wire.OpGitShut, "5", wire.Reply{})
	h.wantResult(1, call.OK, "200 map[Content-Type:[t/p]] some data")
	h.call(2, "m")
	expect(2, wire.OpGitOpen, opened, wire.Reply{Error: &abi.HostError{Code: abi.HostDenied, Message: "not granted"}})
	h.wantResult(2, call.OK, "not granted")
	h.call(3, "m")
	expect(3, wire.OpGitOpen, opened, wire.Reply{Result: []byte(`{"stream":6,"status":302,"location":"/l"}`)})
	expect(3, wire.OpGitRead, "6", wire.Reply{Error: &abi.HostError{Code: abi.HostFailed, Message: "broken"}})
	expect(3, wire.OpGitShut, "6", wire.Reply{})
	h.wantResult(3, call.OK, "302 map[Location:[/l]]")
}

func TestRequestersOfKinds(t *testing.T) {
	if _, err := newRequester(wire.Setup{Kind: "other"}, nil); err == nil {
		t.Error("a module of an unknown kind has a requester")
	}
	setup := wire.Setup{Kind: string(engine.Command), Commands: command.Tools{}}
	request, err := newRequester(setup, nil)
	if err != nil {
		t.Fatal(err)
	}
	for method, want := range map[string]string{abi.MethodDescribe: string(setup.Commands.Describe()), "prompts/list": string(command.NoMethod())} {
		if got, err := request(t.Context(), engine.Prepared{Request: &call.Request{Method: method}}); err != nil || string(got.Body) != want {
			t.Errorf("%s: got %s, %v", method, got.Body, err)
		}
	}
}

// A request that the plugin has no function for is answered without running it.
func TestRequestsOfExtismPlugin(t *testing.T) {
	request, err := newRequester(wire.Setup{Kind: string(engine.Extism)}, loaded(t, engine.Extism, wasmtest.HyperMCP().Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	for method, want := range map[string]string{abi.MethodDescribe: `"greet"`, "prompts/get": "Write a letter", "other": "the plugin has no function for other"} {
		response, err := request(t.Context(), engine.Prepared{Request: &call.Request{Method: method, Params: []byte(`{}`)}, Busy: func() {}})
		if response.Release(); err != nil || !strings.Contains(string(response.Body), want) {
			t.Errorf("%s: got %s, %v; want %q", method, response.Body, err, want)
		}
	}
	if _, err := newRequester(wire.Setup{Kind: string(engine.Extism)}, loaded(t, engine.ABI1, wasmtest.Answering("{}"))); err == nil {
		t.Error("a module without the functions of a plugin has a requester")
	}
}

func TestNameOfRequest(t *testing.T) {
	for params, want := range map[string]string{`{"name":"a"}`: "a", `{"uri":"u://x"}`: "u://x", `{"name":1,"uri":"u"}`: "u", `{}`: "", ``: ""} {
		if got := nameOf([]byte(params)); got != want {
			t.Errorf("%s: got %q, want %q", params, got, want)
		}
	}
}

// Only what the host lists stays open and accessible, and is writable only if the grant is.
func TestConfinementKeepsListedFilesOnly(t *testing.T) {
	setup := wire.Setup{
		Code: wire.Code{Root: 5}, Confine: wire.Confine{Memory: 1, AddressSpace: 2, Threads: 3, OpenFiles: 4},
		Mounts:  []wire.Mount{{File: 6}, {File: 7, Write: true}, {Write: true}},
		Repos:   []wire.Repo{{File: 8}, {File: 9, Write: true}, {Write: true}},
		Derived: wire.Derived{Older: 11, Newer: 12}, Held: []int{13},
	}
	want := confine.Config{
		Keep: append(slices.Clone(connectionFiles), 11, 12, 13), Memory: 1, AddressSpace: 2, Threads: 3, OpenFiles: 4, Root: &confine.Dir{FD: 5},
		Dirs: []confine.Dir{{FD: 6}, {FD: 7, Write: true}, {FD: 8}, {FD: 9, Write: true}},
	}
	if got := configOf(setup); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	none := confine.Config{Keep: slices.Clone(connectionFiles), Root: &confine.Dir{}}
	if got := configOf(wire.Setup{}); !reflect.DeepEqual(got, none) {
		t.Errorf("without files: got %+v, want %+v", got, none)
	}
}

func TestSandboxHasWhatSetupGrants(t *testing.T) {
	setup := wire.Setup{Plugin: "it", Kind: string(engine.Command), HTTP: true, Deny: []string{"*.env"}, Own: []string{"/own"}, Remotes: []string{"https://h/r"},
		Limits: wire.Limits{Files: 3, Memory: 4}, Env: map[string]string{"A": "1"}, Messages: true,
		Mounts: []wire.Mount{{Path: "/p", Write: true}, {Path: "/s", State: true, InGit: true}}, Repos: []wire.Repo{{Path: "/r", Alias: "/a", Write: true, Commit: true}}}
	c := boxConfig(setup, nil, hclog.NewNullLogger())
	if c.State != "/s" || c.Fetch == nil || !c.Relative || len(c.Mounts) != 2 || !c.Mounts[0].Write || c.Mounts[1].Write || !c.Mounts[1].InGit || len(c.Repos) != 1 ||
		c.Repos[0] != (git.Grant{Repo: "/r", Alias: "/a", Write: true, Commit: true}) || c.Lock == nil || c.Limits.Files != 3 || c.Limits.Memory != 4 || !c.Messages ||
		!slices.Equal(c.Hidden.Patterns, setup.Deny) || !slices.Equal(c.Hidden.Own, setup.Own) || !slices.Equal(c.Remotes, setup.Remotes) || c.Env["A"] != "1" {
		t.Errorf("got %+v", c)
	}
	if c := boxConfig(wire.Setup{Kind: string(engine.ABI1)}, nil, hclog.NewNullLogger()); c.State != "" || c.Fetch != nil || c.Relative || len(c.Mounts)+len(c.Repos) > 0 {
		t.Errorf("without grants: got %+v", c)
	}
}
