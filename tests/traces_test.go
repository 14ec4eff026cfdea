//go:build unix

package tests

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// span is a span as a collector gets it.
type span struct {
	TraceID, SpanID, ParentSpanID, TraceState, Name string
	Kind                                            int
	StartTimeUnixNano, EndTimeUnixNano              string
	Attributes                                      []struct {
		Key   string
		Value struct{ StringValue, IntValue string }
	}
	Status struct{ Code int }
}

func (s span) attribute(key string) string {
	for _, a := range s.Attributes {
		if a.Key == key {
			return a.Value.StringValue + a.Value.IntValue
		}
	}
	return ""
}

// collector is a collector of traces.
type collector struct {
	*httptest.Server
	t     testing.TB
	mu    sync.Mutex
	raw   strings.Builder // everything that it was sent
	spans []span
	more  chan struct{}
}

func collect(t testing.TB) *collector {
	c := &collector{t: t, more: make(chan struct{}, 1)}
	c.Server = httptest.NewServer(c)
	t.Cleanup(c.Close)
	return c
}

// ServeHTTP implements http.Handler.
func (c *collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	unpacked, err := gzip.NewReader(r.Body)
	if err != nil || r.Method != http.MethodPost || r.URL.Path != "/v1/traces" || r.Header.Get("Content-Type") != "application/json" {
		c.t.Errorf("%s %s %v: %v", r.Method, r.URL, r.Header, err)
		http.Error(w, "", http.StatusBadRequest)
		return
	}
	body, err := io.ReadAll(unpacked)
	var request struct {
		ResourceSpans []struct{ ScopeSpans []struct{ Spans []span } }
	}
	if err == nil {
		err = json.Unmarshal(body, &request)
	}
	if err != nil {
		c.t.Errorf("%v: %s", err, body)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.raw.Write(body)
	for _, in := range request.ResourceSpans {
		for _, scope := range in.ScopeSpans {
			c.spans = append(c.spans, scope.Spans...)
		}
	}
	select {
	case c.more <- struct{}{}:
	default:
	}
	fmt.Fprint(w, "{}")
}

// await returns all spans as soon as there is one of which found reports true.
func (c *collector) await(found func(span) bool) []span {
	c.t.Helper()
	deadline := time.After(patience)
	for {
		c.mu.Lock()
		all := slices.Clone(c.spans)
		c.mu.Unlock()
		if slices.ContainsFunc(all, found) {
			return all
		}
		select {
		case <-c.more:
		case <-deadline:
			c.t.Fatalf("the span is not among %+v", all)
		}
	}
}

// tree returns the spans of a trace below a parent as indented lines, sorted by name.
func tree(all []span, trace, parent, indent string) string {
	var lines []string
	for _, s := range all {
		if s.TraceID != trace || s.ParentSpanID != parent {
			continue
		}
		line := indent + s.Name
		if why := s.attribute("error.type"); why != "" {
			line += " (" + why + ")"
		}
		if s.Status.Code != 0 {
			line += " failed"
		}
		lines = append(lines, line+"\n"+tree(all, trace, s.SpanID, indent+"  "))
	}
	slices.Sort(lines)
	return strings.Join(lines, "")
}

const (
	clientTrace = "4bf92f3577b34da6a3ce929d0e0e4736"
	clientSpan  = "00f067aa0ba902b7"
)

// callWithin is a call whose _meta has further members.
func callWithin(id int, tool, arguments, meta string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s,"_meta":{%s}}}`, id, tool, arguments, meta)
}

// TestTracesOfScript has a client run a script over HTTP, and looks at the spans of the calls that it makes.
func TestTracesOfScript(t *testing.T) {
	t.Parallel()
	c := collect(t)
	s := serveScriptTeam(t, "", fmt.Sprintf("otlp = %q\n", c.URL+"/"), "ann")
	code := "await tools.fetch({ url: `${args.site}/robots.txt`, raw: true }); try { await tools.made_up_in_a_script({}) } catch {}; return (await tools.read_text_file({ path: `${args.dir}/a.txt` })).content"
	_, body := postHTTP(t, s.url, callWithin(1, "run_script", jsonOf(t, map[string]any{"code": code, "arguments": map[string]string{"dir": s.project, "site": s.site.URL}}),
		`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"traceparent":"00-`+clientTrace+`-`+clientSpan+`-01","tracestate":"a=b"`),
		"Authorization", "Bearer "+s.tokens["ann"], "MCP-Protocol-Version", modernVersion, "Mcp-Method", "tools/call", "Mcp-Name", "run_script")
	if got := scriptValueOf(body); got != `"one"` {
		t.Fatal(got)
	}
	all := c.await(func(s span) bool { return s.Name == "tools/call run_script" })
	const call = "      module\n      queue\n      worker\n"
	want := `tools/call run_script
  module
    tools/call (unknown) failed
    tools/call fetch
      module
        http/fetch
        http/fetch
      queue
      worker
    tools/call read_text_file
