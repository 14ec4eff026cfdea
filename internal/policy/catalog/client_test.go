package catalog_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/authoring/hosttest"
	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/catalog"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/call"
)

// clientsWorld has plugins that compete for the tool same, the prompt x and the resources n://.
func clientsWorld(t *testing.T, tables string) *hosttest.World {
	return hosttest.New(t,
		hosttest.Plugin("a", done, "[offers]\nprompts = ['x', 'y']\nresources = ['n://']\n"+hosttest.Reads("same")+hosttest.Writes("a_writes")),
		hosttest.Plugin("b", done, "[offers]\nprompts = true\nresources = true\n"+hosttest.Reads("same")+hosttest.Reads("b_reads")),
		hosttest.Plugin("c", done, hosttest.Reads("c_reads")),
		hosttest.Files{"work/bulkhead.toml": "[[plugins]]\npath = '../plugins/a'\nisolation = 'reused'\n[[plugins]]\npath = '../plugins/b'\n" +
			"[[plugins]]\npath = '../plugins/c'\nenv = { NONE = '1' }\n" + tables})
}

func names(plugins []*catalog.Plugin) string {
	var all []string
	for _, p := range plugins {
		all = append(all, p.Name)
	}
	return strings.Join(all, " ")
}

// TestClientGetsNoNameOfWithheldPlugin checks that what a client may not use is not offered by another plugin instead.
func TestClientGetsNoNameOfWithheldPlugin(t *testing.T) {
	const match = "[[clients]]\nname = 'c'\nmatch = { auth = 'any' }\n"
	for keys, want := range map[string]string{
		"":                          "same by a, a_writes by a, b_reads by b; x by a, y by a, z by b; n://1 by a, m://1 by b",
		"plugins = ['b']":           "b_reads by b; z by b; m://1 by b",
		"plugins = ['a']":           "same by a, a_writes by a; x by a, y by a; n://1 by a",
		"plugins = []":              "; ; ",
		"plugins = ['*']":           "same by a, a_writes by a, b_reads by b; x by a, y by a, z by b; n://1 by a, m://1 by b",
		"deny_tools = ['same']":     "a_writes by a, b_reads by b; x by a, y by a, z by b; n://1 by a, m://1 by b",
		"read_only = true":          "same by a, b_reads by b; x by a, y by a, z by b; n://1 by a, m://1 by b",
		"deny_prompts = ['x']":      "same by a, a_writes by a, b_reads by b; y by a, z by b; n://1 by a, m://1 by b",
		"allow_resources = ['m:*']": "same by a, a_writes by a, b_reads by b; x by a, y by a, z by b; m://1 by b",
	} {
		base := look(t, clientsWorld(t, match+keys+"\n"))
		view := base.For(&base.Clients.Tables[0], "")
		if got := offers(view); got != want {
			t.Errorf("%s: got %s, want %s", keys, got, want)
		}
		for i, p := range view.Plugins {
			if p.Index != i || p.Grant.Reused {
				t.Errorf("%s: plugin %s has the index %d at %d, reused %v", keys, p.Name, p.Index, i, p.Grant.Reused)
			}
		}
		server, err := view.NewServer(nil)
		if err != nil || server == nil {
			t.Errorf("%s: %v", keys, err)
		}
	}
}

// offers describes which plugin offers each tool, prompt and resource.
func offers(c *catalog.Catalog) string {
	var tools, prompts, resources []string
	for _, name := range []string{"same", "a_writes", "b_reads", "c_reads"} {
		if tool := c.Tool(name); tool != nil {
			tools = append(tools, name+" by "+tool.Plugin.Name)
		}
	}
	for _, name := range []string{"x", "y", "z"} {
		if p := c.WithPrompt(name); len(p) > 0 {
			prompts = append(prompts, name+" by "+names(p))
		}
	}
	for _, uri := range []string{"n://1", "m://1"} {
		if p := c.WithResource(uri); len(p) > 0 {
			resources = append(resources, uri+" by "+names(p))
		}
	}
	return strings.Join(tools, ", ") + "; " + strings.Join(prompts, ", ") + "; " + strings.Join(resources, ", ")
}

