package child

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/protocol/call"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/engine"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/worker/wire"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// sent decodes the frames that were written to a buffer, and empties it.
func sent(t *testing.T, b *bytes.Buffer) (frames []wire.Frame) {
	t.Helper()
	in := wire.NewReader(b, func(wire.Type) int { return 1 << 20 })
	for {
		f, err := in.Next()
		if errors.Is(err, io.EOF) {
			return frames
		}
		if err != nil {
			t.Fatal(err)
		}
		frames = append(frames, f)
	}
}

// replies returns a Reader of the frames that answer requests for credit of a worker that loads its module.
func replies(t *testing.T, all ...wire.Reply) *wire.Reader {
	t.Helper()
	var b bytes.Buffer
	w := wire.NewWriter(&b)
	for _, r := range all {
		if err := w.Write(wire.TypeReply, 0, r.Encode()...); err != nil {
			t.Fatal(err)
		}
	}
	return wire.NewReader(&b, limit)
}

func TestCreditIsRequestedOnlyForWhatIsMissing(t *testing.T) {
	var out bytes.Buffer
	c := &credit{in: replies(t, wire.Reply{Result: []byte("100")}), out: wire.NewWriter(&out), granted: 50}
	for _, n := range []int64{30, 20, -10, 10} {
		if n < 0 {
			c.Give(-n)
		} else if err := c.Take(t.Context(), n); err != nil {
			t.Fatal(err)
		}
	}
	if frames := sent(t, &out); len(frames) > 0 {
		t.Errorf("the worker sent %v, although it had the credit", frames)
	}
	c.Give(5)
	if err := c.Take(t.Context(), 75); err != nil {
		t.Fatal(err)
	}
	frames := sent(t, &out)
	if len(frames) != 1 {
		t.Fatalf("got %v, want one request", frames)
	}
	operation, err := wire.DecodeOperation(frames[0].Payload)
	if err != nil || operation.Op != wire.OpMemory || string(operation.Params) != "70" {
		t.Errorf("got %s %s, %v; want a request for 70 bytes", operation.Op, operation.Params, err)
	}
	if c.granted != 150 || c.used != 120 {
		t.Errorf("%d of %d bytes are in use, want 120 of 150", c.used, c.granted)
	}
}

func TestRefusedCreditIsNotInUse(t *testing.T) {
	var out bytes.Buffer
	c := &credit{out: wire.NewWriter(&out), granted: 50, in: replies(t,
		wire.Reply{Error: &abi.HostError{Code: wire.CreditRefused}}, wire.Reply{Error: &abi.HostError{Code: wire.CreditBusy}}, wire.Reply{Result: []byte("9")})}
	if err := c.Take(t.Context(), 60); !errors.Is(err, engine.ErrRefused) {
		t.Errorf("got %v for a refusal", err)
	}
	if err := c.Take(t.Context(), 60); err == nil || errors.Is(err, engine.ErrRefused) {
		t.Errorf("got %v for an end of the call", err)
	}
	if err := c.Take(t.Context(), 60); !errors.Is(err, wire.ErrProtocol) {
		t.Errorf("got %v for too little credit", err)
	}
	c.loaded()
	if err := c.Take(t.Context(), 60); !errors.Is(err, engine.ErrRefused) {
		t.Errorf("got %v without a call", err)
	}
	if c.granted != 50 || c.used != 0 {
		t.Errorf("%d of %d bytes are in use, want none of 50", c.used, c.granted)
	}
}

