package catalog_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/host"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/hosttest"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/catalog"
)

const project = "[[capabilities.fs]]\npath = '${project}'\naccess = 'rw'\n"

// unready returns a world with two plugins that require a path in the project: a for all tools, b for all but b_init.
func unready(t *testing.T) (*hosttest.World, host.Options) {
	w := hosttest.New(t,
		hosttest.Plugin("a", done, project+"[[requires]]\npaths = ['${cwd}/.a']\nwhy = 'data'\n"+hosttest.Reads("a_reads")),
		hosttest.Plugin("b", done, project+"[offers]\nprompts = ['p']\nresources = ['b://']\n[[requires]]\npaths = ['${cwd}/.b']\nwhy = 'data'\nexcept = ['b_init']\n"+
			hosttest.Reads("b_reads")+hosttest.Writes("b_init")))
	return w, w.Options()
}

// offered returns the names of the offered tools, prompts and resources.
func offered(t *testing.T, o host.Options) (names []string, c *catalog.Catalog) {
	t.Helper()
	c, err := catalog.Look(o)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range c.Plugins {
		for _, tool := range p.Manifest.Tools {
			if c.Tool(tool.Name) != nil {
				names = append(names, tool.Name)
			}
		}
		if p.Problem == "" {
			names = append(names, slices.Concat(p.Prompts(), p.Resources())...)
		}
	}
	return names, c
}

func TestPluginThatCannotWorkYetIsNotOffered(t *testing.T) {
	w, o := unready(t)
	names, c := offered(t, o)
	hosttest.WantEqual(t, names, []string{"b_init"})
	for tool, want := range map[string]string{
		"a_reads": `plugin "a" is left out: it cannot work yet: ` + w.Dir + "/work/.a (data) does not exist: create it",
		"b_reads": `plugin "b": it cannot work yet: ` + w.Dir + "/work/.b (data) does not exist: create it",
		"b_init":  "", "b_none": "",
	} {
		if got := c.WhyUnknown("tools/call", tool); got != want {
			t.Errorf("%s: got %q, want %q", tool, got, want)
		}
	}
	answer := hosttest.Request(t, w.Open(t, o), "initialize", `{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}`)
	for _, want := range []string{"- a: it cannot work yet: ", "- b: b_reads cannot work yet: " + w.Dir + "/work/.b (data) does not exist"} {
		if !strings.Contains(answer, want) {
			t.Errorf("instructions: got %s, want %s in it", answer, want)
		}
	}
}

func TestOffersFollowRequiredPaths(t *testing.T) {
	w, o := unready(t)
	_, c := offered(t, o)
	hosttest.WantEqual(t, c.RequiredPaths(), []string{w.Dir + "/work/.a", w.Dir + "/work/.b"})
	for _, dir := range c.RequiredPaths() {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	names, c := offered(t, o)
	hosttest.WantEqual(t, names, []string{"a_reads", "b_reads", "b_init", "p", "b://"})
	hosttest.WantEqual(t, c.RequiredPaths(), []string{w.Dir + "/work/.a", w.Dir + "/work/.b"})
}

func TestPluginThatCannotWorkYetIsOfferedIf(t *testing.T) {
	w, o := unready(t)
	o.Plugins = []string{"b"}
	names, c := offered(t, o)
	hosttest.WantEqual(t, names, []string{"b_reads", "b_init", "p", "b://"}) // b is served alone
	if paths := c.RequiredPaths(); paths != nil {
		t.Errorf("RequiredPaths returned %q for a plugin that is always offered, want none", paths)
	}
	o.Plugins, o.ConfigFile = nil, "bulkhead.toml"
	w.Write(t, hosttest.Files{"work/bulkhead.toml": "[[plugins]]\npath = '../plugins/b'\n"})
	names, _ = offered(t, o)
	hosttest.WantEqual(t, names, []string{"b_reads", "b_init", "p", "b://"}) // the only plugin of a config is served alone, too
	w.Write(t, hosttest.Files{"work/bulkhead.toml": "[server]\nname = 'team'\n[[plugins]]\npath = '../plugins/b'\n"})
	names, _ = offered(t, o)
	hosttest.WantEqual(t, names, []string{"b_init"}) // with a name of its own, the server does not serve the plugin alone
	w.Write(t, hosttest.Files{"work/bulkhead.toml": "[[plugins]]\npath = '../plugins/a'\nalways_offer = true\n[[plugins]]\npath = '../plugins/b'\n"})
	names, _ = offered(t, o)
	hosttest.WantEqual(t, names, []string{"a_reads", "b_init"}) // always_offer is set for a only
}

// A tool that the config withholds must look like one that does not exist.
func TestWithheldToolThatCannotWorkYetIsNotDisclosed(t *testing.T) {
	w, o := unready(t)
	w.Write(t, hosttest.Files{"work/bulkhead.toml": "[[plugins]]\npath = '../plugins/a'\n[[plugins]]\npath = '../plugins/b'\ndeny_tools = ['b_reads']\n"})
	o.ConfigFile = "bulkhead.toml"
	_, c := offered(t, o)
	if got := c.WhyUnknown("tools/call", "b_reads"); got != "" {
		t.Errorf("got %q", got)
	}
}