` + call + `  queue
  worker
`
	if got := tree(all, clientTrace, clientSpan, ""); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	for _, s := range all {
		if (s.Kind == 2) != (s.ParentSpanID == clientSpan) || s.TraceID != clientTrace || s.TraceState != "a=b" || s.StartTimeUnixNano > s.EndTimeUnixNano || len(s.SpanID) != 16 {
			t.Errorf("%+v", s)
		}
		if s.Name == "tools/call fetch" && (s.Kind != 1 || s.attribute("gen_ai.tool.name") != "fetch" || s.attribute("gen_ai.operation.name") != "execute_tool" || s.attribute("mcp.method.name") != "tools/call" ||
			s.attribute("bulkhead.via") != "run_script" || s.attribute("bulkhead.plugin.name") != "fetch" || s.attribute("network.transport") != "tcp" || s.attribute("bulkhead.record.id") == "") {
			t.Errorf("%+v", s)
		}
	}
	id := s.traceSession(t, c)
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, secret := range []string{"made_up", "<b>", id, s.project, s.site.URL, "robots", s.tokens["ann"], "token:", "one"} {
		if strings.Contains(c.raw.String(), secret) {
			t.Errorf("the collector was sent %q: %s", secret, c.raw.String())
		}
	}
}

// traceSession has a client make calls in a session whose parent is stated by headers, looks at their spans, and returns the ID of the session.
func (s *scriptTeam) traceSession(t *testing.T, c *collector) (id string) {
	t.Helper()
	const trace, parent = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
	headers := []string{"Authorization", "Bearer " + s.tokens["ann"], "Traceparent", "00-" + trace + "-" + parent + "-01", "Tracestate", "dd=s:2,x=<b>"}
	opened, _ := postHTTP(t, s.url, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`, headers...)
	id = opened.Header.Get("Mcp-Session-Id")
	headers = append(headers, "Mcp-Session-Id", id, "Mcp-Protocol-Version", "2025-11-25")
	for _, message := range []string{
		`{"jsonrpc":"2.0","id":"call-7","method":"tools/call","params":{"name":"read_text_file","arguments":{"path":"/made_up"}}}`,
		`{"jsonrpc":"2.0","id":8,"method":"resources/read","params":{"uri":"made_up:x"}}`,
		`{"jsonrpc":"2.0","id":"<b>","method":"tools/call","params":{"name":"made_up","arguments":{}}}`,
	} {
		postHTTP(t, s.url, message, headers...)
	}
	all := c.await(func(s span) bool { return s.TraceID == trace && s.Name == "tools/call" })
	want := `resources/read (unknown) failed
tools/call (unknown) failed
tools/call read_text_file (tool_error) failed
  module (tool_error) failed
  queue
  worker
`
	if got := tree(all, trace, parent, ""); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	digest := ""
	for _, one := range all {
		if one.TraceID != trace || one.ParentSpanID != parent {
			continue
		}
		digest = one.attribute("mcp.session.id")
		got := fmt.Sprint(one.attribute("jsonrpc.request.id"), " ", one.attribute("mcp.protocol.version"), " ", one.attribute("rpc.response.status_code"), " ", one.TraceState, " ", len(digest))
		if want := map[string]string{"tools/call read_text_file": "call-7 2025-11-25  dd=s:2 16", "tools/call": " 2025-11-25 -32602 dd=s:2 16", "resources/read": "8 2025-11-25 -32601 dd=s:2 16"}[one.Name]; got != want {
			t.Errorf("%s: got %s, want %s", one.Name, got, want)
		}
	}
	if digest == "" || strings.Contains(id, digest) {
		t.Errorf("the session %s is named %s", id, digest)
	}
	return id
}

