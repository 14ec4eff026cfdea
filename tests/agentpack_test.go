package tests

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// initialized is the part of the response to initialize that clients depend on.
type initialized struct {
	Version string `json:"protocolVersion"`
	Server  struct {
		Name string `json:"name"`
	} `json:"serverInfo"`
	Capabilities map[string]any `json:"capabilities"`
}

// TestAgentpackNegotiatesProtocolVersion: the server answers with the requested version if it supports it, else with
// its newest; log lines never reach stdout.
func TestAgentpackNegotiatesProtocolVersion(t *testing.T) {
	for asked, want := range map[string]string{
		"2025-03-26": "2025-03-26", "2025-06-18": "2025-06-18",
		"1999-01-01": "2025-06-18", "2024-11-05": "2025-06-18", "2025-11-25": "2025-06-18", "": "2025-06-18",
	} {
		t.Run("asked for "+asked, func(t *testing.T) {
			s := startServer(t, programCommand(t, "serve", "--plugins", built.plugins, "--plugin", "agentpack", "--project", t.TempDir()))
			var answer struct {
				Result initialized `json:"result"`
			}
			line := s.ask(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":%q,"capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`, asked))
			if err := json.Unmarshal([]byte(line), &answer); err != nil {
				t.Fatal(err)
			}
			expected := initialized{Version: want, Capabilities: map[string]any{"tools": map[string]any{}}}
			expected.Server.Name = "agentpack"
			if diff := cmp.Diff(expected, answer.Result); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			s.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
			s.wantToolError("plan", `{}`, `"command":"plan"`, "HOME")
			s.wantToolError("rollback", `{}`, `"E_CONFIRM_REQUIRED"`)
			s.end()
			if !strings.Contains(s.log.String(), "bulkhead.agentpack") {
				t.Error("nothing was logged: the test does not show that stdout is free of log lines")
			}
		})
	}
}

// TestAgentpackEnvelopeReportsHostFailures: the envelope has the tool's command, which may differ from the tool's name.
func TestAgentpackEnvelopeReportsHostFailures(t *testing.T) {
	t.Parallel()
	p := newTestUser(t, agentpackRepo(manyPrompts, "v1\n"))
	p.plugins = copyPlugins(t, "agentpack")
	editFile(t, filepath.Join(p.plugins, "agentpack", "plugin.toml"), replaceOnce(`time       = "2m"`, `time       = "1ms"`))
	before := snapshot(t, p.home)
	s := p.serve("--plugin", "agentpack")
	for i, test := range []struct{ tool, arguments, command, id, path string }{
		{"plan", `{}`, "plan", "plan", `["plan"]`},
		{"deploy_apply", `{"yes":true,"confirm_token":"x","dry_run":true}`, "deploy", "deploy --apply", `["deploy","--apply"]`},
		{"evolve_propose", `{"dry_run":true}`, "evolve.propose", "evolve propose", `["evolve","propose"]`},
		{"evolve_restore", `{"dry_run":true}`, "evolve.restore", "evolve restore", `["evolve","restore"]`},
		{"explain", `{"kind":"diff"}`, "explain", "explain", `["explain"]`},
	} {
		envelope := fmt.Sprintf(`{"schema_version":1,"ok":false,"command":%q,"command_id":%q,"command_path":%s,"version":"0.9.1","data":{},"warnings":[],`+
			`"errors":[{"code":"E_UNEXPECTED","message":"%s ran past its time limit of 1ms","details":{"host_code":"timeout"}}]}`, test.command, test.id, test.path, test.tool)
		want := members{"jsonrpc": "2.0", "id": float64(i + 1), "result": members{
			"content": []any{members{"type": "text", "text": envelope}}, "structuredContent": decodeJSON(t, envelope), "isError": true,
			"_meta": members{"bulkhead/error": members{"code": "timeout", "plugin": "agentpack"}},
		}}
		if diff := cmp.Diff(any(want), decodeJSON(t, s.ask(callLine(i+1, test.tool, test.arguments)))); diff != "" {
			t.Errorf("%s (-want +got)\n%s", test.tool, diff)
		}
	}
	s.end()
	if diff := cmp.Diff(before, snapshot(t, p.home)); diff != "" {
		t.Errorf("something was written (-before +after)\n%s", diff)
	}
}
