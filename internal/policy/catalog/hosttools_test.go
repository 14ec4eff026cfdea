package catalog_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/host"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/hosttest"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/wasmtest"
)

// listed returns the names of the listed tools, each with its hints.
func listed(t *testing.T, h *host.Host) []string {
	var list struct {
		Result struct {
			Tools []struct {
				Name        string
				Annotations json.RawMessage
			}
		}
	}
	hosttest.Decode(t, h, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, &list)
	var all []string
	for _, tool := range list.Result.Tools {
		all = append(all, tool.Name+" "+string(tool.Annotations))
	}
	return all
}

func TestListOfSearchMode(t *testing.T) {
	const (
		find     = `find_tools {"readOnlyHint":true,"openWorldHint":false}`
		describe = `describe_tools {"readOnlyHint":true,"openWorldHint":false}`
		reads    = `read_tool {"readOnlyHint":true,"openWorldHint":true}`
		get      = `a_get {"readOnlyHint":true}`
		put      = `a_put {"readOnlyHint":false}`
		putHints = `a_put {"readOnlyHint":false,"destructiveHint":false,"openWorldHint":false}`
	)
	for name, c := range map[string]struct {
		server, plugin, hints string
		want                  []string
	}{
		"all":              {"", "", "", []string{get, put}},
		"search":           {"tools = 'search'", "", "", []string{find, describe, reads, `write_tool {"readOnlyHint":false,"destructiveHint":true,"openWorldHint":true}`}},
		"listed":           {"tools = 'search'", "tools = 'listed'", "", []string{find, describe, reads, `write_tool {"readOnlyHint":false,"destructiveHint":true,"openWorldHint":true}`, get, put}},
		"listed in all":    {"tools = 'all'", "tools = 'listed'", "", []string{get, put}},
		"read_only":        {"tools = 'search'", "read_only = true", "", []string{find, describe, reads}},
		"no tools":         {"tools = 'search'", "allow_tools = []", "", nil},
		"only writes":      {"tools = 'search'", "allow_tools = ['a_put']", "", []string{find, describe, `write_tool {"readOnlyHint":false,"destructiveHint":true,"openWorldHint":true}`}},
		"hints of writers": {"tools = 'search'", "", "destructive = false\nopen_world = false\n", []string{find, describe, reads, `write_tool {"readOnlyHint":false,"destructiveHint":false,"openWorldHint":false}`}},
		"hints, listed":    {"tools = 'all'", "", "destructive = false\nopen_world = false\n", []string{get, putHints}},
	} {
		t.Run(name, func(t *testing.T) {
			w := hosttest.New(t, hosttest.Plugin("a", wasmtest.Answering(hosttest.Done), hosttest.Reads("a_get")+hosttest.Writes("a_put")+c.hints),
				hosttest.Files{"work/bulkhead.toml": "[server]\nname = 's'\n" + c.server + "\n[[plugins]]\npath = '../plugins/a'\n" + c.plugin + "\n"})
			h := w.Open(t, w.Options())
			hosttest.WantEqual(t, listed(t, h), c.want)
		})
	}
}

// TestPluginMayNotHaveNameOfHostTool checks that a name belongs to the host in the mode that has it, and that the warning names the remedy.
func TestPluginMayNotHaveNameOfHostTool(t *testing.T) {
	w := hosttest.New(t, hosttest.Plugin("a", wasmtest.Answering(hosttest.Done), hosttest.Reads("find_tools")+hosttest.Reads("a_get")))
	open := func(more string) *host.Host {
		w.Write(t, hosttest.Files{"work/bulkhead.toml": "[server]\nname = 's'\n" + more})
		return w.Open(t, w.Options())
	}
	const plugin = "[[plugins]]\npath = '../plugins/a'\n"
	h := open("tools = 'search'\n" + plugin)
	if got := h.Refusal("find_tools"); !strings.Contains(got, `offers the tool find_tools, which is the host's own where tools = "search"`) {
		t.Errorf("the reason is %q", got)
	}
	warnings := h.Plugins()[0].Warnings
	if len(warnings) != 1 || warnings[0].Line != 4 || !strings.Contains(warnings[0].String(), "plugin.toml:8") || !strings.Contains(warnings[0].Remedy, "prefix") {
		t.Errorf("the warnings are %v", warnings)
	}
	if got := hosttest.Request(t, h, "tools/call", `{"name":"find_tools","arguments":{"query":"get"}}`); !strings.Contains(got, "a_get() reads: does it") || strings.Contains(got, "find_tools(") {
		t.Errorf("the host's own tool is not called, or finds itself: %s", got)
	}
	for _, more := range []string{"tools = 'search'\n" + plugin + "prefix = 'x_'\n", "tools = 'all'\n" + plugin} {
		h := open(more)
		if got := h.Plugins()[0]; len(got.Warnings) > 0 || !got.Tools[0].Offered {
			t.Errorf("%s: got %+v", more, got)
		}
	}
}

func TestUnknownToolModeIsRefused(t *testing.T) {
	w := hosttest.New(t, hosttest.Plugin("a", wasmtest.Answering(hosttest.Done), hosttest.Reads("a_get")))
	w.Write(t, hosttest.Files{"work/bulkhead.toml": "[server]\ntools = 'find'\n[[plugins]]\npath = '../plugins/a'\n"})
	_, err := host.Open(w.Options())
	hosttest.WantUsage(t, err, "bulkhead.toml:2: server.tools", `write "all" or "search"`)
	w.Write(t, hosttest.Files{"work/bulkhead.toml": "[[plugins]]\npath = '../plugins/a'\ntools = 'hidden'\n"})
	_, err = host.Open(w.Options())
	hosttest.WantUsage(t, err, "bulkhead.toml:3: plugins[0].tools", `write "listed"`)
	o := w.Options()
	o.Tools = "find"
	_, err = host.Open(o)
	hosttest.WantUsage(t, err, `--tools: "find" is not one of all, search`)
}
