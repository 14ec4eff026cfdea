package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/bulkhead-mcp/bulkhead/internal/protocol/call"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// heapInUse returns the size of reachable objects, in bytes.
func heapInUse() int64 {
	runtime.GC()
	runtime.GC() // frees objects whose finalizers ran after the first collection
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// TestBatchResponsesAreBounded checks that 16 results of 8 MiB are never in memory together. The gateway replaces results
// beyond the limit by errors.
func TestBatchResponsesAreBounded(t *testing.T) {
	const calls, size = 16, 8 << 20
	before := heapInUse()
	var peak atomic.Int64
	one := make(chan struct{}, 1) // serializes calls, so that only responses accumulate
	b := newFake()
	b.tools["big"] = func(context.Context, json.RawMessage, Notifier) (json.RawMessage, error) {
		one <- struct{}{}
		defer func() { <-one }()
		peak.Store(max(peak.Load(), heapInUse()-before))
		return textResult(strings.Repeat("x", size)), nil
	}
	var lines []string
	for id := range calls {
		lines = append(lines, callLine(fmt.Sprint(id), "big"))
	}
	out := &responseCounter{}
	if err := newGateway(t, Config{Checked: true}, b).Serve(t.Context(), strings.NewReader("["+strings.Join(lines, ",")+"]"), out); err != nil {
		t.Fatal(err)
	}
	if out.results != 1 || out.errors != calls-1 {
		t.Errorf("%d results and %d errors, want 1 and %d", out.results, out.errors, calls-1)
	}
	if most := int64(maxBatchResponses + 4*size); peak.Load() > most {
		t.Errorf("%d MiB were in use, want at most %d", peak.Load()>>20, most>>20)
	}
}

// TestUnfinishedBatchesAreBoundedTogether checks that the responses of all unfinished batches share one limit. The gateway
// refuses new batches beyond the limit, and accepts batches again once the earlier ones are finished.
func TestUnfinishedBatchesAreBoundedTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHeld()
		b := heldBackend(h)
		size := maxBatchResponses / 3
		b.tools["big"] = func(context.Context, json.RawMessage, Notifier) (json.RawMessage, error) {
			return textResult(strings.Repeat("x", size)), nil
		}
		b.tools["small"] = func(context.Context, json.RawMessage, Notifier) (json.RawMessage, error) {
			return textResult(strings.Repeat("x", maxSmallResponse/2)), nil
		}
		out := &responseCounter{}
		p := connectTo(t, newGateway(t, Config{Checked: true}, b), out)
		const batches = 5
		for i := range batches {
			p.say("[" + callLine(fmt.Sprint(2*i), "held") + "," + callLine(fmt.Sprint(2*i+1), "big") + "]")
		}
		close(h.release)
		synctest.Wait()
		if out.results != batches+2 || out.errors != batches-2 {
			t.Errorf("%d results and %d errors, want %d and %d", out.results, out.errors, batches+2, batches-2)
		}
		*out = responseCounter{}
		p.say("[" + callLine("1", "big") + "," + callLine("2", "big") + "]")
		if out.results != 2 || out.errors != 0 {
			t.Errorf("after that: %d results and %d errors, want 2 and 0", out.results, out.errors)
		}

		h.release = make(chan struct{})
		size = maxBatchResponses - 4*responseOverhead
		p.say("[" + callLine("1", "held") + "," + callLine("2", "big") + "]")
		p.say("[" + callLine("3", "held") + "," + callLine("4", "small") + "]")
		*out = responseCounter{}
		p.say("[" + callLine("5", "echo") + "]")
		if out.results != 0 || out.refused != 1 {
			t.Errorf("a further batch: %d results, %d refusals", out.results, out.refused)
		}
		p.say(callLine("5", "echo"))
		close(h.release)
		synctest.Wait()
		if out.results != 5 || out.errors != 0 {
			t.Errorf("in the end: %d results and %d errors, want 5 and 0", out.results, out.errors)
		}
	})
}

// responseCounter counts the responses that are written.
type responseCounter struct{ results, errors, refused int }

func (c *responseCounter) Write(p []byte) (int, error) {
	c.results += bytes.Count(p, []byte(`"result":`))
	c.errors += bytes.Count(p, []byte(`its response is omitted`))
	c.refused += bytes.Count(p, []byte(`the responses of unfinished batches take more than`))
	return len(p), nil
}

// TestSubscribedURIsAreBounded checks that the memory of a client's streams is bounded, and that further streams are refused.
func TestSubscribedURIsAreBounded(t *testing.T) {
	g := newGateway(t, Config{Offers: Offers{Resources: true, Subscribe: true}}, newFake())
	before := heapInUse()
	in, client := io.Pipe()
	out := &outBuffer{}
	served := make(chan error, 1)
	go func() { served <- g.Serve(t.Context(), in, out) }()
	const streams = 12
	refused := 0
	for id := range streams {
		var uris []string
		for n := range maxSubscriptions {
			uris = append(uris, fmt.Sprintf(`"note://%d/%d/%s"`, id, n, strings.Repeat("x", maxURI-100)))
		}
		fmt.Fprintf(client, `{"jsonrpc":"2.0","id":%d,"method":"subscriptions/listen","params":{"notifications":{"resourceSubscriptions":[%s]},%s}}`+"\n", id, strings.Join(uris, ","), modernMeta)
		fmt.Fprintln(client, pingLine(`"read"`)) // the gateway reads its first byte after it has handled the previous line
	}
	fmt.Fprintln(client)
	for _, line := range out.lines() {
		if strings.Contains(line, "close streams, or unsubscribe from some") {
			refused++
		}
	}
	if kept := heapInUse() - before; kept > 16<<20 {
		t.Errorf("%d MiB are kept for subscriptions", kept>>20)
	}
	client.Close()
	if err := <-served; err != nil {
		t.Error(err)
	}
	if refused < streams-1 {
		t.Errorf("%d of %d streams were refused", refused, streams)
	}
}

const modernMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`

func TestClosingStreamOrSubscriptionFreesItsCost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := connect(t, newGateway(t, Config{Offers: Offers{Resources: true, Subscribe: true}}, newFake()))
		long := strings.Repeat("x", 1000)
		listen := func(id string) bool {
			var uris []string
			for n := range 900 {
				uris = append(uris, fmt.Sprintf(`"note://%s/%d/%s"`, id, n, long))
			}
			got := p.say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"subscriptions/listen","params":{"notifications":{"resourceSubscriptions":[%s]},%s}}`, id, strings.Join(uris, ","), modernMeta))
			return len(got) == 1 && strings.Contains(got[0], "acknowledged")
		}
		if !listen("1") || listen("2") {
			t.Error("one stream fits, and two do not")
		}
		p.say(cancelLine("1"))
		if !listen("2") {
			t.Error("there is no room again")
		}
		subscribe := func(verb, uri string) bool {
			got := p.say(fmt.Sprintf(`{"jsonrpc":"2.0","id":7,"method":"resources/%s","params":{"uri":%q}}`, verb, uri))
			return len(got) == 1 && strings.Contains(got[0], `"result"`)
		}
		fits := 0
		for ; fits < maxSubscriptions && subscribe("subscribe", fmt.Sprintf("note://%d/%s", fits, long)); fits++ {
		}
		if fits == 0 || fits == maxSubscriptions {
			t.Fatalf("%d subscriptions fit", fits)
		}
		if !subscribe("unsubscribe", "note://0/"+long) || !subscribe("subscribe", "note://x/"+long) {
			t.Error("there is no room again")
		}
	})
}

// TestRequestBytesInFlightAreBounded checks that reading pauses while large requests are in flight, and that no request is
// lost.
func TestRequestBytesInFlightAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHeld()
		b := heldBackend(h)
		p := connect(t, newGateway(t, Config{MaxLine: 1 << 20}, b))
		large := fmt.Sprintf(`{"jsonrpc":"2.0","id":%%d,"method":"tools/call","params":{"name":"held","arguments":1},"x":%q}`, strings.Repeat("x", 900<<10))
		go func() {
			for id := range 20 {
				_, _ = fmt.Fprintf(p.in, large+"\n", id)
			}
		}()
		synctest.Wait()
		if n := b.runs(); n == 0 || n > pendingLines {
			t.Errorf("%d calls of 900 KiB run, want at most %d", n, pendingLines)
		}
		close(h.release)
		synctest.Wait()
		if got := p.out.lines(); len(got) != 20 {
			t.Errorf("%d of 20 calls were answered", len(got))
		}
	})
}

// pager is a Backend of lists. It counts the pages that it returned.
type pager struct {
	spyBackend
	made atomic.Int32
}

func (p *pager) Find(call.Request) (Queued, *abi.Error) { return p, nil }
func (p *pager) Execute(context.Context, Notifier) (call.Result, error) {
	p.made.Add(1)
	return call.Result{Body: []byte(`{"prompts":[]}`)}, nil
}

func TestListsInFlightAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const lists = 256
		b := &pager{}
		out := &stuck{stop: make(chan struct{}), release: make(chan struct{})}
		close(out.stop)
		p := connectTo(t, newGateway(t, Config{Offers: Offers{Prompts: true}}, b), out)
		go func() {
			for id := range lists {
				_, _ = fmt.Fprintf(p.in, `{"jsonrpc":"2.0","id":%d,"method":"prompts/list"}`+"\n", id)
			}
		}()
		synctest.Wait()
		if n := b.made.Load(); n != maxLists {
			t.Errorf("%d pages are in memory, want %d", n, maxLists)
		}
		close(out.release)
		synctest.Wait()
		if got := out.lines(); len(got) != lists {
			t.Errorf("%d of %d lists were answered", len(got), lists)
		}
	})
}

// hangingLists is a Backend whose lists run until they are cancelled.
type hangingLists struct{ spyBackend }

func (h *hangingLists) Find(call.Request) (Queued, *abi.Error) { return h, nil }
func (h *hangingLists) Execute(ctx context.Context, _ Notifier) (call.Result, error) {
	<-ctx.Done()
	return call.Result{}, ctx.Err()
}

func TestHangingListsDoNotStopReading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := connect(t, newGateway(t, Config{Offers: Offers{Prompts: true}}, &hangingLists{}))
		const lists = 3 * maxLists
		for id := range lists {
			p.say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"prompts/list"}`, id))
		}
		if got := p.say(`{"jsonrpc":"2.0","id":"ping","method":"ping"}`); len(got) != 1 {
			t.Errorf("got %d responses to a ping while %d lists hang", len(got), lists)
		}
		for id := range lists {
			p.say(cancelLine(fmt.Sprint(id)))
		}
		// All ids and slots are free again, and no cancelled list gets a response.
		for id := range lists {
			if got := p.say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"prompts/list"}`, id)); len(got) != 0 {
				t.Errorf("got %v for a list that hangs", got)
			}
			p.say(cancelLine(fmt.Sprint(id)))
		}
	})
}
