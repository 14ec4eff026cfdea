package httpserver

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/bulkhead-mcp/bulkhead/internal/protocol/gateway"
	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

// hostileLines are messages beside those of the conversations of package gateway.
var hostileLines = []string{
	"null", " null ", "true", "-", `"`, "[", "[]", "[[]]", "[null]", "[{}", "[{}]x", `[{},1]`, "\xff", "\xef\xbb\xbf{}", "\x00", "{\x00}", `{"a":1}{"b":2}`,
	`{"jsonrpc":"2.0","id":1,"method":"ping","id":2}`, `{"jsonrpc":"2.0","id":1,"method":"ping","method":"nope"}`,
	`{"jsonrpc":"2.0","ID":1,"method":"ping"}`, `{"jsonrpc":"2.0","id":"` + strings.Repeat("x", 2000) + `","method":"ping"}`,
	`{"jsonrpc":"2.0","id":"` + "\xff" + `","method":"ping"}`, `{"jsonrpc":"2.0","id":"\ud800","method":"ping"}`, `{"jsonrpc":"2.0","id":1e400,"method":"ping"}`,
	`{"jsonrpc":"2.0","id":1,"method":"` + strings.Repeat("x", 2000) + `"}`, `{"jsonrpc":"2.0","id":1,"method":"a\nb\u0000"}`,
	`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":` + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + `}}`,
	`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","name":"unknown"}}`, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"Name":"echo"}}`,
	`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"unknown"}}`, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":7}}`,
	`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":null}`, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":[1]}`,
	`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","_meta":7}}`, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","_meta":{"progressToken":{}}}}`,
	`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"guessed"}}`, `{"jsonrpc":"2.0","id":1,"method":"resources/list","params":{"cursor":7}}`,
	`{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":""}}`, `{"jsonrpc":"2.0","id":1,"method":"resources/unsubscribe","params":{"uri":"note://of/others"}}`,
	`{"jsonrpc":"2.0","id":1,"result":{},"error":{}}`, `{"jsonrpc":"2.0","id":"bulkhead-1","result":{}}`, `{"jsonrpc":"2.0","result":{}}`,
	`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":{}}}`, `{"jsonrpc":"2.0","method":"notifications/cancelled"}`,
	`{"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":"loud"}}`,
	`{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":7}}}`,
	`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo",` + modernMeta + `,"requestState":"x"}}`,
	`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo",` + modernMeta + `,"requestState":7}}`,
	`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo",` + modernMeta + `,"inputResponses":[]}}`,
	`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo",` + modernMeta + `,"requestState":"x","requestState":"y"}}`,
	`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"é\n",` + modernMeta + `}}`,
	`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"note://x",` + modernMeta + `}}`,
	`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"guessed",` + modernMeta + `}}`,
}

// conversationLines returns the messages of clients in the conversations of package gateway.
func conversationLines(t *testing.T) (lines []string) {
	t.Helper()
	files, err := filepath.Glob("../gateway/testdata/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, section := range txtar.Parse(data).Files {
			for line := range bytes.Lines(section.Data) {
				if said, ok := bytes.CutPrefix(bytes.TrimSuffix(line, []byte("\n")), []byte("> ")); ok && len(bytes.TrimSpace(said)) > 0 {
					lines = append(lines, string(said))
				}
			}
		}
	}
	if len(lines) < 100 {
		t.Fatalf("only %d messages", len(lines))
	}
	return lines
}

// TestBothTransportsAnswerAlike sends messages over stdio and over HTTP and compares the bytes of what comes back.
func TestBothTransportsAnswerAlike(t *testing.T) {
	lines := slices.Concat(hostileLines, conversationLines(t))
	for _, version := range []string{"2025-03-26", "2025-11-25"} {
		run(t, Config{}, func(t *testing.T, f *fixture) {
			for _, line := range lines {
				if strings.Contains(line, "subscriptions/listen") {
					continue // its response comes when the session ends
				}
				overStdio, overHTTP := f.overStdio(version, line), f.overHTTP(version, line)
				if len(overHTTP) == 1 && len(overStdio) == 1 && strings.Contains(overHTTP[0], "-32020") && strings.Contains(overStdio[0], `"error"`) {
					continue // a header cannot have what is invalid in the body
				}
				if diff := cmp.Diff(overStdio, overHTTP); diff != "" {
					t.Errorf("%s: %s (-stdio +HTTP)\n%s", version, shown(line), diff)
				}
			}
		})
	}
}

func initializeLine(version string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":"opened","method":"initialize","params":{"protocolVersion":%q,"capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`, version)
}

// overStdio returns what a new client gets for a line.
func (f *fixture) overStdio(version, line string) (got []string) {
	f.t.Helper()
	var out bytes.Buffer
	if err := f.g.Serve(f.t.Context(), strings.NewReader(initializeLine(version)+"\n"+line+"\n"), &out); err != nil {
		f.t.Fatal(err)
	}
	for answer := range strings.Lines(out.String()) {
		if !strings.Contains(answer, `"id":"opened"`) {
			got = append(got, strings.TrimSuffix(answer, "\n"))
		}
	}
	return got
}

// overHTTP returns what a new client gets for a body.
func (f *fixture) overHTTP(version, body string) (got []string) {
	f.t.Helper()
	headers := []string{"Mcp-Session-Id", f.open(version)}
	if m, _ := gateway.ParseMessage([]byte(body)); m != nil {
		if stated, _ := m.Version(); gateway.IsModern(stated) {
			name, _ := m.Name()
			headers = []string{"MCP-Protocol-Version", stated, "Mcp-Method", m.Method(), "Mcp-Name", "=?base64?" + base64.StdEncoding.EncodeToString([]byte(name)) + "?="}
		}
	}
	r, err := f.send(f.t.Context(), http.MethodPost, Path, body, headers...)
	if err != nil {
		f.t.Fatal(err)
	}
	defer r.Body.Close()
	data, err := io.ReadAll(r.Body)
	if err != nil {
		f.t.Error(err)
	}
	f.do(http.MethodDelete, Path, "", "Mcp-Session-Id", headers[1])
	if r.Header.Get("Content-Type") != "text/event-stream" {
		if len(data) == 0 {
			return nil
		}
		if !json.Valid(data) || rawjson.Kind(data) == 0 {
			f.t.Errorf("%s: got %d %q", shown(body), r.StatusCode, data)
		}
		return []string{string(data)}
	}
	for line := range strings.Lines(string(data)) {
		if message, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "data: "); ok && message != "" {
			got = append(got, message)
		}
	}
	return got
}
