//go:build unix

package tests

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/BurntSushi/toml"
)

// TestClientSDKsFindAndCallTools has client libraries run the script of TestClientSDKs against a server that lists no tool of a plugin: each call
// goes through a tool of the host, and must give the same answers, questions, notifications and errors.
func TestClientSDKsFindAndCallTools(t *testing.T) {
	t.Parallel()
	config := surfaceConfig(t)
	putFile(t, config, "[server]\ntools = 'search'\n"+readFile(t, config))
	runNewestLibraries(t, config, searchScript(t))
}

// TestClientSDKsRunScripts has client libraries call tools by scripts.
func TestClientSDKsRunScripts(t *testing.T) {
	t.Parallel()
	config := surfaceConfig(t)
	putFile(t, config, "[server]\ntools = 'code'\n"+readFile(t, config))
	script, err := filepath.Abs("clients/code.json")
	if err != nil {
		t.Fatal(err)
	}
	runNewestLibraries(t, config, script, "--plugins", otherPlugin(t, "script"))
}

// runNewestLibraries has the newest client libraries run a script against a server, over stdio and HTTP, in both eras of the protocol.
func runNewestLibraries(t *testing.T, config, script string, args ...string) {
	t.Helper()
	url, headers := serveWithToken(t, config, args...)
	for _, library := range libraries {
		if !library.newest {
			continue
		}
		t.Run(library.name, func(t *testing.T) {
			run := library.start(t)
			for _, version := range []string{"2025-11-25", modernVersion} {
				for name, target := range map[string]scriptTarget{
					"stdio":                stdioTarget(t, config, script, version, args...),
					"http":                 {Script: script, Version: version, URL: url, Headers: headers},
					"without capabilities": {Script: script, Version: version, URL: url, Headers: headers, Bare: true},
				} {
					t.Run(version+"/"+name, func(t *testing.T) { library.check(t, target, run(t, target)) })
				}
			}
		})
	}
}

// searchScript returns a copy of the script of TestClientSDKs in which each tool is called through one of the host.
func searchScript(t *testing.T) string {
	t.Helper()
	var manifest struct {
		Tools []struct{ Name, Access string }
	}
	if err := toml.Unmarshal([]byte(readFile(t, "testdata/guests/surface/plugin.toml")), &manifest); err != nil {
		t.Fatal(err)
	}
	writes := map[string]bool{}
	for _, tool := range manifest.Tools {
		writes[tool.Name] = tool.Access == "write"
	}
	var steps []map[string]any
	if err := json.Unmarshal([]byte(readFile(t, "clients/script.json")), &steps); err != nil {
		t.Fatal(err)
	}
	for _, step := range steps {
		if step["do"] == "tools" {
			step["want"] = []string{"find_tools", "describe_tools", "read_tool", "write_tool"}
		}
		tool, ok := step["tool"].(string)
		if !ok {
			continue
		}
		inner := map[string]any{"name": tool}
		if arguments := step["arguments"]; arguments != nil {
			inner["arguments"] = arguments
		}
		step["tool"], step["arguments"] = "read_tool", inner
		if writes[tool] {
			step["tool"] = "write_tool"
		}
	}
	steps = append(steps, map[string]any{"name": "write by read_tool", "do": "call", "tool": "read_tool", "arguments": map[string]any{"name": "surface_touch"},
		"want": map[string]any{"isError": true, "content": []any{map[string]any{"type": "text", "text": "bulkhead: surface_touch writes: call it by write_tool"}}}})
	encoded, err := json.Marshal(steps)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "script.json")
	putFile(t, file, string(encoded))
	return file
}
