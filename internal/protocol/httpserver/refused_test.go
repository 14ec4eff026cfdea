package httpserver

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/bulkhead-mcp/bulkhead/internal/protocol/gateway"
)

func TestForeignHostsAndOriginsAreRefused(t *testing.T) {
	body, headers := modernCall("echo", `{}`)
	beyond := &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 8808}
	cases := []struct {
		at           net.Addr
		host, origin string
		status       int
	}{
		{loopback, "127.0.0.1:8808", "", 200},
		{loopback, "localhost:1", "", 200},
		{loopback, "[::1]:8808", "", 200},
		{loopback, "mcp.example.com", "", 200},
		{loopback, "evil.example.com", "", 403},
		{loopback, "127.0.0.1.evil.example.com", "", 403},
		{loopback, "192.0.2.1", "", 403},
		{loopback, "localhost:8808", "http://localhost:6274", 200},
		{loopback, "localhost:8808", "http://127.0.0.1", 200},
		{loopback, "localhost:8808", "https://app.example.com", 200},
		{loopback, "localhost:8808", "https://app.example.com:444", 403},
		{loopback, "localhost:8808", "http://evil.example.com", 403},
		{loopback, "localhost:8808", "http://localhost.evil.example.com", 403},
		{loopback, "localhost:8808", "http://localhost@evil.example.com", 403},
		{loopback, "localhost:8808", "file://localhost", 403},
		{loopback, "localhost:8808", "null", 403},
		{loopback, "localhost:8808", "http://localhost\x00http://localhost", 403},
		{beyond, "192.0.2.1:8808", "", 200},
		{beyond, "mcp.example.com:443", "", 200},
		{beyond, "localhost", "", 403},
		{beyond, "evil.example.com", "", 403},
		{beyond, "192.0.2.1:8808", "http://localhost", 403},
		{beyond, "192.0.2.1:8808", "https://app.example.com", 200},
	}
	run(t, Config{Hosts: []string{"MCP.example.com"}, Origins: []string{"https://app.example.com"}}, func(t *testing.T, f *fixture) {
		for _, c := range cases {
			f.address = c.at
			got := f.post(body, append(headers, "Host", c.host, "Origin", c.origin)...)
			if got.status != c.status {
				t.Errorf("at %v, Host %s, Origin %s: got %d %s, want %d", c.at, c.host, c.origin, got.status, got.body, c.status)
			}
			f.client.CloseIdleConnections()
		}
	})
}

func TestTokenIsRequired(t *testing.T) {
	const token = "0123456789abcdefghij"
	body, headers := modernCall("echo", `{}`)
	run(t, Config{Auth: accepting(token)}, func(t *testing.T, f *fixture) {
		for header, want := range map[string]int{
			"": 401, "Bearer": 401, "Bearer ": 401, "Bearer wrong": 401, token: 401, "Basic " + token: 401, "Bearer " + token + "x": 401,
			"Bearer " + token[:19]: 401, "Bearer " + token + "\x00Bearer " + token: 401, "Bearer " + token: 200, "bearer " + token: 200,
		} {
			got := f.post(body, append(headers, "Authorization", header)...)
			challenge := got.header.Get("WWW-Authenticate")
			if got.status != want || want == 401 && !strings.HasPrefix(challenge, "Bearer ") || strings.Contains(got.body+challenge, token) {
				t.Errorf("Authorization %q: got %d %s %s, want %d", header, got.status, challenge, got.body, want)
			}
		}
		f.do(http.MethodPost, Path+"?access_token="+token, body, headers...).want(t, http.StatusUnauthorized, "")
		f.do(http.MethodGet, Path, "").want(t, http.StatusUnauthorized, "")
		f.do(http.MethodDelete, Path, "").want(t, http.StatusUnauthorized, "")
		f.do(http.MethodGet, "/healthz", "").want(t, http.StatusOK, "ok")
		f.do(http.MethodGet, "/readyz", "", "Host", "probe").want(t, http.StatusOK, "ok")
		if r := <-f.b.requests; r.Principal != gateway.TokenHolder {
			t.Errorf("the principal is %q", r.Principal)
		}
	})
	run(t, Config{Policy: func() string { return "digest" }}, func(t *testing.T, f *fixture) {
		for path, want := range map[string]string{"/readyz": "digest", "/healthz": "", "/": ""} {
			if got := f.do(http.MethodGet, path, "").header.Get(PolicyHeader); got != want {
				t.Errorf("%s: the policy is %q, want %q", path, got, want)
			}
		}
		f.post(body, headers...).want(t, 200, "result")
		if r := <-f.b.requests; r.Principal != gateway.LocalUser {
			t.Errorf("the principal is %q", r.Principal)
		}
	})
}

