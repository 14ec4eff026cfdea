package catalog_test

import (
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/authoring/hosttest"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/wasmtest"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/catalog"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/hosttool"
)

// TestLimitOfResultsIsTheLowest checks the limit that tables of the config, the ceiling and a client set, and that only a view with a limit has read_result.
func TestLimitOfResultsIsTheLowest(t *testing.T) {
	const server, a, result = "[server]\nname = 's'\n", "[[plugins]]\npath = '../plugins/a'\n", "limits = { result = '8KiB' }\n"
	client := func(more string) string { return "[[clients]]\nname = 'c'\nmatch = { auth = 'any' }\n" + more }
	for name, c := range map[string]struct {
		config, ceiling string
		base, client    int // KiB
	}{
		"none":                        {server + client("") + a, "", 0, 0},
		"the table's":                 {server + client("") + a + result, "", 8, 8},
		"the defaults'":               {server + "[defaults.limits]\nresult = '6KiB'\n" + client("") + a, "", 6, 6},
		"the table's, above defaults": {server + "[defaults.limits]\nresult = '6KiB'\n" + client("") + a + result, "", 8, 8},
		"the ceiling's":               {server + client("") + a + result, "[ceiling.limits]\nresult = '4KiB'\n", 4, 4},
		"only the ceiling's":          {server + client("") + a, "[ceiling.limits]\nresult = '4KiB'\n", 4, 4},
		"a higher ceiling":            {server + client("") + a + result, "[ceiling.limits]\nresult = '9KiB'\n", 8, 8},
		"the client's":                {server + client("limits = { result = '2KiB' }\n") + a + result, "", 8, 2},
		"only the client's":           {server + client("limits = { result = '2KiB' }\n") + a, "", 0, 2},
		"a higher one of the client":  {server + client("limits = { result = '9KiB' }\n") + a + result, "", 8, 8},
		"of a plugin alone":           {client("limits = { result = '2KiB' }\n") + a + result, "[ceiling.limits]\nresult = '4KiB'\n", 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			w := hosttest.New(t, hosttest.Plugin("a", wasmtest.Answering(hosttest.Done), hosttest.Reads("a_get")+hosttest.Reads("a_typed")+"[tools.output]\ntype = 'object'\n"))
			w.Write(t, hosttest.Files{"work/bulkhead.toml": c.config})
			if c.ceiling != "" {
				w.Write(t, hosttest.Files{hosttest.Ceiling: c.ceiling})
			}
			base, err := catalog.Look(w.Options())
			if err != nil {
				t.Fatal(err)
			}
			for view, want := range map[*catalog.Catalog]int{base: c.base, base.WithKey(catalog.Key{Client: "c"}): c.client} {
				if got := view.Tool("a_get").ResultLimit(); got != want<<10 || view.Tool("a_typed").ResultLimit() != 0 {
					t.Errorf("the limits are %d and %d, want %d KiB and none", got, view.Tool("a_typed").ResultLimit(), want)
				}
				if view.HostTools().Has(hosttool.Result) != (want > 0) {
					t.Errorf("the limit is %d KiB, and read_result is there: %t", want, want == 0)
				}
			}
		})
	}
}

// TestClientsLimitBindsResultsOfScripts checks that the runner of scripts, which no table names, has the limit of a client's table.
func TestClientsLimitBindsResultsOfScripts(t *testing.T) {
	w := hosttest.New(t, hosttest.Plugin("a", wasmtest.Answering(hosttest.Done), hosttest.Reads("a_get")),
		hosttest.Plugin("script", wasmtest.Answering(hosttest.Done), "kind = \"script\"\n"+hosttest.Reads("run_script")))
	for client, want := range map[string]int{"": 8, "limits = { result = '2KiB', concurrency = 1, memory = '1MiB' }\n": 2, "limits = { result = '9KiB' }\n": 8} {
		w.Write(t, hosttest.Files{"work/bulkhead.toml": "[server]\nname = 's'\n[defaults.limits]\nresult = '8KiB'\n[[clients]]\nname = 'c'\nmatch = { auth = 'any' }\n" + client + "[[plugins]]\npath = '../plugins/a'\n"})
		o := w.Options()
		o.Tools = "code"
		base, err := catalog.Look(o)
		if err != nil {
			t.Fatal(err)
		}
		before, now := base.Tool("run_script"), base.WithKey(catalog.Key{Client: "c"}).Tool("run_script")
		if got := now.ResultLimit(); before.ResultLimit() != 8<<10 || got != want<<10 {
			t.Errorf("%q: the limits are %d and %d, want 8 KiB and %d KiB", client, before.ResultLimit(), got, want)
		}
		limits := before.Plugin.Grant.Limits
		limits.Result = now.Plugin.Grant.Limits.Result
		if now.Plugin.Grant.Limits != limits {
			t.Errorf("%q: other limits are changed: %+v, want %+v", client, now.Plugin.Grant.Limits, limits)
		}
	}
}

// TestPluginMayNotHaveNameOfReadResult checks that the name belongs to the host where a result can be shortened, if only for some clients.
func TestPluginMayNotHaveNameOfReadResult(t *testing.T) {
	const plugin = "[[plugins]]\npath = '../plugins/a'\n"
	for name, c := range map[string]struct {
		config string
		own    bool // whether the name is the host's own
	}{
		"no limit":             {"[server]\nname = 's'\n" + plugin, false},
		"a limit":              {"[server]\nname = 's'\n" + plugin + "limits = { result = '8KiB' }\n", true},
		"a limit for a client": {"[server]\nname = 's'\n[[clients]]\nname = 'c'\nmatch = { auth = 'any' }\nlimits = { result = '8KiB' }\n" + plugin, true},
		"a prefix":             {"[server]\nname = 's'\n" + plugin + "prefix = 'a_'\nlimits = { result = '8KiB' }\n", false},
		"alone":                {plugin + "limits = { result = '8KiB' }\n", false},
	} {
		t.Run(name, func(t *testing.T) {
			w := hosttest.New(t, hosttest.Plugin("a", wasmtest.Answering(hosttest.Done), hosttest.Reads("read_result")+hosttest.Reads("a_get")))
			w.Write(t, hosttest.Files{"work/bulkhead.toml": c.config})
			base, err := catalog.Look(w.Options())
			if err != nil {
				t.Fatal(err)
			}
			warnings := base.Plugins[0].Problems.Warnings()
			if withheld := base.Tool("read_result") == nil && base.Tool("a_read_result") == nil; withheld != c.own {
				t.Errorf("the plugin's tool is withheld: %t", withheld)
			}
			if c.own && (len(warnings) != 1 || !strings.Contains(warnings[0].What, "offers the tool read_result, which is the host's own where limits.result is set") || !strings.Contains(warnings[0].Remedy, "prefix")) || !c.own && len(warnings) > 0 {
				t.Errorf("the warnings are %v", warnings)
			}
		})
	}
}
