package gateway

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

// FuzzServe checks for any input that Serve returns, that every output line is a JSON-RPC message in UTF-8, and that every
// request with a unique id gets exactly one response.
func FuzzServe(f *testing.F) {
	seeds := 0
	for _, file := range []string{"ask", "jsonrpc", "legacy", "modern", "offers", "results"} {
		archive, err := txtar.ParseFile("testdata/" + file + ".txtar")
		if err != nil {
			f.Fatal(err)
		}
		for _, section := range archive.Files {
			var input []byte
			for line := range bytes.Lines(section.Data) {
				if said, ok := bytes.CutPrefix(line, []byte("> ")); ok {
					input = append(input, said...)
				}
			}
			f.Add(input)
			seeds++
		}
	}
	if seeds == 0 {
		f.Fatal("no seeds")
	}
	f.Fuzz(func(t *testing.T, input []byte) {
		g := newGateway(t, Config{Logging: true, MaxLine: 4096}, newFake())
		var out outBuffer
		if err := g.Serve(t.Context(), bytes.NewReader(input), &out); err != nil {
			t.Fatalf("Serve: %v", err)
		}
		answers := map[string]int{}
		for _, line := range out.lines() {
			countResponses(t, line, answers)
		}
		for id, n := range requests(input) {
			if answers[id] != n {
				t.Errorf("id %s has %d answers, want %d", id, answers[id], n)
			}
		}
	})
}

// countResponses checks one output line and counts its responses by id.
func countResponses(t *testing.T, line string, answers map[string]int) {
	t.Helper()
	if !utf8.ValidString(line) {
		t.Fatalf("not UTF-8: %q", line)
	}
	if strings.HasPrefix(line, "[") {
		var batch []json.RawMessage
		if err := json.Unmarshal([]byte(line), &batch); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		for _, item := range batch {
			countResponses(t, string(item), answers)
		}
		return
	}
	var m map[string]json.RawMessage
	if err := json.Unmarshal([]byte(line), &m); err != nil || string(m["jsonrpc"]) != `"2.0"` {
		t.Fatalf("not a message (%v): %s", err, line)
	}
	if m["method"] != nil {
		asked := strings.HasPrefix(string(m["id"]), `"bulkhead-`) // a request to the client
		if m["id"] != nil && !asked || m["result"] != nil || m["error"] != nil {
			t.Errorf("neither a notification, nor a request to the client, nor a response: %s", line)
		}
		return
	}
	if m["id"] == nil || (m["result"] == nil) == (m["error"] == nil) || len(m) != 3 {
		t.Errorf("not a response: %s", line)
	}
	answers[string(m["id"])]++
}

// requests returns the number of expected responses by id, using encoding/json. It returns nil if the number is unknown: for
// duplicate keys, cancellations, batches, and lines that are too long or not UTF-8.
func requests(input []byte) map[string]int {
	want := map[string]int{}
	if !utf8.Valid(input) || bytes.Contains(input, []byte("cancelled")) || bytes.Contains(input, []byte(`\u`)) {
		return nil
	}
	for line := range bytes.Lines(input) {
		line = bytes.Trim(line, " \t\r\n")
		if len(line) > 4096 || bytes.HasPrefix(line, []byte("[")) || bytes.Count(line, []byte(`"id"`)) > 1 {
			return nil
		}
		var m map[string]json.RawMessage
		if json.Unmarshal(line, &m) != nil {
			continue
		}
		id := m["id"]
		if len(id) == 0 || len(id) > maxID || !strings.ContainsRune(`"-0123456789`, rune(id[0])) {
			continue
		}
		if m["method"] == nil && (m["result"] != nil || m["error"] != nil) {
			continue
		}
		want[string(id)]++
	}
	return want
}

// FuzzParse checks that parse agrees with encoding/json, except that keys are case-sensitive and a method is required.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"ping"}`, `{"jsonrpc":"2.0","id":null,"method":"x","params":[]}`,
		`{"jsonrpc":"2.0","id":1,"method":"m","params":{"name":"a","uri":"b","cursor":"c","arguments":{"name":1},"argument":{},"ref":{"type":"x","name":"y","Uri":"z"},"_meta":{"progressToken":1}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"m","params":{"name":"a","n\u0061me":"b"},"params":{"ref":[],"Cursor":1,"ref":{"name":1,"name":2},"_meta":7}}`,
		`{"jsonrpc":"2.0","id":"a","result":{}}`, `{"jsonrpc":"1.0","id":{},"method":1}`, `{"id":1,"id":2,"method":"a","params":null}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		if !json.Valid(line) || !utf8.Valid(line) || line[0] != '{' {
			return
		}
		var want map[string]json.RawMessage
		if err := json.Unmarshal(line, &want); err != nil {
			t.Fatal(err)
		}
		got, rpcErr := parse(line)
		if rpcErr != nil || got.method == "" {
			if rpcErr == nil && (want["method"] != nil || want["result"] == nil && want["error"] == nil) {
				t.Errorf("%s passes for a response", line)
			}
			return
		}
		var method string
		if err := json.Unmarshal(want["method"], &method); err != nil || method != got.method {
			t.Errorf("method %q of %s, want %q", got.method, line, method)
		}
		if id := string(want["id"]); id != "null" {
			if diff := cmp.Diff(id, string(got.id)); diff != "" {
				t.Errorf("id of %s (-want +got):\n%s", line, diff)
			}
		}
		if params := string(want["params"]); params != "null" && params != string(got.params.all) {
			t.Errorf("params %s of %s, want %s", got.params.all, line, params)
		}
		checkParams(t, got.params)
	})
}

// checkParams compares params with the results of rawjson.Member and rawjson.Ambiguous.
func checkParams(t *testing.T, p params) {
	t.Helper()
	refObject, metaObject := rawjson.Member(p.all, "ref"), rawjson.Member(p.all, "_meta")
	for _, m := range []struct {
		object []byte
		key    string
		got    []byte
	}{
		{p.all, "name", p.name}, {p.all, "uri", p.uri}, {p.all, "arguments", p.arguments}, {p.all, "argument", p.argument},
		{p.all, "cursor", p.cursor}, {p.all, "_meta", p.meta.all},
		{refObject, "type", p.ref.kind}, {refObject, "name", p.ref.name}, {refObject, "uri", p.ref.uri},
		{metaObject, "progressToken", p.meta.progressToken}, {metaObject, mcp.MetaKeyProtocolVersion, p.meta.version},
	} {
		if want := rawjson.Member(m.object, m.key); string(m.got) != string(want) {
			t.Errorf("%s of %s is %s, want %s", m.key, p.all, m.got, want)
		}
	}
	var keys []string
	for _, key := range requestKeys {
		keys = append(keys, string(key))
	}
	if got, want := p.ambiguous, ambiguous(p.all, keys); got != want {
		t.Errorf("%s: %q, want %q", p.all, got, want)
	}
	if got, want := p.ref.ambiguous, ambiguous(refObject, keys); got != want {
		t.Errorf("ref %s: %q, want %q", refObject, got, want)
	}
}