func TestUnusedCreditIsReturnedWhileMemoryIsShort(t *testing.T) {
	var out bytes.Buffer
	c := &credit{out: wire.NewWriter(&out), granted: 10 << 20}
	returned := func() (all []uint64) {
		for _, f := range sent(t, &out) {
			if f.Type != wire.TypeReturn || f.Call != 0 {
				t.Errorf("got %v", f)
			}
			all = append(all, binary.LittleEndian.Uint64(f.Payload))
		}
		return all
	}
	want := func(what string, bytes ...uint64) {
		t.Helper()
		if got := returned(); len(got) != len(bytes) || len(got) > 0 && got[0] != bytes[0] {
			t.Errorf("%s: %d bytes were returned, want %d", what, got, bytes)
		}
	}
	if err := c.Take(t.Context(), 8<<20); err != nil {
		t.Fatal(err)
	}
	c.Give(1 << 20)
	want("while there is enough memory")
	if err := c.setShort([]byte{1}, 1); err != nil || !c.isShort() {
		t.Fatal(err)
	}
	want("when memory becomes short", 3<<20)
	c.Give(leastReturn - 1)
	want("for little credit")
	c.Give(1)
	want("for more of it", leastReturn)
	if err := c.setShort([]byte{1}, 1); err != nil {
		t.Fatal(err)
	}
	want("for another question", 0)
	if err := c.setShort([]byte{1}, 0); err != nil {
		t.Fatal(err)
	}
	want("for another question without calls")
	c.granted++
	if err := c.setShort([]byte{1}, 0); err != nil {
		t.Fatal(err)
	}
	want("for another question without calls, with unused credit", 1)
	if err := c.setShort([]byte{0}, 1); err != nil || c.isShort() {
		t.Fatal(err)
	}
	c.Give(6 << 20)
	want("when memory is not short any more")
	if c.used != 0 || c.granted != 6<<20 {
		t.Errorf("%d of %d bytes are in use, want none of 6 MiB", c.used, c.granted)
	}
	if err := c.setShort(nil, 1); !errors.Is(err, wire.ErrProtocol) {
		t.Errorf("got %v for an empty frame", err)
	}
}

func TestLargeMessagesAreCovered(t *testing.T) {
	c := &credit{granted: 1 << 30, out: wire.NewWriter(io.Discard)}
	values := bytes.Repeat([]byte("[],"), 1<<20)
	for what, test := range map[string]struct {
		take func() (func(), error)
		want int64
	}{
		"a small request":             {func() (func(), error) { return c.cover(context.Background(), 64<<10) }, 0},
		"a large request":             {func() (func(), error) { return c.cover(context.Background(), 1<<20) }, 4 << 20},
		"a response without a schema": {func() (func(), error) { return c.coverValues(context.Background(), &call.Request{}, values) }, 0},
		"a response with many values": {func() (func(), error) { return c.coverValues(context.Background(), &call.Request{Output: 1}, values) }, 3<<20 + (2<<20+1)*128},
		"a response with a few values": {func() (func(), error) {
			return c.coverValues(context.Background(), &call.Request{Output: 1}, make([]byte, 1<<20))
		}, 1<<20 + 128},
		"a small response": {func() (func(), error) {
			return c.coverValues(context.Background(), &call.Request{Output: 1}, make([]byte, 64<<10))
		}, 0},
	} {
		uncover, err := test.take()
		if err != nil || c.used != test.want {
			t.Errorf("%s takes %d bytes, want %d (%v)", what, c.used, test.want, err)
		}
		if uncover(); c.used != 0 {
			t.Errorf("%s leaves %d bytes in use", what, c.used)
		}
	}
}

// A request or a response that the process has no credit for is refused, before its memory is used.
func TestMessagesWithoutCreditAreRefused(t *testing.T) {
	c := &credit{out: wire.NewWriter(io.Discard)}
	if _, err := c.cover(t.Context(), 1<<20); !errors.Is(err, engine.ErrRefused) {
		t.Errorf("a request: got %v", err)
	}
	if _, err := c.coverValues(t.Context(), &call.Request{Output: 1}, make([]byte, 1<<20)); !errors.Is(err, engine.ErrRefused) {
		t.Errorf("a response: got %v", err)
	}
}

