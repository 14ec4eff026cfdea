//go:build unix

package worker

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/bulkhead-mcp/bulkhead/internal/runtime/audit"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/confine"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/engine"
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
		if err := c.take(wire.Frame{Type: wire.TypeResult, Call: p.number, Payload: make([]byte, 33)}); err != nil {
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