func TestMalformedRequestsAreRefused(t *testing.T) {
	body, usual := modernCall("echo", `{}`)
	run(t, Config{MaxBody: 1000}, func(t *testing.T, f *fixture) {
		for name, c := range map[string]struct {
			method, path, body string
			headers            []string
			status             int
		}{
			"other path":            {"POST", "/", body, nil, 404},
			"PUT":                   {"PUT", Path, body, nil, 405},
			"OPTIONS":               {"OPTIONS", Path, "", nil, 405},
			"POST to /healthz":      {"POST", "/healthz", "", nil, 405},
			"form":                  {"POST", Path, body, []string{"Content-Type", "application/x-www-form-urlencoded"}, 415},
			"text":                  {"POST", Path, body, []string{"Content-Type", "text/plain"}, 415},
			"no type":               {"POST", Path, body, []string{"Content-Type", ""}, 415},
			"charset":               {"POST", Path, body, []string{"Content-Type", "application/json; charset=utf-8"}, 200},
			"other charset":         {"POST", Path, body, []string{"Content-Type", "application/json; charset=utf-16"}, 415},
			"gzip":                  {"POST", Path, body, []string{"Content-Encoding", "gzip"}, 415},
			"Accept without stream": {"POST", Path, body, []string{"Accept", "application/json"}, 406},
			"Accept without JSON":   {"POST", Path, body, []string{"Accept", "text/event-stream"}, 406},
			"Accept excludes JSON":  {"POST", Path, body, []string{"Accept", "application/json;q=0, text/event-stream"}, 406},
			"two types":             {"POST", Path, body, []string{"Content-Type", "application/json\x00text/plain"}, 415},
			"text that names JSON":  {"POST", Path, body, []string{"Content-Type", "text/plain; application/json"}, 415},
			"list of types":         {"POST", Path, body, []string{"Content-Type", "application/json, text/plain"}, 415},
			"two encodings":         {"POST", Path, body, []string{"Content-Encoding", "identity\x00gzip"}, 415},
			"excludes one of all":   {"POST", Path, body, []string{"Accept", "*/*, application/json;q=0"}, 406},
			"accepts one of all":    {"POST", Path, body, []string{"Accept", "*/*;q=0, application/json, text/*;q=0.1"}, 200},
			"accepts one of two":    {"POST", Path, body, []string{"Accept", "*/*, application/json;q=1, application/json;q=0"}, 200},
			"two versions":          {"POST", Path, legacyCall(1, "echo"), []string{"MCP-Protocol-Version", "2025-11-25\x002026-07-28"}, 400},
			"GET with a body":       {"GET", Path, "{}", nil, 400},
			"DELETE with a body":    {"DELETE", Path, "{}", nil, 400},
			"Accept anything":       {"POST", Path, body, []string{"Accept", "*/*"}, 200},
			"no Accept":             {"POST", Path, body, []string{"Accept", ""}, 200},
			"Accept with spaces":    {"POST", Path, body, []string{"Accept", "Application/JSON ; q=0.5 , text/*"}, 200},
			"empty body":            {"POST", Path, "", nil, 400},
			"no JSON":               {"POST", Path, "{", nil, 400},
			"two messages":          {"POST", Path, body + body, nil, 400},
			"number":                {"POST", Path, "1", nil, 400},
			"null":                  {"POST", Path, "null", nil, 400},
			"invalid batch":         {"POST", Path, "[1", nil, 400},
			"no method":             {"POST", Path, `{"jsonrpc":"2.0","id":1}`, nil, 400},
			"wrong version":         {"POST", Path, `{"jsonrpc":"1.0","id":1,"method":"ping"}`, nil, 400},
			"long body":             {"POST", Path, strings.Repeat(" ", 1001), nil, 413},
		} {
			if got := f.do(c.method, c.path, c.body, append(append([]string{}, usual...), c.headers...)...); got.status != c.status {
				t.Errorf("%s: got %d %s, want %d", name, got.status, got.body, c.status)
			}
		}
	})
}

// raw sends bytes on a connection of their own and returns what the server sends until it closes the connection.
func (f *fixture) raw(text string) string {
	f.t.Helper()
	c, err := f.net.dial(f.address)
	if err != nil {
		f.t.Fatal(err)
	}
	defer c.Close()
	go func() { _, _ = io.WriteString(c, text) }()
	got, _ := io.ReadAll(c)
	return string(got)
}