// TestTracesOnStdio has a client on stdio make calls that end in different ways. The spans arrive before the server has ended.
func TestTracesOnStdio(t *testing.T) {
	t.Parallel()
	c, site, dir := collect(t), serveHeldSite(t), newDir(t, nil)
	plugins := builtPlugins(t, "../plugins/fetch")
	config := filepath.Join(dir, "bulkhead.toml")
	putFile(t, config, fmt.Sprintf("[audit]\nfile = %q\notlp = %q\n[[plugins]]\npath = %q\nhttp = [{ origin = %q, private = true }]\n",
		filepath.Join(dir, "audit.jsonl"), c.URL, filepath.Join(plugins, "fetch"), site.URL))
	s := startServer(t, programCommand(t, "serve", "--config", config))
	s.ask(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`)
	s.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	trace := func(n int) string { return fmt.Sprintf("%031d%d", 0, n) }
	parent := func(n int, flags string) string {
		return fmt.Sprintf(`"traceparent":"00-%s-%s-%s"`, trace(n), clientSpan, flags)
	}
	for i, message := range []string{
		callWithin(2, "fetch", jsonOf(t, map[string]any{"url": site.URL + "/robots.txt", "raw": true}), parent(1, "01")),
		callWithin(3, "fetch", `{"url":"http://192.0.2.1/"}`, parent(2, "01")),
		callWithin(4, "fetch", `{"url":5}`, parent(3, "01")),
		callWithin(5, "made_up_by_client", `{}`, parent(4, "01")),
		callWithin(6, "fetch", `{"url":6}`, parent(5, "00")),
		callWithin(7, "fetch", `{"url":7}`, strings.Replace(parent(6, "01"), "00-", "ff-", 1)),
	} {
		if answer := s.ask(message); !strings.Contains(answer, fmt.Sprintf(`"id":%d`, i+2)) {
			t.Fatal(answer)
		}
	}
	s.send(callWithin(8, "fetch", jsonOf(t, map[string]any{"url": site.URL + "/held", "raw": true}), parent(7, "01")))
	<-site.arrived
	s.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":8}}`)
	<-site.gone
	s.end()
	all := c.spans // the server has ended
	phases := func(request, module string) string { return request + "\n  module" + module + "  queue\n  worker\n" }
	for n, want := range []string{
		1: phases("tools/call fetch", "\n    http/fetch\n    http/fetch\n"), // robots.txt and the page
		2: phases("tools/call fetch (tool_error) failed", " (tool_error) failed\n    http/fetch (denied) failed\n"),
		3: phases("tools/call fetch (tool_error) failed", " (tool_error) failed\n"),
		4: "tools/call (unknown) failed\n",
		5: "",
		6: "",
		7: phases("tools/call fetch (cancelled) failed", " (cancelled) failed\n    http/fetch\n    http/fetch (failed) failed\n"),
	} {
		if got := tree(all, trace(n), clientSpan, ""); got != want {
			t.Errorf("trace %d: got\n%swant\n%s", n, got, want)
		}
	}
	roots := slices.DeleteFunc(slices.Clone(all), func(s span) bool { return s.ParentSpanID != "" })
	if len(roots) != 1 || roots[0].TraceID == trace(6) || roots[0].attribute("network.transport") != "pipe" {
		t.Errorf("a call with an invalid parent begins %+v", roots)
	}
	if raw := c.raw.String(); strings.Contains(raw, "made_up") || strings.Contains(raw, "192.0.2.1") || strings.Contains(raw, site.URL) {
		t.Errorf("the collector was sent %s", raw)
	}
}
