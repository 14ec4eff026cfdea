package wire

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/call"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/audit"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

func any1MiB(Type) int { return 1 << 20 }

func TestFramesComeAsTheyWereSent(t *testing.T) {
	sizes := []int{0, 1, joined, joined + 1, 3 * readBuffer, 300 << 10}
	for name, wrap := range map[string]func(io.Reader) io.Reader{
		"at once": func(r io.Reader) io.Reader { return r }, "byte by byte": iotest.OneByteReader, "in halves": iotest.HalfReader,
	} {
		t.Run(name, func(t *testing.T) {
			var stream bytes.Buffer
			w := NewWriter(&stream)
			var want []Frame
			for i, size := range sizes {
				payload := bytes.Repeat([]byte{byte(i)}, size)
				want = append(want, Frame{TypeCall, uint32(i), payload})
				cut := size / 3
				if err := w.Write(TypeCall, uint32(i), payload[:cut], payload[cut:]); err != nil {
					t.Fatal(err)
				}
			}
			r := NewReader(wrap(&stream), any1MiB)
			for _, f := range want {
				got, err := r.Next()
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(f, got); diff != "" {
					t.Error(diff[:min(len(diff), 200)])
				}
			}
			if _, err := r.Next(); err != io.EOF {
				t.Errorf("Next at the end of the stream: got %v, want io.EOF", err)
			}
		})
	}
}

func TestDelayedFramesLeaveWithTheNextOne(t *testing.T) {
	var stream bytes.Buffer
	w := NewWriter(&stream)
	if err := w.Delay(TypeRecord, 1, []byte("a")); err != nil || stream.Len() > 0 {
		t.Fatalf("Delay: got %v; %d bytes were written, want none", err, stream.Len())
	}
	if err := w.Write(TypeResult, 1, []byte("b")); err != nil {
		t.Fatal(err)
	}
	r := NewReader(&stream, any1MiB)
	for _, want := range []Type{TypeRecord, TypeResult} {
		if f, err := r.Next(); err != nil || f.Type != want {
			t.Errorf("got %+v, %v", f, err)
		}
	}
}

func TestReaderRefuses(t *testing.T) {
	limit := func(t Type) int {
		if t == TypeLog {
			return 4
		}
		return -1
	}
	for name, stream := range map[string][]byte{
		"a type that may not come": {0, 0, 0, 0, 0, 0, 0, 0, byte(TypeCall)},
		"a payload over the limit": {5, 0, 0, 0, 0, 0, 0, 0, byte(TypeLog), 1, 2, 3, 4, 5},
		"the largest length":       {255, 255, 255, 255, 0, 0, 0, 0, byte(TypeLog)},
	} {
		if _, err := NewReader(bytes.NewReader(stream), limit).Next(); !errors.Is(err, ErrProtocol) {
			t.Errorf("%s: Next returned %v, want a protocol violation", name, err)
		}
	}
	for name, stream := range map[string][]byte{"half a header": {1, 0, 0}, "half a payload": {4, 0, 0, 0, 0, 0, 0, 0, byte(TypeLog), 1}} {
		if _, err := NewReader(bytes.NewReader(stream), limit).Next(); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%s: Next returned %v, want io.ErrUnexpectedEOF", name, err)
		}
	}
}

// After an error a frame may have been written in part, so that nothing can follow it.
func TestWriterKeepsFailing(t *testing.T) {
	broken := errors.New("broken")
	large := make([]byte, 33<<10)
	for name, first := range map[string]func(*Writer) error{
		"Write":            func(w *Writer) error { return w.Write(TypeLog, 0, []byte("x")) },
		"a large Write":    func(w *Writer) error { return w.Write(TypeLog, 0, large) },
		"Gather":           func(w *Writer) error { return w.Gather(TypeLog, 0, []byte("x")) },
		"Flush of a Delay": func(w *Writer) error { return errors.Join(w.Delay(TypeLog, 0, []byte("x")), w.Flush()) },
		"a large Delay":    func(w *Writer) error { return w.Delay(TypeLog, 0, large) },
		"a large Gather":   func(w *Writer) error { return w.Gather(TypeLog, 0, large) },
	} {
		t.Run(name, func(t *testing.T) {
			out := &failing{errs: []error{broken}}
			w := NewWriter(out)
			if err := first(w); !errors.Is(err, broken) {
				t.Errorf("got %v", err)
			}
			for name, next := range map[string]error{
				"Write": w.Write(TypeLog, 0, []byte("x")), "Delay": w.Delay(TypeLog, 0, []byte("x")), "Gather": w.Gather(TypeLog, 0, []byte("x")), "Flush": w.Flush(),
			} {
				if !errors.Is(next, broken) {
					t.Errorf("%s after it: got %v", name, next)
				}
			}
			if out.writes != 1 {
				t.Errorf("%d writes, want the one that failed", out.writes)
			}
		})
	}
}

