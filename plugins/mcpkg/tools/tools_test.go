package tools_test

import (
	"encoding/json"
	"errors"
	"path/filepath"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/plugins/mcpkg/tools"
	"github.com/bulkhead-mcp/bulkhead/sdk"
	"github.com/bulkhead-mcp/bulkhead/sdk/sdktest"
)

// server is the plugin with a store of its own, which holds the project auth-module.
type server struct {
	*sdktest.Host
	t     *testing.T
	state string
}

func newServer(t *testing.T) *server {
	t.Helper()
	state := t.TempDir()
	t.Setenv("BULKHEAD_STATE", state)
	t.Setenv("MCPKG_PROJECT", "auth-module")
	t.Setenv("MCPKG_WORKSPACE", "")
	t.Setenv("MCPKG_CREATE", "")
	p := sdk.New()
	tools.Register(p)
	return &server{sdktest.New(t, p, filepath.Join("..", "plugin.toml")), t, state}
}

// call calls a tool and returns the text of the tool's result.
func (s *server) call(tool, arguments string) string {
	s.t.Helper()
	result, err := s.CallTool(tool, arguments)
	if err != nil {
		s.t.Fatalf("%s %.200s: %v", tool, arguments, err)
	}
	if len(result.Texts) != 1 {
		s.t.Fatalf("%s %.200s: %d texts", tool, arguments, len(result.Texts))
	}
	if isText := len(result.Texts[0]) > 7 && result.Texts[0][:7] == "Error: "; isText != result.IsError {
		s.t.Errorf("%s: isError is %t for %.200s", tool, result.IsError, result.Texts[0])
	}
	return result.Texts[0]
}

// want calls a tool and compares the text of the tool's result with the expected text.
func (s *server) want(tool, arguments, want string) {
	s.t.Helper()
	if got := s.call(tool, arguments); got != want {
		s.t.Errorf("%s %.200s\n got %s\nwant %s", tool, arguments, got, want)
	}
}

// answer sends a request of any method, and returns the result or the error as JSON in the form that the contract
// prescribes.
func (s *server) answer(method, params string) string {
	s.t.Helper()
	result, err := s.Request(method, json.RawMessage(params))
	if own := (*sdk.Error)(nil); errors.As(err, &own) {
		raw, err := json.Marshal(own)
		if err != nil {
			s.t.Fatal(err)
		}
		return string(raw)
	}
	if err != nil {
		s.t.Fatalf("%s %.200s: %v", method, params, err)
	}
	return string(result)
}

// wantAnswer sends a request and compares the result or the error with the expected JSON.
func (s *server) wantAnswer(method, params, want string) {
	s.t.Helper()
	if got := s.answer(method, params); got != want {
		s.t.Errorf("%s %.200s\n got %.400s\nwant %.400s", method, params, got, want)
	}
}

func (s *server) prompts() []string   { return s.names("prompts/list", "prompts") }
func (s *server) resources() []string { return s.names("resources/list", "resources") }

func (s *server) names(method, list string) []string {
	s.t.Helper()
	var result map[string][]struct{ Name string }
	if err := json.Unmarshal([]byte(s.answer(method, "{}")), &result); err != nil {
		s.t.Fatal(err)
	}
	names := []string{}
	for _, it := range result[list] {
		names = append(names, it.Name)
	}
	return names
}

// object returns a JSON object with the given members. The argument pairs alternates names and values.
func object(t *testing.T, pairs ...any) string {
	t.Helper()
	o := map[string]any{}
	for i := 0; i < len(pairs); i += 2 {
		o[pairs[i].(string)] = pairs[i+1]
	}
	raw, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}
