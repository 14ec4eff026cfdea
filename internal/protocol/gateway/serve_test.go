package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
)

func TestServeHandlesFiniteInput(t *testing.T) {
	cases := map[string]struct {
		input string
		want  []string
	}{
		"an unterminated last line is handled": {pingLine("1") + "\n" + callLine("2", "echo"), []string{pinged("1"), echoed("2")}},
		"a truncated last line is a parse error": {`{"jsonrpc":"2.0","id":1,`,
			[]string{`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error: unexpected end of JSON input at byte 24"}}`}},
		"CRLF is accepted":            {pingLine("1") + "\r\n\r\n" + pingLine("2") + "\r\n", []string{pinged("1"), pinged("2")}},
		"empty input has no response": {"", nil},
	}
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			var out outBuffer
			if err := newGateway(t, Config{}, newFake()).Serve(t.Context(), strings.NewReader(test.input), &out); err != nil {
				t.Errorf("Serve: %v", err)
			}
			wantLines(t, out.lines(), test.want...)
		})
	}
}

// brokenPipe fails every write.
type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func TestWriteErrorCancelsCallsAndEndsServe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHeld()
		r, w := io.Pipe()
		defer w.Close()
		served := make(chan error)
		g := newGateway(t, Config{}, heldBackend(h))
		go func() { served <- g.Serve(t.Context(), r, brokenPipe{}) }()
		fmt.Fprintln(w, callLine("1", "held"))
		fmt.Fprintln(w, pingLine("2"))
		if err := <-served; !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("Serve: %v, want %v", err, io.ErrClosedPipe)
		}
		if err := <-h.ended; !errors.Is(err, context.Canceled) {
			t.Errorf("the call ended with %v, want context.Canceled", err)
		}
	})
}

func TestReadErrorEndsServeAfterPendingResponses(t *testing.T) {
	torn := errors.New("torn")
	in := io.MultiReader(strings.NewReader(callLine("1", "echo")+"\n"+`{"half`), errReader{torn})
	var out outBuffer
	err := newGateway(t, Config{}, newFake()).Serve(t.Context(), in, &out)
	if !errors.Is(err, torn) {
		t.Errorf("Serve: %v, want %v", err, torn)
	}
	wantLines(t, out.lines(), echoed("1"))
}

type errReader struct{ err error }

func (r errReader) Read([]byte) (int, error) { return 0, r.err }

func TestTooLongLineIsRefused(t *testing.T) {
	tooLong := func(id string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32600,"message":"Invalid request: a message is longer than 100000 bytes"}}`, id)
	}
	padding := strings.Repeat("x", 300_000)
	cases := map[string]struct{ line, want string }{
		"with the id first gets a response to the id": {`{"jsonrpc":"2.0","id":"a\u0062","method":"ping","params":{"x":"` + padding + `"}}`, tooLong(`"a\u0062"`)},
		"with the id last gets a response to null":    {`{"jsonrpc":"2.0","method":"ping","params":{"x":"` + padding + `"},"id":1}`, tooLong("null")},
		"with invalid JSON gets a response to null":   {padding, tooLong("null")},
		"with an invalid id gets a response to null":  {`{"id":[1],"x":"` + padding + `"}`, tooLong("null")},
	}
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			var out outBuffer
			g := newGateway(t, Config{MaxLine: 100_000}, newFake())
			fits := fmt.Sprintf("%-100000s", pingLine("2"))
			if err := g.Serve(t.Context(), strings.NewReader(test.line+"\n"+fits+"\n"+test.line), &out); err != nil {
				t.Errorf("Serve: %v", err)
			}
			wantLines(t, out.lines(), test.want, pinged("2"), test.want)
		})
	}
}

func TestErrorsTruncateStringsOfClients(t *testing.T) {
	long := strings.Repeat("ä", 100_000)
	for name, line := range map[string]string{
		"method":           fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q}`, long),
		"tool":             fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q}}`, long),
		"id":               fmt.Sprintf(`{"jsonrpc":"2.0","id":%q,"method":"ping"}`, long),
		"protocol version": fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":{"io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/protocolVersion":%q}}}`, "3"+long),
	} {
		t.Run(name, func(t *testing.T) {
			var out outBuffer
			if err := newGateway(t, Config{}, newFake()).Serve(t.Context(), strings.NewReader(line), &out); err != nil {
				t.Errorf("Serve: %v", err)
			}
			if got := out.lines(); len(got) != 1 || len(got[0]) > 1000 {
				t.Errorf("got %d lines, want one of at most 1000 bytes", len(got))
			}
		})
	}
}