func TestFlushWithoutDelayedFramesWritesNothing(t *testing.T) {
	out := &failing{}
	if err := NewWriter(out).Flush(); err != nil || out.writes > 0 {
		t.Errorf("got %v and %d writes", err, out.writes)
	}
}

func TestErrorOfStreamIsReturned(t *testing.T) {
	broken := errors.New("broken")
	for _, data := range [][]byte{nil, {4, 0}, {4, 0, 0, 0, 0, 0, 0, 0, byte(TypeLog), 1}} {
		r := NewReader(io.MultiReader(bytes.NewReader(data), iotest.ErrReader(broken)), any1MiB)
		if _, err := r.Next(); !errors.Is(err, broken) {
			t.Errorf("after %v: got %v, want %v", data, err, broken)
		}
	}
}

// failing is a stream whose writes fail with errs, one after the other, and then succeed.
type failing struct {
	errs   []error
	writes int
}

func (f *failing) Write(p []byte) (int, error) {
	if f.writes++; f.writes <= len(f.errs) {
		return 0, f.errs[f.writes-1]
	}
	return len(p), nil
}

// FuzzReader checks for any data that frames are within their limits, that memory is proportional to the received bytes and
// not to the announced length, and that decoded payloads round-trip.
func FuzzReader(f *testing.F) {
	var stream bytes.Buffer
	w := NewWriter(&stream)
	for t, parts := range map[Type][][]byte{
		TypeCall:      EncodeRequest(&call.Request{Method: "tools/call", Output: 3, Recorded: true, Params: []byte(`{}`), Members: []byte(`{"client":{}}`)}),
		TypeResult:    EncodeResult(call.Result{Kind: call.ToolError, Fuel: 7, LeftOut: 1, StartFuel: 9, Memory: 65536, Uses: call.Uses{1, 2, 3, 1 << 63}, Body: []byte(`{}`)}),
		TypeOperation: Operation{Op: "lock", Params: []byte(`{}`)}.Encode(),
		TypeReply:     Reply{Error: &abi.HostError{Code: "denied", Message: "no"}}.Encode(),
		TypeLog:       {Log{Level: 3, Text: "t", Args: []string{"a", "b"}}.Encode()},
		TypeRecord:    {EncodeRecord(audit.Operation{Op: "o", Target: "t", Outcome: audit.OK, Count: 2})},
	} {
		if err := w.Write(t, 1, parts...); err != nil {
			f.Fatal(err)
		}
	}
	f.Add(stream.Bytes())
	f.Add([]byte{255, 255, 15, 0, 0, 0, 0, 0, byte(TypeResult), 1})
	f.Fuzz(func(t *testing.T, data []byte) {
		r := NewReader(bytes.NewReader(data), any1MiB)
		for {
			frame, err := r.Next()
			if err != nil {
				return
			}
			if len(frame.Payload) > len(data) || cap(frame.Payload) > 4*len(data)+64<<10 {
				t.Fatalf("got a payload of %d bytes with the capacity %d from a stream of %d bytes", len(frame.Payload), cap(frame.Payload), len(data))
			}
			again(t, frame.Payload)
		}
	})
}

// again decodes a payload as each type of message, and checks that the result round-trips.
func again(t *testing.T, payload []byte) {
	t.Helper()
	if c, err := DecodeRequest(payload); err == nil {
		if back, err := DecodeRequest(bytes.Join(EncodeRequest(&c), nil)); err != nil || !cmp.Equal(c, back) {
			t.Errorf("the call %+v does not round-trip: got %+v, %v", c, back, err)
		}
	}
	if r, err := DecodeResult(payload); err == nil {
		if back, err := DecodeResult(bytes.Join(EncodeResult(r), nil)); err != nil || !reflect.DeepEqual(r, back) {
			t.Errorf("the result %+v does not round-trip: got %+v, %v", r, back, err)
		}
	}
	if a, err := DecodeOperation(payload); err == nil {
		if back, err := DecodeOperation(bytes.Join(a.Encode(), nil)); err != nil || !cmp.Equal(a, back) {
			t.Errorf("the operation %+v does not round-trip: got %+v, %v", a, back, err)
		}
	}
	_, _ = DecodeReply(payload)
	_, _ = DecodeLog(payload)
	known := []audit.Outcome{audit.OK, audit.Denied, audit.Failed}
	if o, err := DecodeRecord(payload); err == nil && (o.Count < 1 || !slices.Contains(known, o.Outcome)) {
		t.Errorf("a record is decoded as %+v", o)
	}
}

