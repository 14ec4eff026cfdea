//go:build unix

package worker

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/bulkhead-mcp/bulkhead/internal/protocol/call"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/audit"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/confine"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/engine"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/worker/budget"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/worker/wire"
)

// discarded returns a connection on which nothing arrives.
func discarded(limits wire.Limits) *conn {
	return newConn(struct {
		io.Reader
		io.Writer
	}{strings.NewReader(""), io.Discard}, limits, hclog.NewNullLogger())
}

// flight adds a call to a connection.
func flight(t *testing.T, c *conn) *pending {
	t.Helper()
	p := &pending{ctx: t.Context(), late: time.Now().Add(time.Hour), end: time.Now().Add(time.Hour), record: func(audit.Operation) {},
		operate: func(context.Context, wire.Operation) wire.Reply { return wire.Reply{} }}
	if _, err := c.add(p); err != nil {
		t.Fatal(err)
	}
	return p
}

// A worker without a valid report of its confinement must not run a module, since confinement = "required" is decided by the report.
func TestWorkerWithoutConfinementReportRunsNoCall(t *testing.T) {
	for plugin := range reports {
		t.Run(plugin, func(t *testing.T) {
			s := newSupervisor(t, func(c *Config) { c.Plugin = plugin })
			if r, err := s.Call(t.Context(), method("who")); codeOf(t, err) != engine.CodeInternal {
				t.Errorf("got %s, %v; want an error", r.Body, err)
			}
			if n := s.running(); n != 0 {
				t.Errorf("%d workers run, want none", n)
			}
		})
	}
	t.Run("refused", func(t *testing.T) {
		refusal := errors.New("it is not confined")
		var got confine.Report
		s := newSupervisor(t, counting(new(atomic.Int32), func(_ int32, l *Launch) {
			l.Confined = func(r confine.Report) error { got = r; return refusal }
		}))
		if _, err := s.Call(t.Context(), method("who")); codeOf(t, err) != engine.CodeInternal || !errors.Is(err, refusal) || got == nil {
			t.Errorf("got %v for the report %v", err, got)
		}
		if n := s.running(); n != 0 {
			t.Errorf("%d workers run, want none", n)
		}
	})
}

func TestStartsOfWorkersForOneCallAreBounded(t *testing.T) {
	var launches atomic.Int32
	s := newSupervisor(t, counting(&launches, func(_ int32, l *Launch) { l.Stale = func() string { return "the directory was replaced" } }))
	if _, err := s.Call(t.Context(), method("echo")); codeOf(t, err) != engine.CodeInternal || !errors.Is(err, errUnsteady) {
		t.Errorf("got %v, want %v", err, errUnsteady)
	}
	if got := launches.Load(); got != 8 {
		t.Errorf("%d workers were started, want 8", got)
	}
}

func TestFramesOfWorkerAreBounded(t *testing.T) {
	c := discarded(wire.Limits{Output: 1000, OperationBytes: 77})
	for name, want := range map[wire.Type]int{
		wire.TypeResult: 1000 + 65536, wire.TypeOperation: 77, wire.TypeRecord: 8192, wire.TypeLog: 65536, wire.TypeReady: 65536, wire.TypeFailed: 65536,
		wire.TypeLoaded: 0, wire.TypeWrote: 0, wire.TypeReturn: 8, wire.TypeDerived: -1,
		wire.TypeSetup: -1, wire.TypeCall: -1, wire.TypeCancel: -1, wire.TypeReply: -1, 0: -1, 255: -1,
	} {
		if got := c.limit(name); got != want {
			t.Errorf("the limit of frames of type %d is %d, want %d", name, got, want)
		}
	}
	c.derived = func([]byte) {}
	if got := c.limit(wire.TypeDerived); got != 1049600 {
		t.Errorf("the limit of derived data is %d, want 1 MiB and 1 KiB", got)
	}
}

