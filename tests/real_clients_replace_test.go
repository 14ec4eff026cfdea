//go:build unix

package tests

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// TestRealClientUsesReplacedEntries replaces the reference servers of Claude Code, which then lists and connects to Bulkhead in their place, and
// calls tools of two plugins because a scripted model says so. Set BULKHEAD_REAL_CLIENTS=1 to run it with the claude that is in PATH. It
// needs neither a network nor an account.
func TestRealClientUsesReplacedEntries(t *testing.T) {
	if os.Getenv("BULKHEAD_REAL_CLIENTS") == "" {
		t.Skip("BULKHEAD_REAL_CLIENTS is not set")
	}
	if _, err := exec.LookPath("claude"); err != nil {
		t.Skip(err)
	}
	r := newReplacer(t, false, ".claude.json", `{
  "hasCompletedOnboarding": true,
  "mcpServers": {
    "files": {"type": "stdio", "command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem", "${HOME}/src"], "env": {}},
    "clock": {"type": "stdio", "command": "uvx", "args": ["mcp-server-time", "--local-timezone", "Asia/Tokyo"], "env": {}}
  }
}
`)
	oak := filepath.Join(r.home, "src", "oak.txt")
	putFile(t, oak, "is tall\n")
	calls := []toolUse{
		{"mcp__bulkhead__read_text_file", map[string]string{"path": oak}},
		{"mcp__bulkhead__get_current_time", map[string]string{"timezone": "Asia/Tokyo"}},
	}
	model := &scriptedModel{calls: calls}
	api := httptest.NewServer(model)
	defer api.Close()
	claude := func(args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "claude", args...)
		cmd.Dir = r.project
		cmd.Env = append(environment(t), "PATH="+os.Getenv("PATH"), "HOME="+r.home, "XDG_STATE_HOME="+r.state, "CLAUDE_CONFIG_DIR=", "DISABLE_AUTOUPDATER=1",
			"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "ENABLE_TOOL_SEARCH=false", "npm_config_offline=true", "UV_OFFLINE=1",
			"ANTHROPIC_BASE_URL="+api.URL, "ANTHROPIC_API_KEY=none")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("claude %s: %v\n%s", strings.Join(args, " "), err, out)
		}
		return string(out)
	}
	r.mustRun("Replaced clock, files in", "client", "add", "claude-code", "--replace", "--plugins", built.plugins(t), "--yes")
	replaced := readFile(t, r.path)
	if out := claude("mcp", "list"); !containsAll(out, "bulkhead:", "Connected") || strings.Contains(out, "server-filesystem") || strings.Contains(out, "mcp-server-time") {
		t.Errorf("claude mcp list: %s", out)
	}
	out := claude("--print", "--allowedTools", calls[0].name+","+calls[1].name, "--", "How tall is the oak, and when?")
	results := model.got()
	if len(results) != 2 || !strings.Contains(results[0], "is tall") || !strings.Contains(results[1], "Asia/Tokyo") || strings.Contains(results[1], "rror") {
		t.Errorf("the model got the results %q; claude printed: %s", results, out)
	}
	t.Logf("Claude Code has rewritten its file: %t", readFile(t, r.path) != replaced)
	r.mustRun("back    clock, files", "client", "remove", "claude-code", "--yes")
	var file struct {
		MCPServers map[string]struct {
			Command string
			Args    []string
		}
	}
	if err := json.Unmarshal([]byte(readFile(t, r.path)), &file); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(file.MCPServers); got != "map[clock:{uvx [mcp-server-time --local-timezone Asia/Tokyo]} files:{npx [-y @modelcontextprotocol/server-filesystem ${HOME}/src]}]" {
		t.Errorf("after the removal: %s", got)
	}
	if out := claude("mcp", "list"); strings.Contains(out, "bulkhead:") || !containsAll(out, "server-filesystem", "mcp-server-time") {
		t.Errorf("after the removal, claude mcp list: %s", out)
	}
}

// toolUse is a call of a tool that a model asks for.
type toolUse struct {
	name  string
	input map[string]string
}

// scriptedModel is a server of the Messages API whose model asks for calls in their order, and then says that it is done.
type scriptedModel struct {
	calls   []toolUse
	mu      sync.Mutex
	results []string // what the client has sent for the calls
}

func (m *scriptedModel) got() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.results)
}

func (m *scriptedModel) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var request struct {
		Tools    []struct{ Name string }
		Messages []struct{ Content json.RawMessage }
	}
	data, err := io.ReadAll(io.LimitReader(r.Body, 16<<20))
	if err == nil {
		err = json.Unmarshal(data, &request)
	}
	if err != nil || r.URL.Path != "/v1/messages" {
		http.Error(w, `{"type": "error", "error": {"type": "not_found_error", "message": "not found"}}`, http.StatusNotFound)
		return
	}
	var results []string
	for _, message := range request.Messages {
		var blocks []struct {
			Type    string
			Content json.RawMessage
		}
		if json.Unmarshal(message.Content, &blocks) != nil {
			continue // a string
		}
		for _, block := range blocks {
			if block.Type == "tool_result" {
				results = append(results, string(block.Content))
			}
		}
	}
	block, delta, reason := `{"type": "text", "text": ""}`, `{"type": "text_delta", "text": "done"}`, "end_turn"
	offered := slices.ContainsFunc(request.Tools, func(t struct{ Name string }) bool { return t.Name == m.calls[0].name })
	if offered {
		m.mu.Lock()
		m.results = results
		m.mu.Unlock()
	}
	if n := len(results); offered && n < len(m.calls) {
		input, _ := json.Marshal(m.calls[n].input)
		partial, _ := json.Marshal(string(input))
		block = fmt.Sprintf(`{"type": "tool_use", "id": "toolu_%d", "name": %q, "input": {}}`, n, m.calls[n].name)
		delta, reason = fmt.Sprintf(`{"type": "input_json_delta", "partial_json": %s}`, partial), "tool_use"
	}
	w.Header().Set("Content-Type", "text/event-stream")
	for _, event := range []struct{ name, fields string }{
		{"message_start", `"message": {"id": "msg_1", "type": "message", "role": "assistant", "model": "scripted", "content": [], "stop_reason": null, "stop_sequence": null, "usage": {"input_tokens": 1, "output_tokens": 1}}`},
		{"content_block_start", `"index": 0, "content_block": ` + block},
		{"content_block_delta", `"index": 0, "delta": ` + delta},
		{"content_block_stop", `"index": 0`},
		{"message_delta", fmt.Sprintf(`"delta": {"stop_reason": %q, "stop_sequence": null}, "usage": {"output_tokens": 1}`, reason)},
		{"message_stop", ""},
	} {
		fields := `"type": "` + event.name + `"`
		if event.fields != "" {
			fields += ", " + event.fields
		}
		fmt.Fprintf(w, "event: %s\ndata: {%s}\n\n", event.name, fields)
	}
}
