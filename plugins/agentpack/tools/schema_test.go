package tools

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/BurntSushi/toml"
	gocmp "github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/fault"
)

// TestToolsAcceptExactlyTheirSchemas checks that each tool accepts exactly the arguments of its schema in plugin.toml.
func TestToolsAcceptExactlyTheirSchemas(t *testing.T) {
	var manifest struct {
		Tools []struct {
			Name   string
			Access string
			Input  struct {
				AdditionalProperties bool
				Required             []string
				Properties           map[string]struct {
					Type    string
					Default any
					Enum    []string
				}
			}
		}
	}
	if _, err := toml.DecodeFile(filepath.Join("..", "plugin.toml"), &manifest); err != nil {
		t.Fatal(err)
	}
	promised := map[string][]string{}
	defaults := map[string]any{"profile": "default", "target": "all", "scope": "global", "dry_run": false, "diff": false, "adopt": false}
	for _, tool := range manifest.Tools {
		if tool.Input.AdditionalProperties {
			t.Errorf("the schema of %s allows additional arguments", tool.Name)
		}
		for name, property := range tool.Input.Properties {
			promised[tool.Name] = append(promised[tool.Name], name)
			if want, ok := defaults[name]; ok && property.Default != want {
				t.Errorf("%s: the default of %s is %v, want %v", tool.Name, name, property.Default, want)
			}
			if _, ok := decoders[name]; !ok {
				t.Errorf("%s: the plugin has no decoder for %s", tool.Name, name)
			}
		}
		slices.Sort(promised[tool.Name])
	}
	has := map[string][]string{}
	for i, tool := range all() {
		has[tool.name] = slices.Sorted(slices.Values(tool.takes))
		if manifest.Tools[i].Name != tool.name {
			t.Errorf("the order of arguments differs: %s instead of %s", manifest.Tools[i].Name, tool.name)
		}
		for _, name := range tool.needs {
			if !slices.Contains(manifest.Tools[i].Input.Required, name) {
				t.Errorf("%s: the schema does not require %s", tool.name, name)
			}
		}
		if writes := manifest.Tools[i].Access == "write"; writes != (tool.approval != never) {
			t.Errorf("%s: writes is %t, the access in plugin.toml says %t", tool.name, tool.approval != never, writes)
		}
	}
	if diff := gocmp.Diff(promised, has); diff != "" {
		t.Errorf("arguments of the schemas and of the tools (-schema +tool)\n%s", diff)
	}
}

// TestHostFailuresHaveEnvelopes checks that the failure template of each tool in plugin.toml equals the envelope of a
// failed call.
func TestHostFailuresHaveEnvelopes(t *testing.T) {
	var manifest struct {
		Server struct{ Failure string }
		Tools  []struct{ Failure string }
	}
	if _, err := toml.DecodeFile(filepath.Join("..", "plugin.toml"), &manifest); err != nil {
		t.Fatal(err)
	}
	for i, tool := range all() {
		template := cmp.Or(manifest.Tools[i].Failure, manifest.Server.Failure)
		got := strings.NewReplacer("{tool}", tool.name, "{message}", "crashed", "{code}", "trap").Replace(template)
		// The host does not interpret the argument kind of the tool explain, so the template has the command without a
		// kind.
		want, err := failureEnvelope(tool.command(arguments{}),
			fault.New(fault.Unexpected, fault.Details{"host_code": "trap"}, "%s crashed", tool.name), nil)
		if err != nil {
			t.Fatal(err)
		}
		if diff := gocmp.Diff(string(want), got); diff != "" {
			t.Errorf("envelope of a failed call of %s (-tool +host)\n%s", tool.name, diff)
		}
	}
}
