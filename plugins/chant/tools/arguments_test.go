package tools_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/plugins/chant/tools"
	"github.com/bulkhead-mcp/bulkhead/sdk"
)

func TestProjectAndArgumentsAreChecked(t *testing.T) {
	t.Run("a missing project is reported before missing arguments", func(t *testing.T) {
		host, _ := newHost(t, nil)
		for name, test := range map[string]struct {
			files map[string]string
			want  string
		}{
			"no .chant": {map[string]string{}, noProject}, "no specs": {map[string]string{"config.md": "x"}, notInitialized},
		} {
			layOut(t, test.files)
			for _, tool := range everyTool() {
				for _, arguments := range []string{"", "{}", "null", `{"id": "x", "query": "x", "description": "x"}`} {
					if got := call(t, host, tool, arguments); got != test.want {
						t.Errorf("%s, %s %s: %s", name, tool, arguments, got)
					}
				}
			}
		}
	})
	host, _ := newHost(t, three())
	t.Run("the required argument is missing", func(t *testing.T) {
		for tool, required := range map[string]string{
			"chant_spec_get": "id", "chant_log": "id", "chant_search": "query", "chant_diagnose": "id",
			"chant_spec_update": "id", "chant_add": "description", "chant_finalize": "id", "chant_resume": "id",
			"chant_cancel": "id", "chant_archive": "id", "chant_verify": "id",
		} {
			for _, arguments := range []string{"{}", "null", `{"` + required + `": 5}`, `{"` + required + `": null}`, `[]`, `"id"`, `{"ID": "a"}`} {
				if got := call(t, host, tool, arguments); got != "! Missing required parameter: "+required {
					t.Errorf("%s %s: %s", tool, arguments, got)
				}
			}
		}
	})
	t.Run("no arguments at all", func(t *testing.T) {
		for _, tool := range everyTool() {
			got := call(t, host, tool, "")
			switch tool {
			case "chant_spec_list", "chant_ready", "chant_status":
				if strings.HasPrefix(got, "! ") {
					t.Errorf("%s: %s", tool, got)
				}
			case "chant_spec_get":
				if got != "! Missing required parameter: id" {
					t.Errorf("%s: %s", tool, got)
				}
			default:
				if got != "! Missing arguments" {
					t.Errorf("%s: %s", tool, got)
				}
			}
		}
	})
	t.Run("the project is found from a subdirectory and from outside", func(t *testing.T) {
		root := layOut(t, three())
		below := filepath.Join(root, "src", "deep")
		if err := os.MkdirAll(below, 0o755); err != nil {
			t.Fatal(err)
		}
		for _, cwd := range []string{below, t.TempDir()} {
			t.Chdir(cwd)
			if got := call(t, host, "chant_status", `{"brief": true}`); got != "1 in_progress | 1 completed | 1 blocked" {
				t.Errorf("in %s: %s", cwd, got)
			}
		}
	})
}

func everyTool() []string {
	p := sdk.New()
	tools.Register(p)
	return p.Describe().Tools
}

func TestOptionalArgumentsOfWrongTypeAreIgnored(t *testing.T) {
	host, _ := newHost(t, three())
	for _, test := range []struct {
		name, arguments string
		limit           string
	}{
		{"a limit of 0 returns no rows", `{"limit": 0}`, "0"},
		{"a negative limit is 50", `{"limit": -1}`, "50"},
		{"a string is 50", `{"limit": "5"}`, "50"},
		{"a fraction is 50", `{"limit": 5.0}`, "50"},
		{"an exponent is 50", `{"limit": 1e1}`, "50"},
		{"null is 50", `{"limit": null, "status": null}`, "50"},
		{"a status that is not a string filters nothing", `{"limit": 7, "status": 7}`, "7"},
		{"unknown arguments are ignored", `{"limit": 7, "verbose": {}}`, "7"},
		{"the largest limit", `{"limit": 18446744073709551615}`, "18446744073709551615"},
		{"a limit that overflows is 50", `{"limit": 18446744073709551616}`, "50"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var page struct {
				Specs    []json.RawMessage
				Total    int
				Limit    json.Number
				Returned int
			}
			if err := json.Unmarshal([]byte(call(t, host, "chant_spec_list", test.arguments)), &page); err != nil {
				t.Fatal(err)
			}
			want := 3
			if test.limit == "0" {
				want = 0
			}
			if page.Total != 3 || string(page.Limit) != test.limit || page.Returned != want || page.Specs == nil || len(page.Specs) != want {
				t.Errorf("got %+v", page)
			}
		})
	}
	t.Run("only booleans count as booleans", func(t *testing.T) {
		if got := call(t, host, "chant_status", `{"brief": "true", "include_activity": 1}`); !strings.HasPrefix(got, "{") || strings.Contains(got, "activity") {
			t.Error(got)
		}
	})
	t.Run("an update with arguments of wrong types only is refused", func(t *testing.T) {
		if got := call(t, host, "chant_spec_update", `{"id": "q7w", "status": 1, "output": []}`); got != "! No updates specified. Provide 'status' or 'output' parameter." {
			t.Error(got)
		}
	})
}

// FuzzArguments calls every tool with arbitrary arguments. It checks that the result of each call has exactly one text,
// and that every spec file can be loaded after the call.
func FuzzArguments(f *testing.F) {
	f.Add(uint8(0), `{"limit": 1e400, "status": "\ud800"}`)
	f.Add(uint8(1), `{"id": ""}`)
	f.Add(uint8(7), `{"id": "q7w", "status": "failed", "output": "---\n\u0000"}`)
	f.Add(uint8(8), `{"description": "---\nstatus: x", "prompt": "\u0085"}`)
	p := sdk.New()
	tools.Register(p)
	names := p.Describe().Tools
	f.Fuzz(func(t *testing.T, which uint8, arguments string) {
		if !json.Valid([]byte(arguments)) {
			t.Skip("the host refuses invalid JSON")
		}
		host, root := newHost(t, three())
		call(t, host, names[int(which)%len(names)], arguments)
		if got := call(t, host, "chant_status", `{}`); !strings.Contains(got, `"total"`) || len(host.Log()) > 0 {
			t.Errorf("%s: %q in %s", got, host.Log(), root)
		}
	})
}
