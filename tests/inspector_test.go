//go:build unix

package tests

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestInspector has MCP Inspector list the tools of all plugins, together and served alone, with its checks of schemas, and
// expects neither errors nor warnings. Set BULKHEAD_REAL_CLIENTS=1 to run it with mcp-inspector in PATH
// (npm install --global @modelcontextprotocol/inspector, 2.12 or later).
func TestInspector(t *testing.T) {
	if os.Getenv("BULKHEAD_REAL_CLIENTS") == "" {
		t.Skip("BULKHEAD_REAL_CLIENTS is not set")
	}
	if _, err := exec.LookPath("mcp-inspector"); err != nil {
		t.Skip(err)
	}
	u := newTestUser(t, orchard())
	list := func(t *testing.T, method string, args ...string) map[string]json.RawMessage {
		t.Helper()
		server := u.command(append(args, "--log-level", "off")...)
		inspect := []string{"--cli", "--method", method}
		for _, variable := range server.Env { // Inspector does not pass its own environment to servers
			inspect = append(inspect, "-e", variable)
		}
		if method == "tools/list" {
			inspect = append(inspect, "--strict")
		}
		cmd := exec.CommandContext(t.Context(), "mcp-inspector", append(append(inspect, "--"), server.Args...)...)
		cmd.Dir = server.Dir
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if err != nil || stderr.Len() > 0 {
			t.Fatalf("mcp-inspector: %v\n%s", err, stderr.String())
		}
		var result map[string]json.RawMessage
		if err := json.Unmarshal(out, &result); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return result
	}
	for name, args := range map[string][]string{
		"all": {"--allow-write"}, "chant": {"--plugin", "chant"}, "openspec": {"--plugin", "openspec"}, "mcpkg": {"--plugin", "mcpkg"},
		"agentpack": {"--plugin", "agentpack"}, "aam": {"--plugin", "aam", "--allow-write"},
	} {
		t.Run(name, func(t *testing.T) {
			if tools := string(list(t, "tools/list", args...)["tools"]); !strings.Contains(tools, `"inputSchema"`) {
				t.Errorf("got the tools %s", tools)
			}
			for method, member := range map[string]string{"prompts/list": "prompts", "resources/list": "resources", "resources/templates/list": "resourceTemplates"} {
				if result := list(t, method, args...); result[member] == nil {
					t.Errorf("%s: got %v", method, result)
				}
			}
		})
	}
}