const rawHead = "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nConnection: close\r\n"

func TestHostileBodiesAndHeaders(t *testing.T) {
	run(t, Config{MaxBody: 100_000}, func(t *testing.T, f *fixture) {
		chunks := strings.Repeat("1000\r\n"+strings.Repeat(" ", 4096)+"\r\n", 30) + "0\r\n\r\n"
		for name, c := range map[string]struct{ request, want string }{
			"body that is cut":     {rawHead + "Content-Length: 50\r\n\r\n{", " 408 "},
			"body that never ends": {rawHead + "Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n", " 408 "},
			"long chunked body":    {rawHead + "Transfer-Encoding: chunked\r\n\r\n" + chunks, " 413 "},
			"long body":            {rawHead + "Content-Length: 100001\r\n\r\n", " 413 "},
			"two lengths":          {rawHead + "Content-Length: 1\r\nContent-Length: 2\r\n\r\n{}", " 400 "},
			"gzip transfer":        {rawHead + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", " 501 "},
			"long header":          {rawHead + "X: " + strings.Repeat("x", 100_000) + "\r\n\r\n", " 431 "},
			"longest header":       {rawHead + "X: " + strings.Repeat("x", 64<<10-len(rawHead)-len("X: \r\n\r\n")) + "\r\n\r\n", " 400 "},
			"header above 64 KiB":  {rawHead + "X: " + strings.Repeat("x", 64<<10-len(rawHead)-len("X: \r\n\r\n")+1) + "\r\n\r\n", " 431 "},
			"header that stops":    {rawHead, ""},
			"no HTTP":              {"\x00\x01\r\n\r\n", " 400 "},
			"HTTP/2":               {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "HTTP/1.1 "},
			"invalid header":       {rawHead + "Mcp-Method: a\x01b\r\n\r\n", " 400 "},
			"two requests in one":  {strings.Replace(rawHead, "Connection: close\r\n", "", 1) + "Content-Length: 60\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /healthz HTTP/1.1\r\nHost: x\r\n\r\n", " 400 "},
		} {
			if got := f.raw(c.request); strings.Count(got, "HTTP/1.1 ") > 1 || !strings.Contains(got, c.want) || c.want == "" && got != "" {
				t.Errorf("%s: got %q, want %s", name, got, c.want)
			}
		}
		synctest.Wait()
		if used := f.s.bodies.used.Load(); used != 0 {
			t.Errorf("%d bytes are still counted", used)
		}
	})
}

// TestSlowBodiesDoNotKeepOthersOut checks that bodies that arrive slowly use bounded memory, and that others are served.
func TestSlowBodiesDoNotKeepOthersOut(t *testing.T) {
	run(t, Config{}, func(t *testing.T, f *fixture) {
		got := make(chan string, 3)
		for range 3 {
			go func() { got <- f.raw(rawHead + fmt.Sprintf("Content-Length: %d\r\n\r\n{", gateway.DefaultMaxLine)) }()
		}
		synctest.Wait()
		body, headers := modernCall("echo", `{}`)
		f.post(body, headers...).want(t, http.StatusOK, "result")
		f.raw(rawHead + fmt.Sprintf("Content-Length: %d\r\n\r\n{", gateway.DefaultMaxLine))
		for range 3 {
			if answer := <-got; !strings.Contains(answer, " 408 ") {
				t.Errorf("got %q", answer)
			}
		}
	})
}

// TestIdleConnectionsDoNotKeepOthersOut checks that connections without requests make room for others.
func TestIdleConnectionsDoNotKeepOthersOut(t *testing.T) {
	run(t, Config{MaxConnections: 10}, func(t *testing.T, f *fixture) {
		var open []net.Conn
		for range 10_000 {
			c, err := f.net.dial(f.address)
			if err != nil {
				t.Fatal(err)
			}
			open = append(open, c)
		}
		for range 100 { // a request that never arrives
			c, err := f.net.dial(f.address)
			if err != nil {
				t.Fatal(err)
			}
			open = append(open, c)
			_, _ = io.WriteString(c, "P")
		}
		synctest.Wait()
		f.s.connections.mu.Lock()
		if n := len(f.s.connections.all); n != 10 {
			t.Errorf("%d connections are open", n)
		}
		f.s.connections.mu.Unlock()
		body, headers := modernCall("hold", `{}`)
		done := make(chan answered)
		go func() { done <- f.post(body, headers...) }()
		<-f.b.started
		for range 20 { // do not end the connection that has a request
			c, err := f.net.dial(f.address)
			if err != nil {
				t.Fatal(err)
			}
			open = append(open, c)
		}
		f.b.release <- struct{}{}
		(<-done).want(t, http.StatusOK, "result")
		for _, c := range open {
			c.Close()
		}
	})
}

func TestRequestsAndStreamsAreBounded(t *testing.T) {
	var log bytes.Buffer
	run(t, Config{Log: hclog.New(&hclog.LoggerOptions{Output: &log})}, func(t *testing.T, f *fixture) {
		body, headers := modern("subscriptions/listen", "", `"notifications":{},`)
		for range maxStreams {
			f.stream(http.MethodPost, body, headers...)
		}
		for range 3 {
			got := f.post(body, headers...)
			got.want(t, http.StatusServiceUnavailable, "too many streams")
			if got.header.Get("Retry-After") == "" {
				t.Error("Retry-After is missing")
			}
		}
		if n := strings.Count(log.String(), "requests are refused: too many streams are open"); n != 1 {
			t.Errorf("%d lines of the log for three refusals at once:\n%s", n, log.String())
		}
		call, callHeaders := modernCall("echo", `{}`)
		f.post(call, callHeaders...).want(t, http.StatusOK, "result")
	})
}

func TestReachedBoundsAreLoggedOnceInAMinute(t *testing.T) {
	var l refusals
	began := time.Now()
	for _, at := range []struct {
		bound  string
		after  time.Duration
		logged bool
	}{{"streams", 0, true}, {"streams", fullInterval - 1, false}, {"sessions", fullInterval - 1, true}, {"streams", fullInterval, true}, {"streams", fullInterval + 1, false}} {
		if l.admitFull(at.bound, began.Add(at.after)) != at.logged {
			t.Errorf("%s after %s: logged is %t", at.bound, at.after, !at.logged)
		}
	}
}

func TestShutdownLetsCallsEnd(t *testing.T) {
	run(t, Config{}, func(t *testing.T, f *fixture) {
		id := f.open("2025-11-25")
		got := make(chan answered, 2)
		go func() { got <- f.post(legacyCall(1, "hold"), "Mcp-Session-Id", id) }()
		<-f.b.started
		own := f.stream(http.MethodGet, "", "Mcp-Session-Id", id)
		own.want("0-0", "")
		f.stop()
		synctest.Wait()
		own.want("", "retry")
		f.do(http.MethodGet, "/healthz", "").want(t, http.StatusOK, "ok")
		ready := f.do(http.MethodGet, "/readyz", "")
		ready.want(t, http.StatusServiceUnavailable, "shutting down")
		refused := f.post(legacyCall(2, "echo"), "Mcp-Session-Id", id)
		refused.want(t, http.StatusServiceUnavailable, "shutting down")
		if ready.header.Get("Retry-After") == "" || refused.header.Get("Retry-After") == "" {
			t.Error("Retry-After is missing")
		}
		f.b.release <- struct{}{}
		(<-got).want(t, http.StatusOK, "result")
	})
}

// TestShutdownWritesLastAnswers checks that connections are not closed before the answers of calls that have ended are written.
func TestShutdownWritesLastAnswers(t *testing.T) {
	run(t, Config{}, func(t *testing.T, f *fixture) {
		f.net.latency = 10 * time.Millisecond
		body, headers := modernCall("hold", `{}`)
		got := make(chan error, 1)
		go func() {
			r, err := f.send(t.Context(), http.MethodPost, Path, body, headers...)
			if err == nil {
				_, err = io.ReadAll(r.Body)
			}
			got <- err
		}()
		<-f.b.started
		f.stop()
		synctest.Wait()
		f.b.release <- struct{}{}
		if err := <-got; err != nil {
			t.Error(err)
		}
	})
}

func TestShutdownCancelsCallsAfterDrain(t *testing.T) {
	run(t, Config{}, func(t *testing.T, f *fixture) {
		id := f.open("2025-11-25")
		body, headers := modernCall("hold", `{}`)
		begin := time.Now()
		got := make(chan string, 2)
		for _, post := range []func() (*http.Response, error){
			func() (*http.Response, error) { return f.send(t.Context(), "POST", Path, body, headers...) },
			func() (*http.Response, error) {
				return f.send(t.Context(), "POST", Path, legacyCall(1, "hold"), "Mcp-Session-Id", id)
			},
		} {
			go func() {
				r, err := post()
				if err != nil {
					got <- err.Error()
					return
				}
				data, _ := io.ReadAll(r.Body)
				got <- string(data)
			}()
			<-f.b.started
		}
		f.stop()
		for range 2 {
			if answer := <-got; !strings.Contains(answer, "-32000") {
				t.Errorf("got %s", answer)
			}
		}
		if took := time.Since(begin); took < time.Second || took > time.Second+stopGrace+answerGrace {
			t.Errorf("it took %v", took)
		}
	})
}

func FuzzHeaders(f *testing.F) {
	body, _ := modernCall("region", `{"region":"eu","count":1}`)
	f.Add("2026-07-28", "tools/call", "region", "eu", "1", []byte(body))
	f.Add("2026-07-28", "tools/call", "=?base64?cmVnaW9u?=", "=?base64?ZXU=?=", "1.0", []byte(body))
	f.Add("", "", "", "", "", []byte(`[{}]`))
	g, err := gateway.New(gateway.Config{Name: "fake", Version: "1", Tools: tools}, newBackend())
	if err != nil {
		f.Fatal(err)
	}
	s := New(Config{Gateway: g})
	f.Fuzz(func(t *testing.T, version, method, name, region, count string, body []byte) {
		m, invalid := gateway.ParseMessage(bytes.Clone(body))
		if invalid != nil {
			return
		}
		h := http.Header{headerVersion: {version}, headerMethod: {method}, headerName: {name}, "Mcp-Param-Region": {region}, "Mcp-Param-Count": {count}}
		if !s.isModern(h, m) || m.ID() == nil {
			return
		}
		if s.checkModern(h, g.View, m) != nil {
			return
		}
		stated, _ := m.Version()
		if stated != version || m.Method() != method || m.IsBatch() {
			t.Errorf("accepted: version %q, method %q for %s", version, method, body)
		}
		if got, _ := m.Name(); gateway.HasName(method) && got != name && !strings.HasPrefix(name, "=?base64?") {
			t.Errorf("accepted: name %q for %q", name, got)
		}
	})
}

// Requests without access are logged and reported with the address of the peer, and without secrets.
func TestRefusedRequestsAreReported(t *testing.T) {
	const token = "0123456789abcdefghij"
	body, headers := modernCall("echo", `{}`)
	var log bytes.Buffer
	var reported []Refusal
	config := Config{Auth: accepting(token), Log: hclog.New(&hclog.LoggerOptions{Output: &log}), Refused: func(r Refusal) { reported = append(reported, r) }}
	run(t, config, func(t *testing.T, f *fixture) {
		f.post(body, append(headers, "Host", "evil.example.com")...).want(t, http.StatusForbidden, "")
		f.post(body, append(headers, "Origin", "https://evil.example.com")...).want(t, http.StatusForbidden, "")
		f.post(body, append(headers, "Authorization", "Bearer not-"+token)...).want(t, http.StatusUnauthorized, "")
		f.do(http.MethodGet, Path, "", "Authorization", "Bearer "+token, "Accept", "text/event-stream", headerSession, "unknown-session").want(t, http.StatusNotFound, "")
		var got []string
		for _, r := range reported {
			got = append(got, strings.TrimSpace(r.Code+" "+r.Method+" "+r.Address+" "+r.Principal))
		}
		if want := "http_host POST 127.0.0.1, http_origin POST 127.0.0.1, http_token POST 127.0.0.1, http_session GET 127.0.0.1 bearer"; strings.Join(got, ", ") != want {
			t.Errorf("reported: %s, want %s", strings.Join(got, ", "), want)
		}
		if strings.Contains(log.String(), token) || strings.Contains(log.String(), "unknown-session") || strings.Count(log.String(), "[WARN]") != 4 || strings.Count(log.String(), "address=127.0.0.1") != 4 {
			t.Errorf("the log is\n%s", log.String())
		}
		for range 2 * refusalBurst {
			f.post(body, headers...).want(t, http.StatusUnauthorized, "")
		}
		if len(reported) != refusalBurst {
			t.Errorf("%d refusals are reported, want %d", len(reported), refusalBurst)
		}
		time.Sleep(refusalPeriod)
		f.post(body, headers...).want(t, http.StatusUnauthorized, "")
		if last := reported[len(reported)-1]; len(reported) != refusalBurst+1 || last.Further != refusalBurst+4 {
			t.Errorf("%d refusals are reported, the last one is %+v", len(reported), last)
		}
	})
}
