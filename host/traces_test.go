package host_test

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/authoring/hosttest"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/wasmtest"
)

// TestReloadMovesTraces changes the collector while a client is served, and removes it: each gets the spans of the calls that were made
// while the config named it, before Reload returns.
func TestReloadMovesTraces(t *testing.T) {
	var token atomic.Value // of the last request
	collector := func() (url string, requests *atomic.Int64) {
		requests = &atomic.Int64{}
		s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			requests.Add(1)
			token.Store(r.Header.Get("Authorization"))
		}))
		t.Cleanup(s.Close)
		return s.URL, requests
	}
	first, toFirst := collector()
	second, toSecond := collector()
	w := hosttest.New(t, hosttest.Plugin("a", wasmtest.Answering(hosttest.Done), hosttest.Reads("a_reads")))
	set := func(key string) {
		w.Write(t, hosttest.Files{"work/bulkhead.toml": fmt.Sprintf("[audit]\nfile = %q\n%s\n[[plugins]]\npath = '../plugins/a'\n", filepath.Join(w.Dir, "audit.jsonl"), key)})
		w.Trust(t, "work/bulkhead.toml")
	}
	set("")
	headers := filepath.Join(w.Dir, "headers")
	if err := os.WriteFile(headers, []byte("Authorization: Bearer secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	h := w.Open(t, w.Options())
	in, client := io.Pipe()
	out, answers := io.Pipe()
	served := make(chan error, 1)
	go func() { served <- h.Serve(t.Context(), in, answers) }()
	call := func() {
		t.Helper()
		if _, err := io.WriteString(client, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a_reads","arguments":{},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`+"\n"); err != nil {
			t.Fatal(err)
		}
		if _, err := out.Read(make([]byte, 1<<16)); err != nil {
			t.Fatal(err)
		}
	}
	for _, step := range []struct {
		key               string
		toFirst, toSecond int64 // after the call and the reload that ends the step
	}{
		{"", 0, 0},
		{fmt.Sprintf("otlp = %q", first), 1, 0},
		{fmt.Sprintf("otlp = %q\notlp_sample = 0", first), 1, 0},
		{fmt.Sprintf("otlp = %q", second), 1, 1},
		{"", 1, 1},
		{fmt.Sprintf("otlp = %q\notlp_headers_file = %q", first, headers), 2, 1},
	} {
		set(step.key)
		if err := h.Reload(t.Context()); err != nil {
			t.Fatal(err)
		}
		call()
		set("keep = 6") // without otlp
		if err := h.Reload(t.Context()); err != nil {
			t.Fatal(err)
		}
		if a, b := toFirst.Load(), toSecond.Load(); a != step.toFirst || b != step.toSecond {
			t.Errorf("%s: the first collector got %d requests, the second %d", step.key, a, b)
		}
	}
	if token.Load() != "Bearer secret" {
		t.Errorf("the collector was sent the token %q", token.Load())
	}
	if err := client.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
}

// TestRequestToSeveralPluginsIsOneSpan has a client list prompts of two plugins, and get one that only the second has: each request has one span, with a
// part for each plugin.
func TestRequestToSeveralPluginsIsOneSpan(t *testing.T) {
	type span struct {
		Name, SpanID, ParentSpanID string
		Kind                       int
		Attributes                 []struct {
			Key   string
			Value struct{ StringValue string }
		}
	}
	var spans []span
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var sent struct {
			ResourceSpans []struct{ ScopeSpans []struct{ Spans []span } }
		}
		unpacked, err := gzip.NewReader(r.Body)
		if err == nil {
			err = json.NewDecoder(unpacked).Decode(&sent)
		}
		if err != nil {
			t.Error(err)
			return
		}
		spans = append(spans, sent.ResourceSpans[0].ScopeSpans[0].Spans...)
	}))
	defer collector.Close()
	w := hosttest.New(t, hosttest.Plugin("a", wasmtest.Answering(`{"error":{"code":-32602,"message":"it is not here"}}`), "[offers]\nprompts = true\n"), hosttest.Offering("b", "prompts = true", hosttest.TextOf("b")))
	w.Write(t, hosttest.Files{"work/bulkhead.toml": fmt.Sprintf("[audit]\nfile = %q\notlp = %q\n[[plugins]]\npath = '../plugins/a'\n[[plugins]]\npath = '../plugins/b'\n", filepath.Join(w.Dir, "audit.jsonl"), collector.URL)})
	w.Trust(t, "work/bulkhead.toml")
	const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
	requests := `{"jsonrpc":"2.0","id":1,"method":"prompts/list","params":{` + meta + `}}` + "\n" + `{"jsonrpc":"2.0","id":2,"method":"prompts/get","params":{"name":"it",` + meta + `}}` + "\n"
	if err := w.Open(t, w.Options()).Serve(t.Context(), strings.NewReader(requests), io.Discard); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range spans {
		if s.Name != "prompts/list" && s.Name != "prompts/get" {
			continue
		}
		line := fmt.Sprint(s.Name, " ", s.Kind)
		for _, parent := range spans {
			if parent.SpanID == s.ParentSpanID {
				line += " of " + fmt.Sprint(parent.Kind)
			}
		}
		for _, a := range s.Attributes {
			if a.Key == "jsonrpc.request.id" || a.Key == "bulkhead.plugin.name" {
				line += " " + a.Value.StringValue
			}
		}
		got = append(got, line)
	}
	slices.Sort(got)
	want := []string{"prompts/get 1 of 2 a", "prompts/get 1 of 2 b", "prompts/get 2 2", "prompts/list 1 of 2 a", "prompts/list 1 of 2 b", "prompts/list 2 1"}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}