func TestCreditMayBeWhatIsNeeded(t *testing.T) {
	c := &credit{in: replies(t, wire.Reply{Result: []byte("70")}, wire.Reply{Result: []byte("many")}), out: wire.NewWriter(io.Discard)}
	if err := c.Take(t.Context(), 70); err != nil || c.used != 70 || c.granted != 70 {
		t.Errorf("%d of %d bytes are in use, want 70 of 70 (%v)", c.used, c.granted, err)
	}
	if err := c.Take(t.Context(), 1); err == nil {
		t.Error("a malformed reply grants credit")
	}
}

// While the module is loaded, the worker knows by these errors that the host has ended, or that it violates the protocol.
func TestErrorsOfConnectionEndRequestForCredit(t *testing.T) {
	var call bytes.Buffer
	if err := wire.NewWriter(&call).Write(wire.TypeCall, 0); err != nil {
		t.Fatal(err)
	}
	broken := errors.New("broken")
	for name, c := range map[string]struct {
		in   *wire.Reader
		out  io.Writer
		want error
	}{
		"no reply":        {replies(t), io.Discard, io.EOF},
		"another frame":   {wire.NewReader(&call, limit), io.Discard, wire.ErrProtocol},
		"an empty reply":  {wire.NewReader(bytes.NewReader([]byte{0, 0, 0, 0, 0, 0, 0, 0, byte(wire.TypeReply)}), limit), io.Discard, wire.ErrProtocol},
		"a broken stream": {replies(t, wire.Reply{Result: []byte("9")}), writerFunc(func([]byte) (int, error) { return 0, broken }), broken},
	} {
		if err := (&credit{in: c.in, out: wire.NewWriter(c.out)}).Take(t.Context(), 9); !errors.Is(err, c.want) {
			t.Errorf("%s: got %v, want %v", name, err, c.want)
		}
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(data []byte) (int, error) { return f(data) }

// A derivation that another call waits for must not wait for memory.
func TestRequestForCreditTellsWhetherItMayWait(t *testing.T) {
	h := served(t, func(ctx context.Context, r engine.Prepared) (engine.Held, error) {
		if r.Method == "at once" {
			ctx = engine.AtOnce(ctx)
		}
		return engine.Held{}, runningOf(ctx).server.credit.Take(ctx, 1<<41)
	})
	for number, want := range []string{wire.OpMemory, wire.OpMemoryNow} {
		h.call(uint32(number), []string{"waiting", "at once"}[number])
		o, err := wire.DecodeOperation(h.want(wire.TypeOperation, uint32(number)).Payload)
		if err != nil || o.Op != want {
			t.Errorf("got the operation %s, %v; want %s", o.Op, err, want)
		}
		h.send(wire.TypeReply, uint32(number), wire.Reply{Error: &abi.HostError{Code: wire.CreditBusy}}.Encode()...)
		h.want(wire.TypeResult, uint32(number))
	}
}

func TestCreditOnceIsTakenOnce(t *testing.T) {
	var once creditOnce
	c := &credit{out: wire.NewWriter(io.Discard), granted: 50}
	for range 2 {
		if err := once.take(t.Context(), c, 50); err != nil || c.used != 50 {
			t.Errorf("%d bytes are in use, want 50 (%v)", c.used, err)
		}
	}
	var refused creditOnce
	if err := refused.take(t.Context(), c, 1); !errors.Is(err, engine.ErrRefused) || c.used != 50 || refused.taken.Load() {
		t.Errorf("refused: %d bytes are in use, want 50 (%v)", c.used, err)
	}
	var raced creditOnce
	faster := writerFunc(func(data []byte) (int, error) {
		raced.taken.Store(true) // simulates another call that takes the credit while this one waits
		return len(data), nil
	})
	c = &credit{in: replies(t, wire.Reply{Result: []byte("30")}), out: wire.NewWriter(faster)}
	if err := raced.take(t.Context(), c, 30); err != nil || c.used != 0 {
		t.Errorf("after another call was faster: %d bytes are in use, want none (%v)", c.used, err)
	}
}
