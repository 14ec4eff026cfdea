//go:build unix

package tests

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
)

// httpURL waits for the log line with the URL of the MCP endpoint.
func httpURL(t testing.TB, s *server) string {
	t.Helper()
	pattern := regexp.MustCompile(`url(?:=|":")(http[^\s"]+)`)
	for range 1000 {
		if found := pattern.FindStringSubmatch(s.log.String()); found != nil {
			return found[1]
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("the server does not listen: %s", s.log.String())
	return ""
}

// postHTTP sends a message with headers, which are alternating names and values.
func postHTTP(t testing.TB, url, body string, headers ...string) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequest(http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	data, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Error(err)
	}
	return answer, string(data)
}

const callMessage = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"%s","arguments":%s,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`

// modernCall makes a call of 2026-07-28, which needs no session.
func modernCall(t testing.TB, url, tool, arguments string, headers ...string) (int, string) {
	t.Helper()
	answer, body := postHTTP(t, url, fmt.Sprintf(callMessage, tool, arguments),
		append(headers, "MCP-Protocol-Version", modernVersion, "Mcp-Method", "tools/call", "Mcp-Name", tool)...)
	return answer.StatusCode, testenv.LastMessage(answer, body)
}

// callRequest returns the request of a call of 2026-07-28. authorization may be empty.
func callRequest(t testing.TB, url, tool, arguments, authorization string) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(fmt.Sprintf(callMessage, tool, arguments)))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{
		"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Authorization": authorization,
		"MCP-Protocol-Version": modernVersion, "Mcp-Method": "tools/call", "Mcp-Name": tool,
	} {
		if value != "" {
			r.Header.Set(name, value)
		}
	}
	return r
}

// startCall sends a call and returns the response when its header has arrived.
func startCall(t *testing.T, client *http.Client, url, tool, arguments, authorization string) *http.Response {
	t.Helper()
	response, err := client.Do(callRequest(t, url, tool, arguments, authorization))
	if err != nil {
		t.Fatal(err)
	}
	return response
}

// TestServeOverHTTP serves with a token that the program has made, in both eras, and shuts down while a call is in flight.
func TestServeOverHTTP(t *testing.T) {
	t.Parallel()
	dir := newDir(t, nil)
	token := filepath.Join(dir, "token")
	if out, err := programCommand(t, "token", "new", token).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if info, err := os.Stat(token); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file of the token: %v, %v", info, err)
	}
	if out, err := programCommand(t, "token", "new", token).CombinedOutput(); err == nil || !strings.Contains(string(out), "exists") {
		t.Errorf("a token was overwritten: %v, %s", err, out)
	}
	config := filepath.Join(dir, "bulkhead.toml")
	audit := filepath.Join(dir, "audit.jsonl")
	putFile(t, config, fmt.Sprintf("[server]\ndrain = \"1h\"\n[http]\ntoken_file = %q\n[audit]\nfile = %q\n[[plugins]]\npath = %q\n",
		token, audit, filepath.Join(copyPlugins(t, "misbehave"), "misbehave")))
	s := startServer(t, programCommand(t, "serve", "--config", config, "--project", newDir(t, nil), "--http", "127.0.0.1:0"))
	url := httpURL(t, s)
	bearer := []string{"Authorization", "Bearer " + strings.TrimSpace(readFile(t, token))}

	if r, body := postHTTP(t, url, `{}`); r.StatusCode != http.StatusUnauthorized {
		t.Errorf("without the token: %d %s", r.StatusCode, body)
	}
	opened, body := postHTTP(t, url, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`, bearer...)
	if opened.StatusCode != http.StatusOK || !strings.Contains(body, `"protocolVersion":"2025-11-25"`) {
		t.Fatalf("initialize: %d %s", opened.StatusCode, body)
	}
	session := append(bearer, "Mcp-Session-Id", opened.Header.Get("Mcp-Session-Id"))
	answers := make(chan string, 1)
	go func() {
		_, body := postHTTP(t, url, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"misbehave_sleep","arguments":{"ms":3000}}}`, session...)
		answers <- body
	}()
	modern := append(bearer, "MCP-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "misbehave_sleep")
	if r, body := postHTTP(t, url, `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"misbehave_sleep","arguments":{"ms":1},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`, modern...); r.StatusCode != http.StatusOK || !strings.Contains(body, `"awake"`) {
		t.Errorf("a modern call: %d %s", r.StatusCode, body)
	}

	signal(t, s.cmd, syscall.SIGTERM)
	ready := strings.TrimSuffix(url, "/mcp") + "/readyz"
	for range 500 {
		if r, err := http.Get(ready); err != nil || r.StatusCode == http.StatusServiceUnavailable {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if r, body := postHTTP(t, url, `{"jsonrpc":"2.0","id":4,"method":"ping"}`, session...); r.StatusCode != http.StatusServiceUnavailable || r.Header.Get("Retry-After") == "" {
		t.Errorf("a request during the shutdown: %d %s", r.StatusCode, body)
	}
	if body := <-answers; !strings.Contains(body, "awake") {
		t.Errorf("the call in flight: %s", body)
	}
	if code, rest := s.exit(); code != 0 || len(rest) > 0 {
		t.Errorf("exit code %d, output %q", code, rest)
	}
	if got := strings.Count(readFile(t, audit), `"principal":"bearer"`); got != 2 {
		t.Errorf("%d audit records name the principal:\n%s", got, readFile(t, audit))
	}
	if strings.Contains(s.log.String(), bearer[1][7:]) {
		t.Error("the log contains the token")
	}
}