func TestBatchesAreBounded(t *testing.T) {
	var out outBuffer
	line := "[" + strings.Repeat(pingLine("1")+",", maxBatch) + pingLine("1") + "]"
	if err := newGateway(t, Config{}, newFake()).Serve(t.Context(), strings.NewReader(line), &out); err != nil {
		t.Errorf("Serve: %v", err)
	}
	wantLines(t, out.lines(), `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid request: the batch has more than 256 messages"}}`)
}

func TestSessionsAreIndependent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHeld()
		g := newGateway(t, Config{Logging: true}, heldBackend(h))
		one, two := connect(t, g), connect(t, g)
		wantLines(t, one.say(callLine("1", "held")))
		wantLines(t, two.say(callLine("1", "held"), cancelLine("1")))
		if got := one.say(`{"jsonrpc":"2.0","id":2,"method":"logging/setLevel","params":{"level":"error"}}`); len(got) != 1 {
			t.Errorf("setLevel: %q", got)
		}
		note := `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"notify","arguments":[{"method":"notifications/message","params":{"level":"info","data":1}}]}}`
		wantLines(t, one.say(note), `{"jsonrpc":"2.0","id":3,"result":{"content":[{"type":"text","text":"sent"}]}}`)
		if got := two.say(note); len(got) != 2 {
			t.Errorf("the second session got %q, want a message and an answer", got)
		}
		close(h.release)
		synctest.Wait()
		wantLines(t, one.out.lines(), echoed("1"))
		wantLines(t, two.out.lines())
	})
}

// writes counts calls of Write whose data is not complete lines.
type writes struct {
	outBuffer
	partial int
}

func (w *writes) Write(p []byte) (int, error) {
	if len(p) == 0 || p[len(p)-1] != '\n' {
		w.partial++
	}
	return w.outBuffer.Write(p)
}

func TestWritesAreWholeLines(t *testing.T) {
	var input strings.Builder
	for i := range 200 {
		fmt.Fprintf(&input, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"notify","arguments":[{"method":"notifications/progress","params":{"progress":1}}],"_meta":{"progressToken":%d}}}`+"\n", i, i)
	}
	var out writes
	if err := newGateway(t, Config{}, newFake()).Serve(t.Context(), strings.NewReader(input.String()), &out); err != nil {
		t.Errorf("Serve: %v", err)
	}
	if n := strings.Count(out.b.String(), "\n"); n != 400 || out.partial != 0 {
		t.Errorf("%d lines, and %d writes of incomplete lines; want 400 and 0", n, out.partial)
	}
	progressed := map[string]bool{}
	for _, line := range out.lines() {
		var m struct {
			ID     json.Number
			Params struct{ ProgressToken json.Number }
		}
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatal(err)
		}
		if m.ID == "" {
			progressed[m.Params.ProgressToken.String()] = true
		} else if !progressed[m.ID.String()] {
			t.Errorf("the answer to %s came before its progress", m.ID)
		}
	}
}

func TestInvalidUTF8IsReplaced(t *testing.T) {
	var out outBuffer
	in := strings.NewReader("{\"jsonrpc\":\"2.0\",\"id\":\"\xff\",\"method\":\"tools/call\",\"params\":{\"name\":\"echo\",\"arguments\":\"\xc3\"}}")
	if err := newGateway(t, Config{}, newFake()).Serve(t.Context(), in, &out); err != nil {
		t.Errorf("Serve: %v", err)
	}
	wantLines(t, out.lines(), `{"jsonrpc":"2.0","id":"`+"\uFFFD"+`","result":{"content":[{"type":"text","text":"\"`+"\uFFFD"+`\""}]}}`)
}

func TestNestingIsBounded(t *testing.T) {
	nested := func(levels int) string { // has two levels around the arrays
		return `{"jsonrpc":"2.0","method":"ping","params":{"x":` + strings.Repeat("[", levels-2) + strings.Repeat("]", levels-2) + `},"id":1}`
	}
	tooDeep := `{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"Invalid request: it is nested more than 120 deep"}}`
	for levels, want := range map[int]string{
		120: pinged("1"), 121: tooDeep, 5_000: tooDeep,
		20_000: `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error: invalid character '[' exceeded max depth at byte 10046"}}`,
	} {
		var out outBuffer
		if err := newGateway(t, Config{}, newFake()).Serve(t.Context(), strings.NewReader(nested(levels)+"\n"+pingLine("2")), &out); err != nil {
			t.Errorf("Serve: %v", err)
		}
		wantLines(t, out.lines(), want, pinged("2"))
	}
}
