//go:build unix

package tests

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// inspectorEras are the ways in which MCP Inspector chooses a protocol version.
var inspectorEras = []string{"legacy", "auto", "modern"}

// TestInspector has MCP Inspector list what all plugins offer, together and served alone, with its checks of schemas, and expects
// neither errors nor warnings. .ci/clients installs it; without BULKHEAD_CLIENTS_ALL one era and all plugins together are tested.
func TestInspector(t *testing.T) {
	t.Parallel()
	node := clientProgram(t, "node", "inspector")
	u := newTestUser(t, orchard())
	sets := map[string][]string{
		"all": {"--allow-write"}, "chant": {"--plugin", "chant"}, "openspec": {"--plugin", "openspec"}, "mcpkg": {"--plugin", "mcpkg"},
		"agentpack": {"--plugin", "agentpack"}, "aam": {"--plugin", "aam", "--allow-write"},
		"fetch":      {"--plugin", "fetch"},
		"filesystem": {"--plugin", "filesystem"},
		"memory":     {"--plugin", "memory"},
		"time":       {"--plugin", "time"},
	}
	for _, era := range inspectorEras {
		for name, args := range sets {
			if os.Getenv("BULKHEAD_CLIENTS_ALL") == "" && (era != "auto" || name != "all") {
				continue
			}
			if era == "modern" && name != "all" { // alone, a plugin has the protocol versions of the server that it replaces
				continue
			}
			t.Run(era+"/"+name, func(t *testing.T) {
				inspect := func(method string, options ...string) map[string]json.RawMessage {
					server := u.command(append(slices.Clone(args), "--log-level", "off")...)
					inspect := inspector(t, node, era, append([]string{"--method", method}, options...)...)
					inspect.Dir = server.Dir
					for _, variable := range server.Env { // Inspector does not pass its own environment to servers
						inspect.Args = append(inspect.Args, "-e", variable)
					}
					inspect.Args = append(append(inspect.Args, "--"), server.Args...)
					return inspected(t, inspect)
				}
				if tools := string(inspect("tools/list", "--strict")["tools"]); !strings.Contains(tools, `"inputSchema"`) {
					t.Errorf("got the tools %s", tools)
				}
				for method, member := range map[string]string{"prompts/list": "prompts", "resources/list": "resources", "resources/templates/list": "resourceTemplates"} {
					if result := inspect(method); result[member] == nil {
						t.Errorf("%s: got %v", method, result)
					}
				}
			})
		}
	}
}

// TestInspectorOverHTTP has MCP Inspector use everything that it can of a server over HTTP.
func TestInspectorOverHTTP(t *testing.T) {
	t.Parallel()
	node := clientProgram(t, "node", "inspector")
	url, headers := serveWithToken(t, surfaceConfig(t))
	server := []string{"--server-url", url, "--transport", "http", "--header", "Authorization: " + headers["Authorization"]}
	calls := []struct {
		args []string
		want string // in the result
	}{
		{[]string{"tools/list", "--strict"}, `"name":"surface_echo"`},
		{[]string{"tools/call", "--tool-name", "surface_add", "--tool-arg", "a=2", "b=40"}, `"structuredContent":{"sum":42}`},
		{[]string{"resources/list"}, `"uri":"surface://text"`},
		{[]string{"resources/templates/list"}, `"uriTemplate":"surface://items/{id}"`},
		{[]string{"resources/read", "--uri", "surface://items/7"}, `"text":"item 7"`},
		{[]string{"prompts/list"}, `"name":"surface_topic"`},
		{[]string{"prompts/get", "--prompt-name", "surface_topic", "--prompt-args", "topic=tea"}, `"text":"Write about tea"`},
	}
	for _, era := range inspectorEras {
		if os.Getenv("BULKHEAD_CLIENTS_ALL") == "" && era != "auto" {
			continue
		}
		t.Run(era, func(t *testing.T) {
			for _, call := range calls {
				inspect := inspector(t, node, era, slices.Concat(server, []string{"--method"}, call.args)...)
				got, err := json.Marshal(inspected(t, inspect))
				if err != nil {
					t.Fatal(err)
				}
				if !strings.Contains(string(got), call.want) {
					t.Errorf("%s: got %s, want %s in it", strings.Join(call.args, " "), got, call.want)
				}
			}
		})
	}
}

// inspector returns a command of MCP Inspector with a home directory of its own.
func inspector(t *testing.T, node, era string, args ...string) *exec.Cmd {
	t.Helper()
	program := filepath.Join(os.Getenv("BULKHEAD_CLIENTS"), "node", "node_modules", ".bin", "mcp-inspector")
	cmd := exec.CommandContext(t.Context(), node, append([]string{program, "--cli", "--protocol-era", era}, args...)...)
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir())
	return cmd
}

// inspected runs a command of MCP Inspector, which must print nothing but a result.
func inspected(t *testing.T, cmd *exec.Cmd) (result map[string]json.RawMessage) {
	t.Helper()
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil || stderr.Len() > 0 {
		t.Fatalf("mcp-inspector: %v\n%s", err, stderr.String())
	}
	if err := json.Unmarshal(out, &result); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return result
}

// MCP Inspector reads the file of a client whose reference server was replaced, starts the entry, and calls a tool of the plugin.
func TestInspectorUsesReplacedEntries(t *testing.T) {
	t.Parallel()
	node := clientProgram(t, "node", "inspector")
	c := replaceFiles["claude-desktop"]
	r := newReplacer(t, false, c.file, c.content)
	putFile(t, filepath.Join(r.home, "src/oak.txt"), "is tall\n")
	r.mustRun("Replaced files in", "client", "add", "claude-desktop", "--replace", "--plugins", built.plugins(t), "--yes")
	inspect := inspector(t, node, "auto", "--config", r.path, "--server", "bulkhead", "--method", "tools/call",
		"--tool-name", "read_text_file", "--tool-arg", "path="+filepath.Join(r.home, "src/oak.txt"))
	for _, variable := range append(environment(t), "HOME="+r.home, "XDG_STATE_HOME="+r.state) {
		inspect.Args = append(inspect.Args, "-e", variable)
	}
	inspect.Env = append(inspect.Env, "MCP_INSPECTOR_SECRET_STORE=memory")
	var stderr bytes.Buffer // has log lines of the server
	inspect.Stderr = &stderr
	var result struct {
		Content []struct{ Text string }
	}
	out, err := inspect.Output()
	if err == nil {
		err = json.Unmarshal(out, &result)
	}
	if err != nil || len(result.Content) != 1 || result.Content[0].Text != "is tall\n" {
		t.Errorf("got %v\n%s\n%s", err, out, stderr.String())
	}
}