// The counts of a call hold even if a compromised worker ignores them.
func TestCountsOfCallAreBounded(t *testing.T) {
	for name, b := range map[string]struct {
		frame wire.Frame
		most  int
	}{
		"parts of git operations":    {wire.Frame{Type: wire.TypeOperation, Payload: []byte("\x08git/read1")}, 16384},
		"opened git requests":        {wire.Frame{Type: wire.TypeOperation, Payload: []byte("\x08git/open{}")}, 16384},
		"closed git responses":       {wire.Frame{Type: wire.TypeOperation, Payload: []byte("\x08git/shut1")}, 16384},
		"operations":                 {wire.Frame{Type: wire.TypeOperation, Payload: []byte("\x02op")}, 3},
		"records":                    {wire.Frame{Type: wire.TypeRecord, Payload: []byte("{}")}, 96},
		"reports of a write":         {wire.Frame{Type: wire.TypeWrote}, 1},
		"requests beyond an account": {wire.Frame{Type: wire.TypeOperation, Payload: append([]byte{byte(len(wire.OpMemory))}, wire.OpMemory+"1"...)}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			c := discarded(wire.Limits{Operations: 3})
			p := flight(t, c)
			b.frame.Call = p.number
			for i := range b.most {
				if err := c.take(b.frame); err != nil {
					t.Fatalf("number %d: %v", i+1, err)
				}
				p.inFlight.Wait()
			}
			if err := c.take(b.frame); !errors.Is(err, wire.ErrProtocol) {
				t.Errorf("number %d: got %v, want a protocol violation", b.most+1, err)
			}
		})
	}
}

// Log lines are charged to calls: 64 KiB and twice the limit of a call for each call in flight, and once more.
func TestLogOfWorkerIsBounded(t *testing.T) {
	for name, b := range map[string]struct {
		line  wire.Log
		calls int
		most  int
	}{
		"text":           {wire.Log{Text: strings.Repeat("x", 1000-64)}, 0, 67},
		"values":         {wire.Log{Args: []string{strings.Repeat("x", 500), strings.Repeat("y", 500-64)}}, 0, 67},
		"empty lines":    {wire.Log{}, 0, (2*1000 + 65536) / 64},
		"with two calls": {wire.Log{Text: strings.Repeat("x", 1000-64)}, 2, 3 * 67536 / 1000},
	} {
		t.Run(name, func(t *testing.T) {
			c := discarded(wire.Limits{LogSize: 1000})
			for range b.calls {
				flight(t, c)
			}
			frame := wire.Frame{Type: wire.TypeLog, Payload: b.line.Encode()}
			for i := range b.most {
				if err := c.take(frame); err != nil {
					t.Fatalf("line %d: %v", i+1, err)
				}
			}
			if err := c.take(frame); !errors.Is(err, wire.ErrProtocol) {
				t.Errorf("line %d: got %v, want a protocol violation", b.most+1, err)
			}
		})
	}
}

// Derived data are charged to calls: 4 MiB and 64 KiB for each call in flight, and once more.
func TestDerivedDataOfWorkerAreBounded(t *testing.T) {
	for name, b := range map[string]struct{ size, calls, most int }{
		"large frames":   {1<<20 - 1<<10, 0, 4},
		"empty frames":   {0, 0, 4096 + 64},
		"with two calls": {1<<20 - 1<<10, 2, 12},
	} {
		t.Run(name, func(t *testing.T) {
			c := discarded(wire.Limits{})
			received := 0
			c.derived = func(records []byte) { received += len(records) }
			for range b.calls {
				flight(t, c)
			}
			frame := wire.Frame{Type: wire.TypeDerived, Payload: make([]byte, b.size)}
			for i := range b.most {
				if err := c.take(frame); err != nil {
					t.Fatalf("frame %d: %v", i+1, err)
				}
			}
			if err := c.take(frame); !errors.Is(err, wire.ErrProtocol) || received != b.most*b.size {
				t.Errorf("frame %d: got %v after %d bytes, want a protocol violation", b.most+1, err, received)
			}
		})
	}
}

// A call that ends frees what it may send, and no more.
func TestEndedCallFreesItsShare(t *testing.T) {
	c := discarded(wire.Limits{LogSize: 1000})
	c.derived = func([]byte) {}
	for _, b := range []struct{ logged, records, leftLogged, leftRecords int }{
		{67536 + 5, 4<<20 + 64<<10 + 7, 5, 7},
		{5, 7, 0, 0},
	} {
		p := flight(t, c)
		c.logged, c.records = b.logged, b.records
		if err := c.take(wire.Frame{Type: wire.TypeResult, Call: p.number, Payload: bytes.Join(wire.EncodeResult(call.Result{}), nil)}); err != nil {
			t.Fatal(err)
		}
		if c.logged != b.leftLogged || c.records != b.leftRecords {
			t.Errorf("%d bytes of the log and %d of derived data are left, want %d and %d", c.logged, c.records, b.leftLogged, b.leftRecords)
		}
	}
}

