package tools_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/BurntSushi/toml"
	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/bulkhead-mcp/bulkhead/plugins/aam/manager"
)

// pluginFile holds the tables of plugin.toml that describe tools.
type pluginFile struct {
	Plugin struct{ Write, Validate string }
	Server struct {
		Name, Version, Failure string
		Versions               []string `toml:"protocol_versions"`
	}
	Tools []struct {
		Name, Access string
		Input        string `toml:"input_json"`
		Output       string `toml:"output_json"`
		Destructive  *bool
		Idempotent   *bool
		OpenWorld    *bool `toml:"open_world"`
		Meta         struct {
			FastMCP struct{ Tags []string } `toml:"_fastmcp"`
		}
	}
}

func readPluginFile(t *testing.T) pluginFile {
	t.Helper()
	var file pluginFile
	if _, err := toml.DecodeFile(filepath.Join(testDir, "..", "plugin.toml"), &file); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestToolsMatchManifest(t *testing.T) {
	file := readPluginFile(t)
	if file.Plugin.Write != "opt-in" || file.Plugin.Validate != "plugin" || file.Server.Name != "aam" || file.Server.Version != "0.1.0" {
		t.Errorf("got %+v", file.Plugin)
	}
	want := []string{
		"aam_search read", "aam_list read", "aam_info read", "aam_validate read", "aam_config_get read", "aam_registry_list read", "aam_doctor read",
		"aam_install write destructive", "aam_uninstall write destructive", "aam_publish write", "aam_create_package write",
		"aam_config_set write destructive idempotent", "aam_registry_add write",
	}
	var got []string
	for _, tool := range file.Tools {
		line := tool.Name + " " + tool.Access
		if tool.Destructive != nil && *tool.Destructive {
			line += " destructive"
		}
		if tool.Idempotent != nil && *tool.Idempotent {
			line += " idempotent"
		}
		got = append(got, line)
		if !cmp.Equal(tool.Meta.FastMCP.Tags, []string{tool.Access}) || tool.OpenWorld == nil || *tool.OpenWorld {
			t.Errorf("%s: tags %v", tool.Name, tool.Meta.FastMCP.Tags)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestPublishedBoundsAreEnforced(t *testing.T) {
	for _, tool := range readPluginFile(t).Tools {
		var schema struct {
			Properties struct {
				Limit    struct{ Minimum, Maximum, Default int }
				Packages struct{ MaxItems int }
			}
		}
		if err := json.Unmarshal([]byte(tool.Input), &schema); err != nil {
			t.Fatal(err)
		}
		if p := schema.Properties; tool.Name == "aam_search" && (p.Limit.Minimum != manager.MinResults || p.Limit.Maximum != manager.MaxResults || p.Limit.Default != 10) ||
			tool.Name == "aam_install" && p.Packages.MaxItems != manager.MaxSpecs {
			t.Errorf("%s: got %+v", tool.Name, p)
		}
	}
}

// outputs returns the output schemas of all tools. The key is the name of the tool.
func outputs(t *testing.T) map[string]*jsonschema.Schema {
	t.Helper()
	schemas := map[string]*jsonschema.Schema{}
	for _, tool := range readPluginFile(t).Tools {
		document, err := jsonschema.UnmarshalJSON(strings.NewReader(tool.Output))
		if err != nil {
			t.Fatalf("%s: %v", tool.Name, err)
		}
		compiler := jsonschema.NewCompiler()
		if err := compiler.AddResource("output", document); err != nil {
			t.Fatal(err)
		}
		if schemas[tool.Name], err = compiler.Compile("output"); err != nil {
			t.Fatalf("%s: %v", tool.Name, err)
		}
	}
	return schemas
}

// TestResultsMatchOutputSchemas calls every tool so that the result is not empty, and validates the result against the
// output schema.
func TestResultsMatchOutputSchemas(t *testing.T) {
	w := newWorld(t)
	w.mkdir("registry")
	w.mkdir("project/.aam")
	w.write("project/prompts/p.md", "x")
	w.write("project/skills/s/SKILL.md", "x")
	schemas, called := outputs(t), map[string]bool{}
	for _, call := range [][]any{
		{"aam_registry_add", "name", "r", "url", w.path("registry")},
		{"aam_registry_list"},
		{"aam_config_set", "key", "author.name", "value", "Jane"},
		{"aam_config_get"}, {"aam_config_get", "key", "author.email"}, {"aam_config_get", "key", "registries"},
		{"aam_create_package", "path", ".", "name", "@me/pkg"},
		{"aam_validate"}, {"aam_validate", "path", "prompts"},
		{"aam_publish"},
		{"aam_search", "query", "pkg"},
		{"aam_info", "package_name", "@me/pkg"},
		{"aam_install", "packages", specs("@me/pkg", "nope", "BAD", "@me/pkg@^0.1.0")}, {"aam_install", "packages", specs("@me/pkg")},
		{"aam_list"}, {"aam_info", "package_name", "@me/pkg"},
		{"aam_doctor"},
		{"aam_uninstall", "package_name", "@me/pkg"},
	} {
		name := call[0].(string)
		result := w.result(name, call[1:]...)
		if result.IsError {
			t.Errorf("%v: %s", call, result.Text())
			continue
		}
		value, err := jsonschema.UnmarshalJSON(strings.NewReader(string(result.Structured)))
		if err == nil {
			err = schemas[name].Validate(value)
		}
		if err != nil {
			t.Errorf("%v: %v\n%s", call, err, result.Structured)
		}
		called[name] = true
	}
	if len(called) != len(schemas) {
		t.Errorf("%d tools of %d were called", len(called), len(schemas))
	}
}
