package catalog_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/host"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/hosttest"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/wasmtest"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/catalog"
)

func TestServerIdentity(t *testing.T) {
	a := hosttest.Plugin("a", wasmtest.Answering(hosttest.Done), "[server]\nname = 'a server'\nversion = '7'\n"+hosttest.Reads("a_reads"))
	b := hosttest.Plugin("b", wasmtest.Answering(hosttest.Done), hosttest.Reads("b_reads"))
	config := func(text string) hosttest.Files {
		return hosttest.Files{"work/bulkhead.toml": text + "[[plugins]]\npath = '../plugins/a'\n"}
	}
	for name, c := range map[string]struct {
		there   []hosttest.Files
		choose  []string
		version string
		want    string
	}{
		"the plugin that is alone":                {there: []hosttest.Files{a}, want: "a server 7"},
		"named after the plugin without [server]": {there: []hosttest.Files{b}, want: "b 0.1.0"},
		"the plugin that is chosen alone":         {there: []hosttest.Files{a, b}, choose: []string{"a"}, want: "a server 7"},
		"the plugin that a config names alone":    {there: []hosttest.Files{a, config("")}, want: "a server 7"},
		"bulkhead with several":                   {there: []hosttest.Files{a, b}, version: "1.2.3", want: "bulkhead 1.2.3"},
		"bulkhead 0.0.0 without a version":        {there: []hosttest.Files{a, b}, want: "bulkhead 0.0.0"},
		"as the config calls it, with one":        {there: []hosttest.Files{a, config("[server]\nname = 'team'\n")}, version: "1.2.3", want: "team 1.2.3"},
		"as the config calls it, with several": {there: []hosttest.Files{a, b, config("[server]\nname = 'team'\n[[plugins]]\npath = '../plugins/b'\n")},
			version: "1.2.3", want: "team 1.2.3"},
		"the plugin that is alone and left out": {there: []hosttest.Files{hosttest.Plugin("a", nil, "[server]\nname = 'a server'\n"+hosttest.Reads("a_reads"))}, want: "a server 0.1.0"},
		"bulkhead where its one plugin is broken": {there: []hosttest.Files{{"plugins/a/plugin.toml": "manifest = 1\n[server]\nname = 'a server'\n"}},
			want: "bulkhead 0.0.0"},
		"bulkhead where its one plugin is no TOML": {there: []hosttest.Files{{"plugins/a/plugin.toml": "[plugin"}}, want: "bulkhead 0.0.0"},
	} {
		t.Run(name, func(t *testing.T) {
			w := hosttest.New(t, c.there...)
			o := w.Options()
			o.Plugins, o.Version = c.choose, c.version
			server, version := initialized(t, w.Open(t, o))
			if got := server + " " + version; got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

func TestUnknownProtocolVersionIsRefused(t *testing.T) {
	w := hosttest.New(t, hosttest.Plugin("a", wasmtest.Answering(hosttest.Done), "[server]\nprotocol_versions = ['1999-01-01']\n"+hosttest.Reads("a_reads")))
	_, err := host.Open(w.Options())
	hosttest.WantUsage(t, err, w.Dir+"/plugins/a/plugin.toml: server: protocol version \"1999-01-01\" is not one of")
}

// initialized returns the name and the version of the server from the response to initialize.
func initialized(t testing.TB, h *host.Host) (name, version string) {
	t.Helper()
	var r struct {
		Result struct {
			ServerInfo struct{ Name, Version string }
		}
	}
	hosttest.Decode(t, h, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":`+hosttest.Initialize+`}`, &r)
	return r.Result.ServerInfo.Name, r.Result.ServerInfo.Version
}

func TestCapabilitiesAreThoseSomePluginHas(t *testing.T) {
	server := "[server]\nchanges = false\n"
	for name, c := range map[string]struct {
		plugins []hosttest.Files
		want    string
	}{
		"of a plugin with tools alone":           {[]hosttest.Files{hosttest.Plugin("a", wasmtest.Answering(hosttest.Done), hosttest.Reads("x"))}, `{"tools":{}}`},
		"of a plugin without tools":              {[]hosttest.Files{hosttest.Offering("a", "prompts = true\nresources = true\nsubscribe = true\ncompletions = true\nlist_changed = true", "{}")}, `{"completions":{},"prompts":{"listChanged":true},"resources":{"subscribe":true,"listChanged":true}}`},
		"of several plugins together":            {[]hosttest.Files{hosttest.Offering("a", "prompts = true\nlist_changed = true", "{}"), hosttest.Offering("b", "resources = true", "{}"), hosttest.Plugin("c", wasmtest.Answering(hosttest.Done), hosttest.Reads("x"))}, `{"prompts":{"listChanged":true},"resources":{"listChanged":true},"tools":{"listChanged":true}}`},
		"of a plugin that keeps to itself alone": {[]hosttest.Files{hosttest.Offering("a", "prompts = true\nresources = true\nsubscribe = true\nlist_changed = true\n"+server, "{}")}, `{"prompts":{},"resources":{}}`},
		"of the same among others":               {[]hosttest.Files{hosttest.Offering("a", "prompts = true\nresources = true\nsubscribe = true\nlist_changed = true\n"+server, "{}"), hosttest.Plugin("c", wasmtest.Answering(hosttest.Done), hosttest.Reads("x"))}, `{"prompts":{"listChanged":true},"resources":{"subscribe":true,"listChanged":true},"tools":{"listChanged":true}}`},
		"of tools that are all withheld, alone":  {[]hosttest.Files{hosttest.Offering("a", "prompts = true\n"+hosttest.Writes("x"), "{}"), {"work/bulkhead.toml": "[[plugins]]\npath = '../plugins/a'\nread_only = true\n"}}, `{"prompts":{"listChanged":true},"tools":{"listChanged":true}}`},
		"of tools that are all withheld, among others": {[]hosttest.Files{hosttest.Offering("a", "prompts = true\n"+hosttest.Writes("x"), "{}"), hosttest.Offering("b", "prompts = true\n", "{}"),
			{"work/bulkhead.toml": "[[plugins]]\npath = '../plugins/a'\nread_only = true\n[[plugins]]\npath = '../plugins/b'\n"}}, `{"prompts":{"listChanged":true}}`},
		"of a plugin that is left out": {[]hosttest.Files{hosttest.Plugin("a", nil, "[offers]\nprompts = true\n"), hosttest.Plugin("c", wasmtest.Answering(hosttest.Done), hosttest.Reads("x"))}, `{"tools":{"listChanged":true}}`},
	} {
		t.Run(name, func(t *testing.T) {
			var got struct {
				Capabilities map[string]map[string]bool
			}
			answer := hosttest.Request(t, hosttest.Open(t, c.plugins...), "initialize", hosttest.Initialize)
			var want map[string]map[string]bool
			if err := json.Unmarshal([]byte(answer), &got); err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal([]byte(c.want), &want); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got.Capabilities); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestCompletelyDeniedOfferIsNoCapability(t *testing.T) {
	for config, want := range map[string]string{
		"deny_prompts = ['*']\ndeny_resources = ['*']":        `"capabilities":{"tools":{"listChanged":true}}`,
		"allow_prompts = []\nallow_resources = []":            `"capabilities":{"tools":{"listChanged":true}}`,
		"deny_resources = ['n://*']":                          `"capabilities":{"prompts":{"listChanged":true},"completions":{}}`,
		"deny_prompts = ['*']\nallow_resources = ['n://a/*']": `"capabilities":{"resources":{"subscribe":true,"listChanged":true},"completions":{}}`,
	} {
		w := hosttest.New(t, hosttest.Offering("a", "prompts = true\nresources = ['n://']\nsubscribe = true\ncompletions = true", "{}"),
			hosttest.Files{"work/bulkhead.toml": "[[plugins]]\npath = '../plugins/a'\n" + config + "\n"})
		got := hosttest.Request(t, w.Open(t, w.Options()), "initialize", hosttest.Initialize)
		if !strings.Contains(got, want) {
			t.Errorf("%s: got %s, want %s", config, got, want)
		}
	}
}

func TestServerHasTitleOfConfig(t *testing.T) {
	w := hosttest.New(t, hosttest.Plugin("a", wasmtest.Answering(hosttest.Done), hosttest.Reads("a_reads")),
		hosttest.Files{"work/bulkhead.toml": "[server]\nname = 'team'\ntitle = 'Tools of the team'\n[[plugins]]\npath = '../plugins/a'\n"})
	got := hosttest.Request(t, w.Open(t, w.Options()), "initialize", hosttest.Initialize)
	if want := `"title":"Tools of the team"`; !strings.Contains(got, want) {
		t.Errorf("got %s, want %s in it", got, want)
	}
}

// The instructions of a server without tools must say which remedies need a restart.
func TestServerWithoutToolsSaysWhatNeedsARestart(t *testing.T) {
	for name, files := range map[string]hosttest.Files{
		"an invalid config": {"work/bulkhead.toml": "x = 1\n"},
		"no plugin":         {"plugins": "/"},
	} {
		w := hosttest.New(t, files)
		o := w.Options()
		o.ServeNothing = true
		got := hosttest.Request(t, w.Open(t, o), "initialize", hosttest.Initialize)
		for _, want := range []string{"This server offers nothing", "without a restart once the files are there, correct and trusted; other flags and environment variables need a restart."} {
			if !strings.Contains(got, want) {
				t.Errorf("%s: got %s, want %s in it", name, got, want)
			}
		}
	}
}

func TestLookReportsInvalidServerIdentity(t *testing.T) {
	w := hosttest.New(t, hosttest.Plugin("a", wasmtest.Answering(hosttest.Done), "[server]\nprotocol_versions = ['1999-01-01']\n"+hosttest.Reads("a_reads")))
	v, err := catalog.Look(w.Options())
	hosttest.WantUsage(t, err, `server: protocol version "1999-01-01" is not one of`)
	if v == nil {
		t.Error("Look returned no Catalog")
	}
}

func TestTitlesAreNotListedForVersionsWithout(t *testing.T) {
	tool := "[[tools]]\nname = 'a_reads'\ntitle = 'Reads it'\ndescription = 'does it'\naccess = 'read'\n"
	for versions, want := range map[string]bool{
		"": true, "protocol_versions = ['2024-11-05']": false, "protocol_versions = ['2025-03-26', '2024-11-05']": false,
		"protocol_versions = ['2024-11-05', '2025-06-18']": true,
	} {
		a := hosttest.Plugin("a", wasmtest.Answering(hosttest.Done), "[server]\n"+versions+"\n"+tool)
		b := hosttest.Plugin("b", wasmtest.Answering(hosttest.Done), hosttest.Reads("b_reads"))
		for _, plugins := range [][]hosttest.Files{{a}, {a, b}} {
			h := hosttest.Open(t, plugins...)
			listed := strings.Contains(hosttest.Request(t, h, "tools/list", "{}"), `"title":"Reads it"`)
			if listed != (want || len(plugins) > 1) {
				t.Errorf("%s, %d plugins: the title is listed: %t, want %t", versions, len(plugins), listed, !listed)
			}
		}
	}
}
