// Package recorded reads the answers of reference servers, which the programs in .ci/references have recorded, and compares answers of plugins
// with them. Start with Read and Compare.
package recorded

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Case is a session with a reference server.
type Case struct {
	Name     string    `json:"name"`
	Now      int64     `json:"now"`   // time at which the server answered, in seconds since 1970; 0: not set
	File     *string   `json:"file"`  // content of memory.jsonl before the first request; nil: absent
	After    *string   `json:"after"` // content after the last request; nil: absent
	Requests []Request `json:"requests"`
	// Pages are those that the reference server could fetch, by URL: see .ci/references/record-fetch.
	Pages map[string]Page `json:"pages"`
}

// Page is what a web server responds. The body is Body, Base64 or the content of File, a path relative to the file of cases.
type Page struct {
	Status  int               `json:"status"` // 0: 200
	Headers map[string]string `json:"headers"`
	Body    string            `json:"body"`
	Base64  []byte            `json:"base64"`
	File    string            `json:"file"`
}

// Request is a tool call, or another request, with its answer.
type Request struct {
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments"`
	Method    string          `json:"method"` // empty for a tool call
	Params    json.RawMessage `json:"params"`
	Result    json.RawMessage `json:"result"`
	Error     json.RawMessage `json:"error"`
}

// Read reads a file of cases. It fails the test if they have fewer than calls tool calls.
func Read(t testing.TB, path string, calls int) []Case {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var cases []Case
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var c Case
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatalf("%s: case %d: %v", path, len(cases)+1, err)
		}
		cases = append(cases, c)
		for _, r := range c.Requests {
			if r.Tool != "" {
				calls--
			}
		}
	}
	if err := lines.Err(); err != nil || calls > 0 {
		t.Fatalf("%s: %d tool calls are missing, %v", path, calls, err)
	}
	return cases
}

// ToolResult is the result of a tool call. IsError and an absent IsError are the same.
type ToolResult struct {
	Content []struct {
		Type, Text string
	}
	StructuredContent json.RawMessage
	IsError           bool
}

// Compare compares the result of a tool call with the recorded one: its text and its structured content, which may differ in the order of
// members and in escapes only.
func Compare(t testing.TB, want, got json.RawMessage) (diff string) {
	t.Helper()
	return cmp.Diff(decode(t, want), decode(t, got), cmp.Transformer("JSON", func(raw json.RawMessage) any {
		if raw == nil {
			return nil
		}
		return Value(t, raw)
	}))
}

func decode(t testing.TB, raw json.RawMessage) (r ToolResult) {
	t.Helper()
	if err := json.Unmarshal(raw, &r); err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return r
}

// Value decodes JSON, with numbers as they are written.
func Value(t testing.TB, raw []byte) any {
	t.Helper()
	var value any
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(&value); err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return value
}