// TestClientNeverExceedsCatalog narrows by random tables: every name has the owner that it has without the table, and no grant is more.
func TestClientNeverExceedsCatalog(t *testing.T) {
	base := look(t, clientsWorld(t, ""))
	full := map[string]bool{}
	for _, part := range strings.FieldsFunc(offers(base), func(r rune) bool { return r == ',' || r == ';' }) {
		full[strings.TrimSpace(part)] = true
	}
	r := rand.New(rand.NewPCG(3, 4))
	globs := func(from ...string) []string {
		if r.IntN(3) == 0 {
			return nil
		}
		out := []string{}
		for _, one := range from {
			if r.IntN(2) == 0 {
				out = append(out, one)
			}
		}
		return out
	}
	for range testenv.Count(200, 1000, 10_000) {
		tools, prompts := []string{"same", "a_*", "b_reads", "*"}, []string{"x", "y", "z", "*"}
		table := config.Client{
			Plugins: globs("a", "b", "c", "?"), Prompts: config.Filter{Allow: globs(prompts...), Deny: globs("x", "z")},
			Resources: config.Filter{Allow: globs("n://*", "m://*"), Deny: globs("n://1")},
			Bounds:    config.Bounds{AllowTools: globs(tools...), DenyTools: globs("same", "b*"), ReadOnly: r.IntN(2) == 0, Env: globs("A")},
		}
		view := base.For(&table, "")
		for _, part := range strings.FieldsFunc(offers(view), func(r rune) bool { return r == ',' || r == ';' }) {
			if !full[strings.TrimSpace(part)] && strings.TrimSpace(part) != "" {
				t.Fatalf("%+v: %s is not offered without the table", table, part)
			}
		}
		for _, p := range view.Plugins {
			if !table.AllowsPlugin(p.Name) || len(p.Grant.Tools) != len(p.Tools) {
				t.Fatalf("%+v: plugin %s has the tools %v", table, p.Name, p.Tools)
			}
			for _, tool := range p.Tools {
				if tool.Write && table.ReadOnly || !(config.Filter{Allow: table.AllowTools, Deny: table.DenyTools}).Allowed(tool.Name) {
					t.Fatalf("%+v: %s is offered", table, tool.Name)
				}
			}
		}
	}
}

// TestClientIsToldNothingOfOthers checks that what a server tells a client with a table names no problem and no withheld plugin.
func TestClientIsToldNothingOfOthers(t *testing.T) {
	w := clientsWorld(t, "[[clients]]\nname = 'c'\nmatch = { auth = 'any' }\nplugins = ['b', 'c']\n")
	base, err := catalog.Look(w.Options())
	if err != nil {
		t.Fatal(err)
	}
	if base.Plugins[2].Problem == "" || base.WhyUnknown("tools/call", "c_reads") == "" {
		t.Fatal("the plugin c is not left out")
	}
	view := base.For(&base.Clients.Tables[0], "")
	if got := names(view.Plugins); got != "b" {
		t.Errorf("got the plugins %s", got)
	}
	for _, name := range []string{"c_reads", "a_writes", "same"} {
		if why := view.WhyUnknown("tools/call", name); why != "" {
			t.Errorf("%s: the client is told %q", name, why)
		}
	}
	if len(view.Plugins[0].Problems) > 0 {
		t.Errorf("the client is told %v", view.Plugins[0].Problems)
	}
	for name, want := range map[string]string{"a_writes": "not_granted a", "same": "not_granted b", "c_reads": "left_out c", "none": "unknown"} { // of the audit log
		code, p := view.Refusal(call.Request{Method: "tools/call", Name: name})
		if p != nil {
			code += " " + p.Name
		}
		if code != want {
			t.Errorf("%s is refused as %s, want %s", name, code, want)
		}
	}
}

// TestClientsWithoutTableShareNoInstance checks that calls of different principals do not share the state of an instance.
func TestClientsWithoutTableShareNoInstance(t *testing.T) {
	base := look(t, clientsWorld(t, "[http]\nother_clients = 'all'\n[[clients]]\nname = 'c'\nmatch = { tokens = ['x'] }\n"))
	view := base.For(nil, "")
	if !base.Plugins[0].Grant.Reused || view.Plugins[0].Grant.Reused {
		t.Errorf("reused: %v, and for a client %v", base.Plugins[0].Grant.Reused, view.Plugins[0].Grant.Reused)
	}
	if got, want := offers(view), offers(base); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestPluginLeftToNobodyAlone narrows away the only plugin, whose server has the plugin's name.
func TestPluginLeftToNobodyAlone(t *testing.T) {
	w := hosttest.New(t, hosttest.Plugin("a", done, hosttest.Reads("one")), hosttest.Files{"work/bulkhead.toml": "[[plugins]]\npath = '../plugins/a'\n[[clients]]\nname = 'c'\nmatch = { auth = 'any' }\nplugins = []\n"})
	base := look(t, w)
	view := base.For(&base.Clients.Tables[0], "")
	if _, err := view.NewServer(nil); err != nil || len(view.Plugins) != 0 {
		t.Errorf("got %d plugins, %v", len(view.Plugins), err)
	}
}

func TestUnknownPluginOfClientIsReported(t *testing.T) {
	w := clientsWorld(t, "[[clients]]\nname = 'c'\nmatch = { auth = 'any' }\nplugins = ['a', 'bb', 'x*']\n")
	problems := fmt.Sprint(look(t, w).ClientProblems())
	for _, want := range []string{`clients[0].plugins[1]: "bb" matches no plugin; the plugins are a, b, c`, "plugins[2]"} {
		if !strings.Contains(problems, want) {
			t.Errorf("got %s, want %s", problems, want)
		}
	}
}
