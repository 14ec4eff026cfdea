package tools_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/BurntSushi/toml"
	"github.com/google/go-cmp/cmp"
)

// exchange is an example request of the contract together with its response.
type exchange struct {
	Name   string
	Method string
	Params json.RawMessage
	Result json.RawMessage // nil if Error is set
	Error  json.RawMessage
	// Before are the calls that create the items which the example assumes.
	Before []struct {
		Tool      string
		Arguments json.RawMessage
	}
}

// readExchanges reads the examples of the contract from testdata.
func readExchanges(t *testing.T) []exchange {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("..", "testdata", "contract.json"))
	if err != nil {
		t.Fatal(err)
	}
	var all []exchange
	if err := json.Unmarshal(raw, &all); err != nil {
		t.Fatal(err)
	}
	return all
}

// TestContractExamples sends each example request of the contract, after the calls that create the items which the
// example assumes.
func TestContractExamples(t *testing.T) {
	all := readExchanges(t)
	if len(all) < 16 {
		t.Fatalf("testdata/contract.json has %d exchanges, want at least 16", len(all))
	}
	for _, test := range all {
		t.Run(test.Name, func(t *testing.T) {
			s := newServer(t)
			for _, call := range test.Before {
				if got := s.call(call.Tool, string(call.Arguments)); strings.HasPrefix(got, "Error: ") {
					t.Fatalf("%s: %s", call.Tool, got)
				}
			}
			want := test.Result
			if want == nil {
				want = test.Error
			}
			if diff := cmp.Diff(plain(t, want), plain(t, []byte(s.answer(test.Method, string(test.Params))))); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// plain decodes JSON and removes the member isError if it is false, which is the default.
func plain(t *testing.T, raw []byte) any {
	t.Helper()
	var value any
	if err := json.Unmarshal(raw, &value); err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	if object, ok := value.(map[string]any); ok && object["isError"] == false {
		delete(object, "isError")
	}
	return value
}

// manifest holds the tables of plugin.toml that describe the MCP server.
type manifest struct {
	Server struct {
		Name, Version    string
		ProtocolVersions []string `toml:"protocol_versions"`
		Changes          *bool
	}
	Offers map[string]any
	Tools  []struct {
		Name, Description, Access string
		Alone                     *bool
		Input                     map[string]any
	}
}

func readManifest(t *testing.T) manifest {
	t.Helper()
	var m manifest
	if _, err := toml.DecodeFile(filepath.Join("..", "plugin.toml"), &m); err != nil {
		t.Fatal(err)
	}
	return m
}

func TestIdentity(t *testing.T) {
	m := readManifest(t)
	if m.Server.Name != "mcpkg" || m.Server.Version != "0.1.0" || !cmp.Equal(m.Server.ProtocolVersions, []string{"2024-11-05"}) ||
		m.Server.Changes == nil || *m.Server.Changes {
		t.Errorf("plugin.toml describes the server as %+v", m.Server)
	}
	want := map[string]any{"prompts": true, "resources": true}
	got := map[string]any{"prompts": m.Offers["prompts"], "resources": m.Offers["resources"]}
	for _, absent := range []string{"completions", "logging"} {
		if m.Offers[absent] == true {
			got[absent] = true
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("capabilities that plugin.toml offers (-want +got)\n%s", diff)
	}
}

// TestToolDefinitions checks that a host with only this plugin offers exactly the tools of the contract, in the order
// of the contract.
func TestToolDefinitions(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join("..", "testdata", "tools.json"))
	if err != nil {
		t.Fatal(err)
	}
	type listed struct {
		Name        string         `json:"name"`
		Description string         `json:"description"`
		InputSchema map[string]any `json:"inputSchema"`
	}
	var want struct{ Tools []listed }
	if err := json.Unmarshal(raw, &want); err != nil {
		t.Fatal(err)
	}
	var got, further []listed
	for _, tool := range readManifest(t).Tools {
		it := listed{tool.Name, tool.Description, tool.Input}
		if tool.Alone != nil && !*tool.Alone {
			further = append(further, it)
			continue
		}
		got = append(got, it)
		if tool.Access != "write" {
			t.Errorf("%s has access %s", tool.Name, tool.Access)
		}
	}
	if diff := cmp.Diff(want.Tools, got); diff != "" {
		t.Errorf("tools of a host with only this plugin (-want +got)\n%s", diff)
	}
	if len(further) != 2 || further[0].Name != "export_project" || further[1].Name != "import_project" {
		t.Errorf("tools that are offered only with other plugins: %+v", further)
	}
}