func TestLinesOfWorkerAreLogged(t *testing.T) {
	log := &lines{}
	c := newConn(struct {
		io.Reader
		io.Writer
	}{strings.NewReader(""), io.Discard}, wire.Limits{}, hclog.New(&hclog.LoggerOptions{Output: log, Level: hclog.Trace}))
	for _, line := range []wire.Log{
		{Level: int8(hclog.Error), Text: "e1"}, {Level: int8(hclog.Trace), Text: "t1"}, {Level: int8(hclog.Error) + 1, Text: "above"}, {Level: int8(hclog.NoLevel), Text: "below"},
		{Level: int8(hclog.Warn), Text: "pairs", Args: []string{"a", "1", "lonely"}}, {Level: int8(hclog.Warn), Text: "hidden\u202e", Args: []string{"b", "x\x1b[2J"}},
	} {
		if err := c.take(wire.Frame{Type: wire.TypeLog, Payload: line.Encode()}); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []string{"[ERROR] e1", "[TRACE] t1", "[INFO]  above", "[INFO]  below", "[WARN]  pairs: a=1\n"} {
		if log.count(want) != 1 {
			t.Errorf("no line %q in %s", want, log.text.String())
		}
	}
	if log.count("\u202e")+log.count("\x1b")+log.count("lonely") > 0 {
		t.Errorf("the log has characters that mislead its reader: %q", log.text.String())
	}
}

func TestMalformedFramesOfCallAreViolations(t *testing.T) {
	for name, frame := range map[string]wire.Frame{
		"an operation": {Type: wire.TypeOperation}, "a result": {Type: wire.TypeResult, Payload: []byte{0}}, "a record": {Type: wire.TypeRecord, Payload: []byte{1}},
		"a line of the log": {Type: wire.TypeLog, Payload: []byte{1}}, "a return of credit": {Type: wire.TypeReturn, Payload: []byte{1}},
		"a loaded module": {Type: wire.TypeLoaded}, "a call": {Type: wire.TypeCall},
	} {
		c := discarded(wire.Limits{Operations: 3})
		frame.Call = flight(t, c).number
		if err := c.take(frame); !errors.Is(err, wire.ErrProtocol) {
			t.Errorf("%s: got %v, want a protocol violation", name, err)
		}
	}
}

// A call that may have had an effect must not be retried, whatever it does afterwards.
func TestOperationWithEffectIsRemembered(t *testing.T) {
	c := discarded(wire.Limits{Operations: 3})
	p := flight(t, c)
	for _, o := range []struct {
		op    string
		wrote bool
	}{{"git/user", false}, {"op", true}, {"git/user", true}} {
		if err := c.take(wire.Frame{Type: wire.TypeOperation, Call: p.number, Payload: append([]byte{byte(len(o.op))}, o.op...)}); err != nil {
			t.Fatal(err)
		}
		if p.inFlight.Wait(); p.wrote != o.wrote {
			t.Errorf("after %s the call has written: %t, want %t", o.op, p.wrote, o.wrote)
		}
	}
}

// A call whose worker can get no more memory continues without it. It does not have to end, as where others use the memory.
func TestRequestForCreditBeyondTheLimitIsRefused(t *testing.T) {
	reply, err := discarded(wire.Limits{}).grow(t.Context(), budget.Call{}, []byte("1"))
	if !errors.Is(err, budget.ErrLimit) || reply.Error == nil || reply.Error.Code != "refused" {
		t.Errorf("got %+v, %v", reply, err)
	}
	for _, params := range []string{"", "x", "0", "-1", "1.5", "9223372036854775808"} {
		if _, err := discarded(wire.Limits{}).grow(t.Context(), budget.Call{}, []byte(params)); !errors.Is(err, wire.ErrProtocol) {
			t.Errorf("a request for %q bytes: got %v, want a protocol violation", params, err)
		}
	}
}

func TestLackOfMemoryIsRecognized(t *testing.T) {
	for line, want := range map[string]bool{
		"fatal error: runtime: out of memory\n": true, "runtime: cannot allocate memory\n": true, "fatal error: all goroutines are asleep\n": false, "": false, "x\nout of memory": false,
	} {
		p := &process{stderr: &firstBytes{limit: 100}}
		if _, err := p.stderr.Write([]byte(line)); err != nil {
			t.Fatal(err)
		}
		if got := p.outOfMemory(); got != want {
			t.Errorf("%q: got %t", line, got)
		}
		reason := "killed"
		if p.killed.Store(&reason); p.outOfMemory() {
			t.Errorf("%q: a worker that the host killed had no memory", line)
		}
	}
}

func TestInputAtItsLimitIsSent(t *testing.T) {
	s := newSupervisor(t, func(c *Config) { c.Limits.Input = 100 })
	for size, want := range map[int]engine.Code{100: "", 101: engine.CodeInputSize} {
		if _, err := s.Call(t.Context(), withParams("echo", `{"a":"`+strings.Repeat("x", size-8)+`"}`)); codeOf(t, err) != want {
			t.Errorf("%d bytes: got %v, want the code %q", size, err, want)
		}
	}
}

// The timer of an idle worker may fire after the worker was retired.
func TestExpiryWithoutWorkerHasNoEffect(t *testing.T) {
	s := newSupervisor(t, nil)
	s.expire()
	wantEcho(t, s)
	s.Retire("the test")
	s.expire()
	wantEcho(t, s)
}

func TestInheritedFilesAreNumbered(t *testing.T) {
	l := &Launch{}
	if got := l.Inherit(nil); got != 0 || len(l.Files) > 0 {
		t.Errorf("no file has the descriptor %d, and %d files are inherited", got, len(l.Files))
	}
	for want := 4; want < 6; want++ {
		if got := l.Inherit(os.Stdin); got != want || len(l.Files) != want-3 {
			t.Errorf("the file has the descriptor %d, want %d", got, want)
		}
	}
}

func TestClosedSupervisorStartsNoWorker(t *testing.T) {
	var launches atomic.Int32
	s := newSupervisor(t, counting(&launches, func(int32, *Launch) {}))
	s.Close()
	if _, err := s.Call(t.Context(), method("echo")); codeOf(t, err) != engine.CodeInternal || !errors.Is(err, errClosed) || launches.Load() != 0 {
		t.Errorf("got %v after %d starts", err, launches.Load())
	}
}

// A start that no call waits for any more is ended: compiling a module takes long.
func TestStartEndsWithTheLastCallThatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ended error
		s := newSupervisor(t, func(c *Config) {
			c.Prepare = func(ctx context.Context) (*Launch, error) {
				<-ctx.Done()
				ended = ctx.Err()
				return nil, ended
			}
		})
		first, cancelFirst := context.WithCancel(t.Context())
		second, cancelSecond := context.WithCancel(t.Context())
		var calls sync.WaitGroup
		for _, ctx := range []context.Context{first, second} {
			calls.Go(func() {
				if _, err := s.Call(ctx, method("echo")); codeOf(t, err) != engine.CodeCanceled {
					t.Errorf("got %v", err)
				}
			})
		}
		synctest.Wait()
		if cancelFirst(); ended != nil {
			t.Error("the start has ended, although a call waits for it")
		}
		synctest.Wait()
		if ended != nil {
			t.Error("the start has ended, although a call waits for it")
		}
		cancelSecond()
		calls.Wait()
		if synctest.Wait(); ended == nil {
			t.Error("the start goes on, although no call waits for it")
		}
	})
}

func TestDefaultIdleTime(t *testing.T) {
	if got := New(Config{Pool: NewPool(1)}).config.Idle; got != 5*time.Minute {
		t.Errorf("an idle worker ends after %v, want five minutes", got)
	}
}

// A retry must not repeat an effect.
func TestChangesOfOperations(t *testing.T) {
	for params, want := range map[string]bool{
		`{}`: false, `{"method":"GET"}`: false, `{"method":"HEAD"}`: false, `{"method":"POST"}`: true, `{"method":"get"}`: true, `{"method":"DELETE"}`: true,
	} {
		if got := changes(wire.Operation{Op: "http/fetch", Params: []byte(params)}); got != want {
			t.Errorf("changes of %s: %t, want %t", params, got, want)
		}
	}
}
