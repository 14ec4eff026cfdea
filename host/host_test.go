package host

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/gateway"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

func TestTheServerIs(t *testing.T) {
	a := handmade("a", answering(done), "[server]\nname = 'a server'\nversion = '7'\n"+reads("a_reads"))
	b := handmade("b", answering(done), reads("b_reads"))
	config := func(text string) files {
		return files{"work/bulkhead.toml": text + "[[plugins]]\npath = '../plugins/a'\n"}
	}
	for name, c := range map[string]struct {
		there   []files
		choose  []string
		version string
		want    string
	}{
		"the plugin that is alone":                     {there: []files{a}, want: "a server 7"},
		"named after the plugin without [server]":      {there: []files{b}, want: "b 0.1.0"},
		"the plugin that is chosen alone":              {there: []files{a, b}, choose: []string{"a"}, want: "a server 7"},
		"the plugin that a config names alone":         {there: []files{a, config("")}, want: "a server 7"},
		"bulkhead with several":                        {there: []files{a, b}, version: "1.2.3", want: "bulkhead 1.2.3"},
		"bulkhead of no version where nobody gave one": {there: []files{a, b}, want: "bulkhead 0.0.0"},
		"as the config calls it, with one":             {there: []files{a, config("[server]\nname = 'team'\n")}, version: "1.2.3", want: "team 1.2.3"},
		"as the config calls it, with several": {there: []files{a, b, config("[server]\nname = 'team'\n[[plugins]]\npath = '../plugins/b'\n")},
			version: "1.2.3", want: "team 1.2.3"},
		"the plugin that is alone and left out": {there: []files{handmade("a", nil, "[server]\nname = 'a server'\n"+reads("a_reads"))}, want: "a server 0.1.0"},
		"bulkhead where its one plugin is broken": {there: []files{{"plugins/a/plugin.toml": "manifest = 1\n[server]\nname = 'a server'\n"}},
			want: "bulkhead 0.0.0"},
		"bulkhead where its one plugin is no TOML": {there: []files{{"plugins/a/plugin.toml": "[plugin"}}, want: "bulkhead 0.0.0"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, c.there...)
			o := w.options()
			o.Plugins, o.Version = c.choose, c.version
			server, version := initialized(t, w.open(t, o))
			if got := server + " " + version; got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

func TestProtocolVersionsNobodyKnows(t *testing.T) {
	w := newWorld(t, handmade("a", answering(done), "[server]\nprotocol_versions = ['1999-01-01']\n"+reads("a_reads")))
	_, err := Open(w.options())
	wantUsage(t, err, w.dir+"/plugins/a/plugin.toml: server: protocol version \"1999-01-01\" is not one of")
}

func TestOpenRefusesTwoPluginsWithOneTool(t *testing.T) {
	w := newWorld(t, handmade("a", answering(done), reads("same")+reads("other")), handmade("b", answering(done), reads("same")))
	_, err := Open(w.options())
	wantUsage(t, err, `plugins "a" (`+w.dir+`/plugins/a) and "b" (`+w.dir+`/plugins/b) both offer the tool same`, "deny_tools in bulkhead.toml")
	t.Run("unless it is denied to one", func(t *testing.T) {
		w.write(t, files{"work/bulkhead.toml": "[[plugins]]\npath = '../plugins/a'\ndeny_tools = ['same']\n[[plugins]]\npath = '../plugins/b'\n"})
		h := w.open(t, w.options())
		if o := h.tools["same"]; o.plugin == nil || o.plugin.name != "b" {
			t.Errorf("got %+v", o)
		}
	})
}

// listed are the names in an answer to tools/list.
func listed(t *testing.T, h *Host) []string {
	t.Helper()
	var r struct {
		Result struct{ Tools []struct{ Name string } }
	}
	answered(t, h, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, &r)
	names := []string{}
	for _, tool := range r.Result.Tools {
		names = append(names, tool.Name)
	}
	return names
}

// What is listed to clients, what Plugins says is offered and what can be called are one set.
func TestOfferedAre(t *testing.T) {
	both := reads("a_reads") + writes("a_writes")
	optIn := func() files {
		f := handmade("a", answering(done), both)
		f["plugins/a/plugin.toml"] = strings.Replace(f["plugins/a/plugin.toml"], "[module]", "write = 'opt-in'\n[module]", 1)
		return f
	}()
	needs := handmade("a", answering(done), "[[capabilities.fs]]\npath = '${project}'\naccess = 'r'\n"+both)
	grants := func(more string) files {
		return files{"work/bulkhead.toml": "[[plugins]]\npath = '../plugins/a'\n" + more}
	}
	a, b := handmade("a", answering(done), both), handmade("b", answering(done), reads("b_reads"))
	for name, c := range map[string]struct {
		there  []files
		change func(*Options)
		want   []string
		why    map[string]string // tool: why it is not offered
	}{
		"all tools":                       {there: []files{a, b}, want: []string{"a_reads", "a_writes", "b_reads"}},
		"tools in the config's order":     {there: []files{a, b, {"work/bulkhead.toml": "[[plugins]]\npath='../plugins/b'\n[[plugins]]\npath='../plugins/a'\n"}}, want: []string{"b_reads", "a_reads", "a_writes"}},
		"what allow_tools has":            {there: []files{a, grants("allow_tools = ['*_reads']")}, want: []string{"a_reads"}, why: map[string]string{"a_writes": `not in allow_tools (bulkhead.toml:3): add "a_writes" there`}},
		"nothing where allow_tools is []": {there: []files{a, grants("allow_tools = []")}, want: []string{}, why: map[string]string{"a_writes": "not in allow_tools", "a_reads": "not in allow_tools"}},
		"not what deny_tools has":         {there: []files{a, grants("allow_tools = ['*']\ndeny_tools = ['a_r*']")}, want: []string{"a_writes"}, why: map[string]string{"a_reads": `denied by deny_tools "a_r*" (bulkhead.toml:4)`}},
		"not what writes, read-only":      {there: []files{a, grants("read_only = true")}, want: []string{"a_reads"}, why: map[string]string{"a_writes": "writes, and the config says read_only (bulkhead.toml:3)"}},
		"not what waits for a word":       {there: []files{optIn}, want: []string{"a_reads"}, why: map[string]string{"a_writes": "--allow-write"}},
		"what waited for --allow-write":   {there: []files{optIn}, change: func(o *Options) { o.AllowWrite = true }, want: []string{"a_reads", "a_writes"}},
		"not what is broken":              {there: []files{a, {"plugins/b/plugin.toml": "nonsense"}}, want: []string{"a_reads", "a_writes"}},
		"not what is not built": {there: []files{b, handmade("a", nil, both)}, want: []string{"b_reads"},
			why: map[string]string{"a_reads": "there is no module at ", "a_writes": "`bulkhead plugin build`"}},
		"not what needs a project where none is": {there: []files{needs, b}, change: func(o *Options) { o.System.Dir = "/" }, want: []string{"b_reads"},
			why: map[string]string{"a_reads": "plugin a is left out: it needs ${project}: the working directory, /, is no project: pass --project DIR"}},
		"names with the prefix of their plugin":   {there: []files{a, grants("prefix = 'team_'")}, want: []string{"team_a_reads", "team_a_writes"}},
		"what needs a project where one is named": {there: []files{needs, b}, change: func(o *Options) { o.Project, o.System.Dir = o.System.Dir, "/" }, want: []string{"a_reads", "a_writes", "b_reads"}},
		"not what another plugin has to be with": {there: []files{handmade("a", answering(done), reads("a_reads")+reads("a_part")+"alone = false\n")}, want: []string{"a_reads"},
			why: map[string]string{"a_part": "served alone"}},
		"what another plugin is with": {there: []files{b, handmade("a", answering(done), reads("a_part")+"alone = false\n")}, want: []string{"a_part", "b_reads"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, c.there...)
			o := w.options()
			if c.change != nil {
				c.change(&o)
			}
			h := w.open(t, o)
			wantEqual(t, listed(t, h), c.want)
			offered := []string{}
			for _, p := range h.Plugins() {
				for _, tool := range p.Tools {
					_, callable := h.Tool(tool.Name)
					if callable != tool.Offered || callable == (h.Refusal(tool.Name) != "") {
						t.Errorf("%s: offered: %t, callable: %t, refused: %q", tool.Name, tool.Offered, callable, h.Refusal(tool.Name))
					}
					if answer := asked(t, h, tool.Name, ""); callable == (answer.Error != nil) {
						t.Errorf("%s: offered: %t, and a call gave %+v", tool.Name, tool.Offered, answer.Error)
					}
					if tool.Offered {
						offered = append(offered, tool.Name)
					}
				}
			}
			wantEqual(t, offered, c.want)
			for tool, why := range c.why {
				if got := h.Refusal(tool); slices.Contains(c.want, tool) || !strings.Contains(got, why) {
					t.Errorf("%s is refused with %q, want %q", tool, got, why)
				}
			}
		})
	}
}

func TestARefusalKnowsToolsByTheNamesThatClientsSee(t *testing.T) {
	w := newWorld(t, handmade("a", nil, reads("a_reads")), files{"work/bulkhead.toml": "[[plugins]]\npath = '../plugins/a'\nprefix = 'team_'\n"})
	b := backend{w.open(t, w.options())}
	call := func(tool string) string {
		_, err := b.Find(gateway.Request{Method: abi.MethodToolsCall, Name: tool})
		return err.Message
	}
	if got := call("team_a_reads"); !strings.Contains(got, `Unknown tool: team_a_reads: plugin "a" is left out: there is no module at `) {
		t.Errorf("got %q", got)
	}
	if got := call("a_reads"); got != "Unknown tool: a_reads" {
		t.Errorf("a name that no client was told: %q", got)
	}
}

// A module may always send log messages; the client gets those of plugins that say so in their manifest.
func TestLogMessagesReachTheClientOf(t *testing.T) {
	message := func(from string) []byte {
		return operating(`{"op":"notify","params":{"method":"notifications/message","params":{"level":"error","data":"from `+from+`"}}}`, done)
	}
	const offers = "[offers]\nlogging = true\n"
	loud := handmade("loud", message("loud"), offers+reads("loud_reads"))
	quiet := handmade("quiet", message("quiet"), reads("quiet_reads"))
	for name, c := range map[string]struct {
		there []files
		tool  string
		want  string
	}{
		"a plugin that offers logging":                      {[]files{loud}, "loud_reads", `{"level":"error","data":"from loud"}`},
		"no plugin that does not":                           {[]files{quiet}, "quiet_reads", ""},
		"no plugin that does not, beside one that does":     {[]files{loud, quiet}, "quiet_reads", ""},
		"a plugin that offers it, beside one that does not": {[]files{loud, quiet}, "loud_reads", `{"level":"error","data":"from loud"}`},
	} {
		t.Run(name, func(t *testing.T) {
			h := newWorldHost(t, c.there...)
			got := ""
			answer, err := h.Call(t.Context(), c.tool, nil, func(method string, params json.RawMessage) { got += string(params) })
			if err != nil || answer.IsError || answer.Error != nil {
				t.Fatalf("got %+v, %v", answer, err)
			}
			if got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

func TestEnvIsGrantedToThePluginsThatAsk(t *testing.T) {
	const secret = "s3cret-value"
	w := newWorld(t, handmade("a", answering(done), "[capabilities]\nenv = ['TOKEN']\n"+reads("a_reads")), handmade("b", answering(done), reads("b_reads")))
	o := w.options()
	o.Env = map[string]string{"TOKEN": secret, "OTHER": secret}
	h := w.open(t, o)
	wantEqual(t, h.plugins[0].grant.Env, map[string]string{"TOKEN": secret})
	wantEqual(t, h.plugins[1].grant.Env, map[string]string{})
	asked(t, h, "a_reads", "")
	asked(t, h, "b_reads", "")
	info, err := json.Marshal(h.Plugins())
	if err != nil {
		t.Fatal(err)
	}
	if text := string(info) + w.log.String(); strings.Contains(text, secret) {
		t.Errorf("the value is in %s", text)
	}
}

// serving serves a client that says nothing until end is called.
func serving(t *testing.T, h *Host) (end func()) {
	t.Helper()
	in, client := io.Pipe()
	served := make(chan error)
	go func() { served <- h.Serve(t.Context(), in, io.Discard) }()
	fmt.Fprintln(client, `{"jsonrpc":"2.0","id":1,"method":"ping"}`) // returns once Serve reads
	return func() {
		client.Close()
		if err := <-served; err != nil {
			t.Error(err)
		}
	}
}

// compiled is how many modules' code the cache has.
func compiled(t *testing.T, w *world) int {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(w.dir, "cache", "bulkhead", "module-*", "sums.json"))
	if err != nil {
		t.Fatal(err)
	}
	return len(found)
}

func TestServingCompilesInTheBackground(t *testing.T) {
	w := newWorld(t, handmade("a", nil, reads("a_reads")), handmade("b", answering(done), reads("b_reads")), handmade("c", crashing(), reads("c_reads")))
	h := w.open(t, w.options())
	end := serving(t, h)
	for deadline := time.Now().Add(10 * time.Second); compiled(t, w) < 2; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the modules were not compiled")
		}
	}
	end()
	for _, p := range h.plugins {
		if p.started.Load() {
			t.Errorf("plugin %s was loaded", p.name)
		}
	}
	if _, err := os.Stat(filepath.Join(w.dir, "state")); err == nil {
		t.Error("there are state folders, and nothing was called")
	}
}

// What has not begun in the background does not begin any more, whether the client is gone or not.
func TestCloseWaitsForNothingThatHasNotBegun(t *testing.T) {
	for _, gone := range []bool{true, false} {
		t.Run(fmt.Sprintf("client gone: %t", gone), func(t *testing.T) {
			w := newWorld(t, handmade("a", answering(done), reads("a_reads")))
			h, err := Open(w.options())
			if err != nil {
				t.Fatal(err)
			}
			end := serving(t, h)
			if gone {
				end()
			} else {
				defer end()
			}
			if err := h.Close(t.Context()); err != nil {
				t.Error(err)
			}
			if compiled(t, w) > 0 {
				t.Error("a module was compiled")
			}
		})
	}
}

func TestTheCacheIsNotNeeded(t *testing.T) {
	w := newWorld(t, handmade("a", answering(done), reads("a_reads")), files{"file": ""})
	w.env["XDG_CACHE_HOME"] = w.dir + "/file"
	h := w.open(t, w.options())
	if answer := asked(t, h, "a_reads", ""); answer.IsError || answer.Error != nil {
		t.Errorf("got %+v", answer)
	}
	if !strings.Contains(w.log.String(), "compiled modules are not kept") {
		t.Errorf("logged %q", w.log.String())
	}
}

func TestServeEndsWithItsContext(t *testing.T) {
	h := newWorldHost(t, handmade("a", answering(done), reads("a_reads")))
	ctx, cancel := context.WithCancel(t.Context())
	in, _ := io.Pipe()
	served := make(chan error)
	go func() { served <- h.Serve(ctx, in, &bytes.Buffer{}) }()
	cancel()
	if err := <-served; err != context.Canceled {
		t.Errorf("got %v", err)
	}
}
