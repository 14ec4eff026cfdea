//go:build unix

package tests

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/runtime/dispatch"
)

// result is the answer to a call.
type result struct {
	Text    string // text of all content items, one per line, or the message of a JSON-RPC error
	IsError bool
	Failure string // code of a host failure
	Code    int    // code of a JSON-RPC error; else 0
}

// readAnswer parses a message of the server. For a notification the id is 0 and Text is its method.
func readAnswer(line string) (int, result, error) {
	var m struct {
		Version string `json:"jsonrpc"`
		ID      int    `json:"id"`
		Method  string `json:"method"`
		Error   *struct {
			Code    int    `json:"code"`
			Message string `json:"message"`
		} `json:"error"`
		Result *struct {
			Content []struct {
				Text string `json:"text"`
			} `json:"content"`
			IsError bool `json:"isError"`
			Meta    struct {
				Failure struct {
					Code string `json:"code"`
				} `json:"bulkhead/error"`
			} `json:"_meta"`
		} `json:"result"`
	}
	if err := json.Unmarshal([]byte(line), &m); err != nil || m.Version != "2.0" {
		return 0, result{}, fmt.Errorf("not a JSON-RPC 2.0 message (%v): %s", err, line)
	}
	switch {
	case m.Method != "":
		return 0, result{Text: m.Method}, nil
	case m.Error != nil:
		return m.ID, result{Text: m.Error.Message, Code: m.Error.Code}, nil
	case m.Result == nil:
		return 0, result{}, fmt.Errorf("neither result nor error: %s", line)
	}
	r := result{IsError: m.Result.IsError, Failure: m.Result.Meta.Failure.Code}
	texts := make([]string, len(m.Result.Content))
	for i, item := range m.Result.Content {
		texts[i] = item.Text
	}
	r.Text = strings.Join(texts, "\n")
	return m.ID, r, nil
}

// isStartReport reports whether a message says that a call waits for its worker process. Whether there are any depends on the load
// of the machine.
func isStartReport(line string) bool {
	var m struct {
		Method string          `json:"method"`
		Params json.RawMessage `json:"params"`
	}
	return json.Unmarshal([]byte(line), &m) == nil && dispatch.IsStartReport(m.Method, m.Params)
}

// decodeJSON decodes a message for comparison.
func decodeJSON(t testing.TB, line string) any {
	t.Helper()
	var value any
	if err := json.Unmarshal([]byte(line), &value); err != nil {
		t.Fatalf("%v: %s", err, line)
	}
	return value
}
