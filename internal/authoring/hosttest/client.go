package hosttest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/host"
)

// Call makes one tool call.
func Call(t testing.TB, h *host.Host, tool, arguments string) host.Answer {
	t.Helper()
	answer, err := h.Call(t.Context(), tool, json.RawMessage(arguments), host.Client{})
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

// Request makes one request in a new session. It returns the result, or the word "error" followed by the error.
func Request(t testing.TB, h *host.Host, method, params string) string {
	t.Helper()
	var answer struct {
		Result json.RawMessage
		Error  json.RawMessage
	}
	Decode(t, h, fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`, method, params), &answer)
	if answer.Error != nil {
		return "error " + string(answer.Error)
	}
	return string(answer.Result)
}

// Initialize are the parameters of the request by which a client begins a session.
const Initialize = `{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}`

// Decode makes a request and decodes its response.
func Decode(t testing.TB, h *host.Host, request string, into any) {
	t.Helper()
	var out bytes.Buffer
	if err := h.Serve(t.Context(), strings.NewReader(request+"\n"), &out); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(out.Bytes(), into); err != nil {
		t.Fatalf("%v: %s", err, out.Bytes())
	}
}

// WantUsage checks that err is a *host.UsageError that contains each of texts.
func WantUsage(t testing.TB, err error, texts ...string) {
	t.Helper()
	var usage *host.UsageError
	if !errors.As(err, &usage) {
		t.Fatalf("got %v, want a usage error", err)
	}
	for _, text := range texts {
		if !strings.Contains(filepath.ToSlash(err.Error()), text) {
			t.Errorf("got %q, want an error that contains %q", err, text)
		}
	}
}

// WantEqual compares two values.
func WantEqual(t testing.TB, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("want -, got +\n%s", diff)
	}
}