func TestLargeFrameIsNotDelayed(t *testing.T) {
	var stream bytes.Buffer
	w := NewWriter(&stream)
	for _, size := range []int{1, joined + 1} {
		if err := w.Delay(TypeResult, 1, make([]byte, size)); err != nil {
			t.Fatal(err)
		}
	}
	r := NewReader(&stream, any1MiB)
	for _, size := range []int{1, joined + 1} {
		if f, err := r.Next(); err != nil || len(f.Payload) != size {
			t.Errorf("got a payload of %d bytes, %v; want %d", len(f.Payload), err, size)
		}
	}
}

func TestFlushSendsDelayedFrames(t *testing.T) {
	var stream bytes.Buffer
	w := NewWriter(&stream)
	if err := w.Delay(TypeResult, 1, []byte("a")); err != nil {
		t.Fatal(err)
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	if f, err := NewReader(&stream, any1MiB).Next(); err != nil || f.Type != TypeResult {
		t.Errorf("got %+v, %v", f, err)
	}
}

func TestGatheredFramesLeaveInOneWrite(t *testing.T) {
	var out writeLog
	w := NewWriter(&out)
	w.gathers = true // simulate that another goroutine is about to send
	for call := range uint32(2) {
		if err := w.Gather(TypeCall, call, []byte("a")); err != nil || len(out) > 0 {
			t.Fatalf("Gather, while another goroutine is about to send: got %v and %d writes, want none", err, len(out))
		}
	}
	w.gathers = false
	if err := w.Gather(TypeCall, 2, []byte("a")); err != nil || len(out) != 1 || len(out[0]) != 3*(headerSize+1) {
		t.Errorf("Gather: got %v and the writes %q, want one write of three frames", err, out)
	}
}

// writeLog records the data of each Write.
type writeLog [][]byte

func (w *writeLog) Write(p []byte) (int, error) {
	*w = append(*w, bytes.Clone(p))
	return len(p), nil
}

func TestBufferedMeansWholeFrame(t *testing.T) {
	var stream bytes.Buffer
	w := NewWriter(&stream)
	for range 2 {
		if err := w.Write(TypeCall, 1, []byte("abc")); err != nil {
			t.Fatal(err)
		}
	}
	whole := stream.Bytes()
	for missing, want := range map[int]bool{0: true, 1: false, 3: false, 4: false, headerSize + 3: false} {
		r := NewReader(bytes.NewReader(whole[:len(whole)-missing]), any1MiB)
		if _, err := r.Next(); err != nil {
			t.Fatal(err)
		}
		if r.Buffered() != want {
			t.Errorf("Buffered, with %d bytes of a frame missing: got %t, want %t", missing, !want, want)
		}
	}
}

// An announced length is attacker-controlled: memory follows the bytes that arrive.
func TestAnnouncedLengthAllocatesLittle(t *testing.T) {
	for _, received := range []int{0, 1, 60 << 10} {
		stream := append([]byte{0, 0, 0, 64, 0, 0, 0, 0, byte(TypeResult)}, make([]byte, received)...) // announces 1 GiB
		r := NewReader(bytes.NewReader(stream), func(Type) int { return 1 << 30 })
		var err error
		allocated := testenv.AllocatedBy(func() { _, err = r.Next() })
		if !errors.Is(err, io.ErrUnexpectedEOF) || allocated > 128<<10 {
			t.Errorf("after %d bytes of an announced GiB: %d bytes were allocated, %v", received, allocated, err)
		}
	}
}

func TestPayloadAtLimitIsAccepted(t *testing.T) {
	stream := []byte{4, 0, 0, 0, 0, 0, 0, 0, byte(TypeLog), 1, 2, 3, 4, 0, 0, 0, 0, 0, 0, 0, 0, byte(TypeCancel)}
	r := NewReader(bytes.NewReader(stream), func(t Type) int {
		if t == TypeCancel {
			return 0
		}
		return 4
	})
	for _, want := range []int{4, 0} {
		if f, err := r.Next(); err != nil || len(f.Payload) != want {
			t.Errorf("a payload of %d bytes, which is the limit: got %v, %v", want, f.Payload, err)
		}
	}
}

// A payload of up to 32 KiB is copied, so that it leaves in one write with its header. More than 32 KiB of delayed frames do not wait.
func TestSmallFramesAreJoined(t *testing.T) {
	for size, want := range map[int]int{0: 1, 32 << 10: 1, 32<<10 + 1: 2} {
		var out writeLog
		if err := NewWriter(&out).Write(TypeResult, 1, make([]byte, size)); err != nil || len(out) != want {
			t.Errorf("a payload of %d bytes: got %v and %d writes, want %d", size, err, len(out), want)
		}
	}
	for name, send := range map[string]func(*Writer) func(Type, uint32, ...[]byte) error{
		"Delay":  func(w *Writer) func(Type, uint32, ...[]byte) error { return w.Delay },
		"Gather": func(w *Writer) func(Type, uint32, ...[]byte) error { w.gathers = true; return w.Gather },
	} {
		for first, wants := range map[int][3]int{
			32<<10 - headerSize: {0, 0, 1}, // 32 KiB are pending, so the next frame waits, and the third does not
			32 << 10:            {0, 1, 1},
			32<<10 + 1:          {2, 2, 2},
		} {
			var out writeLog
			write := send(NewWriter(&out))
			for i, size := range []int{first, 1, 1} {
				if err := write(TypeResult, 1, make([]byte, size)); err != nil || len(out) != wants[i] {
					t.Errorf("%s of a first payload of %d bytes: frame %d: got %v and %d writes, want %d", name, first, i, err, len(out), wants[i])
				}
			}
		}
	}
}

func TestMalformedPayloadsAreProtocolViolations(t *testing.T) {
	request := func(method string, members uint32, rest string) []byte {
		return append(append([]byte{0, byte(len(method)), 0, 0, byte(members), 0, 0, 0, 0, 0, 0, 0}, method...), rest...)
	}
	result := func(kind call.Kind, length int) []byte { return append([]byte{byte(kind)}, make([]byte, length-1)...) }
	for name, c := range map[string]struct {
		decode  func([]byte) error
		valid   [][]byte
		refused [][]byte
	}{
		"a call": {func(b []byte) error { _, err := DecodeRequest(b); return err },
			[][]byte{request("", 0, ""), request("ab", 0, ""), request("ab", 3, "xyz"), request("ab", 3, "xyz{}")},
			[][]byte{nil, make([]byte, requestHead-1), {0, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 'a', 'b'}, request("ab", 4, "xyz"), {0, 0, 0, 0, 255, 255, 255, 255, 0, 0, 0, 0, 'x'}}},
		"a result": {func(b []byte) error { _, err := DecodeResult(b); return err },
			[][]byte{result(call.OK, resultHead), result(call.Asks, resultHead), result(call.OK, resultHead+1)},
			[][]byte{nil, result(call.OK, resultHead-1), result(call.Asks+1, resultHead), result(255, resultHead)}},
		"an operation": {func(b []byte) error { _, err := DecodeOperation(b); return err },
			[][]byte{{0}, {2, 'a', 'b'}, {2, 'a', 'b', '{', '}'}}, [][]byte{nil, {1}, {3, 'a', 'b'}}},
		"a reply": {func(b []byte) error { _, err := DecodeReply(b); return err },
			[][]byte{{0}, {0, 'x'}, []byte("\x01{}")}, [][]byte{nil, {1}, []byte("\x01null"), []byte("\x01{"), []byte("\x01[]")}},
		"a log line": {func(b []byte) error { _, err := DecodeLog(b); return err },
			[][]byte{[]byte("{}")}, [][]byte{nil, []byte("{"), []byte("[]"), []byte(`{"l":128}`)}},
		"a record": {func(b []byte) error { _, err := DecodeRecord(b); return err },
			[][]byte{[]byte("{}")}, [][]byte{nil, []byte("{"), []byte("[]"), []byte(`{"count":"1"}`)}},
	} {
		for _, payload := range c.valid {
			if err := c.decode(payload); err != nil {
				t.Errorf("%s %q: %v", name, payload, err)
			}
		}
		for _, payload := range c.refused {
			if err := c.decode(payload); !errors.Is(err, ErrProtocol) {
				t.Errorf("%s %q: got %v, want a protocol violation", name, payload, err)
			}
		}
	}
}

// The audit log has the outcome that the worker reports; whatever the host does not know counts as a failure.
func TestOutcomeOfRecordIsKept(t *testing.T) {
	for sent, want := range map[audit.Outcome]audit.Outcome{audit.OK: audit.OK, audit.Denied: audit.Denied, audit.Failed: audit.Failed, "": audit.Failed, "other": audit.Failed} {
		if got, err := DecodeRecord(EncodeRecord(audit.Operation{Op: "o", Outcome: sent, Count: 2})); err != nil || got.Outcome != want || got.Op != "o" || got.Count != 2 {
			t.Errorf("the outcome %q: got %+v, %v; want %q", sent, got, err, want)
		}
	}
}

func TestWorkerDoesNotChooseCodeOfDeniedOperation(t *testing.T) {
	for _, sent := range []string{"", abi.HostDenied, "not_granted", strings.Repeat("x", 8000)} {
		if got, err := DecodeRecord(EncodeRecord(audit.Operation{Op: "o", Outcome: audit.Denied, Code: sent})); err != nil || got.Code != abi.HostDenied {
			t.Errorf("the code %.20q: got %+v, %v", sent, got, err)
		}
	}
}

func TestReplyHasResultOrError(t *testing.T) {
	denied := &abi.HostError{Code: abi.HostDenied, Message: "no"}
	for name, c := range map[string]struct {
		err  error
		want Reply
	}{
		"a result":             {nil, Reply{Result: []byte("r")}},
		"an error of the host": {fmt.Errorf("wrapped: %w", denied), Reply{Error: denied}},
		"another error":        {errors.New("broken"), Reply{Error: &abi.HostError{Code: abi.HostFailed, Message: "broken"}}},
	} {
		if diff := cmp.Diff(c.want, ReplyOf([]byte("r"), c.err)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// The numbers of a result come from a worker, which may have been taken over.
func TestNegativeNumbersOfResultAreZero(t *testing.T) {
	head := append([]byte{byte(call.OK)}, bytes.Repeat([]byte{255}, 32)...)
	r, err := DecodeResult(append(head, make([]byte, resultHead-len(head))...))
	if want := (call.Result{Kind: call.OK, Body: []byte{}}); err != nil || !reflect.DeepEqual(r, want) {
		t.Errorf("got %+v, %v; want %+v", r, err, want)
	}
}

func TestPayloadsRoundTrip(t *testing.T) {
	for _, payload := range [][]byte{
		bytes.Join(EncodeRequest(&call.Request{Method: "tools/call", Output: 3, Recorded: true, Params: []byte(`{}`), Members: []byte(`{"a":1}`)}), nil),
		bytes.Join(EncodeResult(call.Result{Kind: call.Asks, Fuel: 7, LeftOut: 1, StartFuel: 9, Memory: 65536, Uses: call.Uses{1, 2, 3, 1 << 63}, Body: []byte(`{}`)}), nil),
		bytes.Join(Operation{Op: "lock", Params: []byte(`{}`)}.Encode(), nil),
	} {
		again(t, payload)
	}
	request := call.Request{Method: "tools/call", Output: 65535, Time: 24 * time.Hour, Recorded: true, ReadsOnly: true, Params: []byte(`{}`), Members: []byte(`{"a":1}`)}
	if got, err := DecodeRequest(bytes.Join(EncodeRequest(&request), nil)); err != nil || !cmp.Equal(got, request) {
		t.Errorf("got the call %+v, %v", got, err)
	}
	for _, reply := range []Reply{{Result: []byte("x")}, {Error: &abi.HostError{Code: "denied", Message: "no"}}} {
		if got, err := DecodeReply(bytes.Join(reply.Encode(), nil)); err != nil || !reflect.DeepEqual(got, reply) {
			t.Errorf("got the reply %+v, %v; want %+v", got, err, reply)
		}
	}
}

func TestBufferedFrameWithoutPayload(t *testing.T) {
	var stream bytes.Buffer
	w := NewWriter(&stream)
	for range 2 {
		if err := w.Write(TypeCancel, 1); err != nil {
			t.Fatal(err)
		}
	}
	r := NewReader(&stream, any1MiB)
	for _, want := range []bool{true, false} {
		if _, err := r.Next(); err != nil || r.Buffered() != want {
			t.Errorf("got %v, and a buffered frame: %t, want %t", err, !want, want)
		}
	}
}
