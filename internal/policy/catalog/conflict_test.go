package catalog_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/authoring/hosttest"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/wasmtest"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/catalog"
)

var done = wasmtest.Answering(hosttest.Done)

func look(t *testing.T, w *hosttest.World) *catalog.Catalog {
	t.Helper()
	c, err := catalog.Look(w.Options())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// wantConflict checks that there is one conflict, whose text has all parts.
func wantConflict(t *testing.T, c *catalog.Catalog, parts ...string) {
	t.Helper()
	if len(c.Conflicts) != 1 {
		t.Fatalf("got %v, want one conflict", c.Conflicts)
	}
	for _, part := range parts {
		if text := c.Conflicts[0].String(); !strings.Contains(text, part) {
			t.Errorf("got %s, want %s in it", text, part)
		}
	}
}

func TestPluginsOfADirectoryInConflictAreLeftOut(t *testing.T) {
	for name, test := range map[string]struct {
		one, other hosttest.Files
		want       []string
	}{
		"a tool": {
			hosttest.Plugin("a", done, hosttest.Reads("same")+hosttest.Reads("other")), hosttest.Plugin("b", done, hosttest.Reads("same")),
			[]string{`plugins "a" (DIR/plugins/a/plugin.toml:8) and "b" (DIR/plugins/b/plugin.toml:8) both offer the tool same: `, "deny_tools in bulkhead.toml"},
		},
		"a plugin's name": {
			hosttest.At("plugins/a", hosttest.Plugin("x", done, hosttest.Reads("one"))), hosttest.At("plugins/b", hosttest.Plugin("x", done, hosttest.Reads("two"))),
			[]string{`two plugins are called "x": DIR/plugins/a/plugin.toml:3 and DIR/plugins/b/plugin.toml:3: remove one of them`},
		},
		"a prompt": {
			hosttest.Offering("a", "prompts = ['x', 'y']", "{}"), hosttest.Offering("b", "prompts = ['y']", "{}"),
			[]string{`plugins "a" (DIR/plugins/a/plugin.toml:9) and "b" (DIR/plugins/b/plugin.toml:9) both claim the prompt "y"`, "deny_prompts"},
		},
		"resources": {
			hosttest.Offering("a", "resources = ['n://a/']", "{}"), hosttest.Offering("b", "resources = ['n://']", "{}"),
			[]string{"claim overlapping resources, n://a/ and n://", "deny_resources"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := hosttest.New(t, test.one, test.other, hosttest.Plugin("c", done, hosttest.Reads("c_reads")))
			c := look(t, w)
			for i := range test.want {
				test.want[i] = strings.ReplaceAll(test.want[i], "DIR", w.Dir)
			}
			wantConflict(t, c, test.want...)
			if c.Plugins[0].Problem != c.Conflicts[0].String() || c.Plugins[1].Problem != c.Conflicts[0].String() {
				t.Errorf("got the problems %q and %q, want the conflict for both plugins", c.Plugins[0].Problem, c.Plugins[1].Problem)
			}
			if c.Tool("c_reads") == nil || c.Tool("same") != nil || c.Tool("other") != nil {
				t.Error("a plugin with a conflict is offered, or the plugin without a conflict is not")
			}
			if why := c.WhyUnknown("tools/call", "same"); name == "a tool" && !strings.Contains(why, "both offer") {
				t.Errorf("got %q", why)
			}
		})
	}
}

func TestPluginThatIsListedByNameAndByPathIsReportedWithBothLines(t *testing.T) {
	w := hosttest.New(t, hosttest.Plugin("a", done, hosttest.Reads("one")), hosttest.Files{
		"work/bulkhead.toml": "[[plugins]]\nname = 'a'\n[[plugins]]\nprefix = 'x_'\npath = '../link/a'\n"})
	if err := os.Symlink("plugins", w.Dir+"/link"); err != nil {
		t.Fatal(err)
	}
	c := look(t, w)
	wantConflict(t, c, fmt.Sprintf(`plugin "a" is listed twice: %[1]s:2 (name) and %[1]s:5 (path): remove one of them`, w.Dir+"/work/bulkhead.toml"))
	if c.Plugins[0].Problem != "" || c.Plugins[1].Problem != c.Conflicts[0].String() {
		t.Errorf("got the problems %q and %q, want the conflict for the second plugin only", c.Plugins[0].Problem, c.Plugins[1].Problem)
	}
}

func TestOrderOfConfigDecidesBetweenPluginsInConflict(t *testing.T) {
	config := func(names ...string) hosttest.Files {
		text := ""
		for _, name := range names {
			text += fmt.Sprintf("[[plugins]]\npath = '../plugins/%s'\n", name)
		}
		return hosttest.Files{"work/bulkhead.toml": text}
	}
	t.Run("a tool", func(t *testing.T) {
		w := hosttest.New(t, hosttest.Plugin("a", done, hosttest.Reads("same")+hosttest.Reads("other")), hosttest.Plugin("b", done, hosttest.Reads("same")), config("b", "a"))
		c := look(t, w)
		wantConflict(t, c, "both offer the tool same")
		if c.Tool("same").Plugin.Name != "b" || c.Tool("other").Plugin.Name != "a" || c.Plugins[1].Problem != "" {
			t.Errorf("got %+v", c.Plugins[1])
		}
		second := c.Plugins[1]
		if w := second.Grant.Withheld; len(w) != 1 || !strings.Contains(w[0].Why, `plugin "b", which the config lists first`) {
			t.Errorf("got %+v", w)
		}
		if got := second.Problems.Warnings().Error(); !strings.Contains(got, "both offer the tool same") {
			t.Errorf("got %s", got)
		}
	})
	t.Run("a plugin's name", func(t *testing.T) {
		w := hosttest.New(t, hosttest.At("plugins/a", hosttest.Plugin("x", done, hosttest.Reads("one"))), hosttest.At("plugins/b", hosttest.Plugin("x", done, hosttest.Reads("two"))), config("b", "a"))
		c := look(t, w)
		wantConflict(t, c, `two plugins are called "x"`)
		if c.Tool("two") == nil || c.Tool("one") != nil {
			t.Error("the second plugin is offered, or the first one is not")
		}
	})
	t.Run("a prompt", func(t *testing.T) {
		w := hosttest.New(t, hosttest.Offering("a", "prompts = ['x', 'y']", "{}"), hosttest.Offering("b", "prompts = ['y']", "{}"), config("b", "a"))
		c := look(t, w)
		wantConflict(t, c, `both claim the prompt "y"`)
		for prompt, owner := range map[string]string{"x": "a", "y": "b"} {
			if got := c.WithPrompt(prompt); len(got) != 1 || got[0].Name != owner || !c.ClaimsPrompt(prompt) {
				t.Errorf("the plugins with the prompt %s: got %v", prompt, got)
			}
		}
		if any := look(t, hosttest.New(t, hosttest.Offering("a", "prompts = true", "{}"), config("a"))); any.ClaimsPrompt("x") || c.ClaimsPrompt("z") || len(any.WithPrompt("x")) != 1 {
			t.Error("a prompt that no manifest names is claimed")
		}
	})
	t.Run("resources", func(t *testing.T) {
		w := hosttest.New(t, hosttest.Offering("a", "resources = ['n://a/']", "{}"), hosttest.Offering("b", "resources = ['n://']", "{}"), config("a", "b"))
		c := look(t, w)
		wantConflict(t, c, "claim overlapping resources")
		for uri, owner := range map[string]string{"n://a/x": "a", "n://x": "b"} {
			if got := c.WithResource(uri); len(got) != 1 || got[0].Name != owner {
				t.Errorf("the plugins with the resource %s: got %v", uri, got)
			}
		}
	})
}

func TestNoConflict(t *testing.T) {
	for name, test := range map[string]struct{ one, other, config string }{
		"other prefixes":                {"resources = ['n://a/']", "resources = ['n://b/']", ""},
		"a claim and a dynamic name":    {"prompts = ['x']", "prompts = true", ""},
		"two dynamic names":             {"prompts = true\nresources = true", "prompts = true\nresources = true", ""},
		"a prompt that one is denied":   {"prompts = ['x']", "prompts = ['x']", "deny_prompts = ['x']"},
		"resources that one is denied":  {"resources = ['n://']", "resources = ['n://']", "deny_resources = ['n://*']"},
		"resources that one is allowed": {"resources = ['n://', 'm://']", "resources = ['n://']", "allow_resources = ['m://*']"},
	} {
		t.Run(name, func(t *testing.T) {
			w := hosttest.New(t, hosttest.Offering("a", test.one, "{}"), hosttest.Offering("b", test.other, "{}"))
			w.Write(t, hosttest.Files{"work/bulkhead.toml": "[[plugins]]\npath = '../plugins/a'\n" + test.config + "\n[[plugins]]\npath = '../plugins/b'\n"})
			if c := look(t, w); len(c.Conflicts) > 0 {
				t.Errorf("got %v", c.Conflicts)
			}
		})
	}
	t.Run("a tool that one is denied", func(t *testing.T) {
		w := hosttest.New(t, hosttest.Plugin("a", done, hosttest.Reads("same")), hosttest.Plugin("b", done, hosttest.Reads("same")),
			hosttest.Files{"work/bulkhead.toml": "[[plugins]]\npath = '../plugins/a'\ndeny_tools = ['same']\n[[plugins]]\npath = '../plugins/b'\n"})
		c := look(t, w)
		if same := c.Tool("same"); len(c.Conflicts) > 0 || same == nil || same.Plugin.Name != "b" {
			t.Errorf("got %v, %+v", c.Conflicts, same)
		}
	})
}

func TestInstructionsNameThePluginsThatAreLeftOut(t *testing.T) {
	w := hosttest.New(t, hosttest.Plugin("a", done, hosttest.Reads("same")), hosttest.Plugin("b", done, hosttest.Reads("same")), hosttest.Plugin("c", done, hosttest.Reads("c_reads")))
	answer := hosttest.Request(t, w.Open(t, w.Options()), "initialize", `{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}`)
	for _, want := range []string{"Not available until the user changes something", "- a: plugins", "- b: plugins", "both offer the tool same", "deny_tools"} {
		if !strings.Contains(answer, want) {
			t.Errorf("got %s, want %s in it", answer, want)
		}
	}
	if strings.Contains(answer, "- c:") {
		t.Errorf("got %s", answer)
	}
}
