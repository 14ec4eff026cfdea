package host_test

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

	"github.com/bulkhead-mcp/bulkhead/host"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/hosttest"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/wasmtest"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/catalog"
)

// listed returns the names in the answer to tools/list.
func listed(t *testing.T, h *host.Host) []string {
	t.Helper()
	var r struct {
		Result struct{ Tools []struct{ Name string } }
	}
	hosttest.Decode(t, h, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, &r)
	names := []string{}
	for _, tool := range r.Result.Tools {
		names = append(names, tool.Name)
	}
	return names
}

// TestOfferedAre checks that the tools in tools/list, the tools that Plugins reports as offered, and the callable tools are the same.
func TestOfferedAre(t *testing.T) {
	both := hosttest.Reads("a_reads") + hosttest.Writes("a_writes")
	optIn := func() hosttest.Files {
		f := hosttest.Plugin("a", wasmtest.Answering(hosttest.Done), both)
		f["plugins/a/plugin.toml"] = strings.Replace(f["plugins/a/plugin.toml"], "[module]", "write = 'opt-in'\n[module]", 1)
		return f
	}()
	needs := hosttest.Plugin("a", wasmtest.Answering(hosttest.Done), "[[capabilities.fs]]\npath = '${project}'\naccess = 'r'\n"+both)
	grants := func(more string) hosttest.Files {
		return hosttest.Files{"work/bulkhead.toml": "[[plugins]]\npath = '../plugins/a'\n" + more}
	}
	a, b := hosttest.Plugin("a", wasmtest.Answering(hosttest.Done), both), hosttest.Plugin("b", wasmtest.Answering(hosttest.Done), hosttest.Reads("b_reads"))
	for name, c := range map[string]struct {
		there  []hosttest.Files
		change func(*host.Options)
		want   []string
		why    map[string]string // the reason why each tool is not offered, keyed by the tool's name
	}{
		"all tools":                       {there: []hosttest.Files{a, b}, want: []string{"a_reads", "a_writes", "b_reads"}},
		"tools in the config's order":     {there: []hosttest.Files{a, b, {"work/bulkhead.toml": "[[plugins]]\npath='../plugins/b'\n[[plugins]]\npath='../plugins/a'\n"}}, want: []string{"b_reads", "a_reads", "a_writes"}},
		"what allow_tools has":            {there: []hosttest.Files{a, grants("allow_tools = ['*_reads']")}, want: []string{"a_reads"}, why: map[string]string{"a_writes": `not in allow_tools (bulkhead.toml:3): add "a_writes" there`}},
		"nothing where allow_tools is []": {there: []hosttest.Files{a, grants("allow_tools = []")}, want: []string{}, why: map[string]string{"a_writes": "not in allow_tools", "a_reads": "not in allow_tools"}},
		"not what deny_tools has":         {there: []hosttest.Files{a, grants("allow_tools = ['*']\ndeny_tools = ['a_r*']")}, want: []string{"a_writes"}, why: map[string]string{"a_reads": `denied by deny_tools "a_r*" (bulkhead.toml:4)`}},
		"not what writes, read-only":      {there: []hosttest.Files{a, grants("read_only = true")}, want: []string{"a_reads"}, why: map[string]string{"a_writes": "writes, but the config sets read_only (bulkhead.toml:3)"}},
		"not what waits for a word":       {there: []hosttest.Files{optIn}, want: []string{"a_reads"}, why: map[string]string{"a_writes": "--allow-write"}},
		"what waited for --allow-write":   {there: []hosttest.Files{optIn}, change: func(o *host.Options) { o.AllowWrite = true }, want: []string{"a_reads", "a_writes"}},
		"not what is broken":              {there: []hosttest.Files{a, {"plugins/b/plugin.toml": "nonsense"}}, want: []string{"a_reads", "a_writes"}},
		"not what is not built": {there: []hosttest.Files{b, hosttest.Plugin("a", nil, both)}, want: []string{"b_reads"},
			why: map[string]string{"a_reads": "module.file: there is no module at ", "a_writes": "remedy: put the module there"}},
		"not what needs a project where none is": {there: []hosttest.Files{needs, b}, change: func(o *host.Options) { o.System.Dir = "/" }, want: []string{"b_reads"},
			why: map[string]string{"a_reads": "plugin a is left out: it needs ${project}: the working directory, /, cannot be the project: pass --project DIR"}},
		"names with the prefix of their plugin":   {there: []hosttest.Files{a, grants("prefix = 'team_'")}, want: []string{"team_a_reads", "team_a_writes"}},
		"what needs a project where one is named": {there: []hosttest.Files{needs, b}, change: func(o *host.Options) { o.Project, o.System.Dir = o.System.Dir, "/" }, want: []string{"a_reads", "a_writes", "b_reads"}},
		"not what another plugin has to be with": {there: []hosttest.Files{hosttest.Plugin("a", wasmtest.Answering(hosttest.Done), hosttest.Reads("a_reads")+hosttest.Reads("a_part")+"alone = false\n")}, want: []string{"a_reads"},
			why: map[string]string{"a_part": "served alone"}},
		"what another plugin is with": {there: []hosttest.Files{b, hosttest.Plugin("a", wasmtest.Answering(hosttest.Done), hosttest.Reads("a_part")+"alone = false\n")}, want: []string{"a_part", "b_reads"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := hosttest.New(t, c.there...)
			o := w.Options()
			if c.change != nil {
				c.change(&o)
			}
			h := w.Open(t, o)
			hosttest.WantEqual(t, listed(t, h), c.want)
			offered := []string{}
			for _, p := range h.Plugins() {
				for _, tool := range p.Tools {
					_, callable := h.Tool(tool.Name)
					if callable != tool.Offered || callable == (h.Refusal(tool.Name) != "") {
						t.Errorf("%s: offered: %t, callable: %t, refused: %q", tool.Name, tool.Offered, callable, h.Refusal(tool.Name))
					}
					if answer := hosttest.Call(t, h, tool.Name, ""); callable == (answer.Error != nil) {
						t.Errorf("%s: offered: %t, and a call gave %+v", tool.Name, tool.Offered, answer.Error)
					}
					if tool.Offered {
						offered = append(offered, tool.Name)
					}
				}
			}
			hosttest.WantEqual(t, offered, c.want)
			for tool, why := range c.why {
				if got := h.Refusal(tool); slices.Contains(c.want, tool) || !strings.Contains(filepath.ToSlash(got), why) {
					t.Errorf("%s is refused with %q, want %q", tool, got, why)
				}
			}
		})
	}
}

func TestARefusalKnowsToolsByTheNamesThatClientsSee(t *testing.T) {
	w := hosttest.New(t, hosttest.Plugin("a", nil, hosttest.Reads("a_reads")), hosttest.Files{"work/bulkhead.toml": "[[plugins]]\npath = '../plugins/a'\nprefix = 'team_'\n"})
	h := w.Open(t, w.Options())
	call := func(tool string) string { return hosttest.Call(t, h, tool, "").Error.Message }
	if got := call("team_a_reads"); !strings.Contains(got, `Unknown tool: team_a_reads: plugin "a" is left out: `) || !strings.Contains(got, "module.file: there is no module at ") {
		t.Errorf("got %q", got)
	}
	if got := call("a_reads"); got != "Unknown tool: a_reads" {
		t.Errorf("the answer to a name that clients were not told is: %q", got)
	}
}

// TestLogMessagesReachTheClientOf checks who gets log messages. Every module may send them, but the client gets a message only if the
// manifest of the plugin offers logging.
func TestLogMessagesReachTheClientOf(t *testing.T) {
	message := func(from string) []byte {
		return wasmtest.Operating(`{"op":"notify","params":{"method":"notifications/message","params":{"level":"error","data":"from `+from+`"}}}`, hosttest.Done)
	}
	const offers = "[offers]\nlogging = true\n"
	loud := hosttest.Plugin("loud", message("loud"), offers+hosttest.Reads("loud_reads"))
	quiet := hosttest.Plugin("quiet", message("quiet"), hosttest.Reads("quiet_reads"))
	for name, c := range map[string]struct {
		there []hosttest.Files
		tool  string
		want  string
	}{
		"a plugin that offers logging":                      {[]hosttest.Files{loud}, "loud_reads", `{"level":"error","data":"from loud"}`},
		"no plugin that does not":                           {[]hosttest.Files{quiet}, "quiet_reads", ""},
		"no plugin that does not, beside one that does":     {[]hosttest.Files{loud, quiet}, "quiet_reads", ""},
		"a plugin that offers it, beside one that does not": {[]hosttest.Files{loud, quiet}, "loud_reads", `{"level":"error","data":"from loud"}`},
	} {
		t.Run(name, func(t *testing.T) {
			h := hosttest.Open(t, c.there...)
			got := ""
			answer, err := h.Call(t.Context(), c.tool, nil, host.Client{Notify: func(_ string, params json.RawMessage) {
				if bytes.Contains(params, []byte(`"data":"from `)) { // if the start of the worker takes long, the host sends a log message about that
					got += string(params)
				}
			}})
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
	w := hosttest.New(t, hosttest.Plugin("a", wasmtest.Answering(hosttest.Done), "[capabilities]\nenv = ['TOKEN']\n"+hosttest.Reads("a_reads")), hosttest.Plugin("b", wasmtest.Answering(hosttest.Done), hosttest.Reads("b_reads")))
	o := w.Options()
	o.Env = map[string]string{"TOKEN": secret, "OTHER": secret}
	h := w.Open(t, o)
	c, err := catalog.Look(o)
	if err != nil {
		t.Fatal(err)
	}
	hosttest.WantEqual(t, c.Plugins[0].Grant.Env, map[string]string{"TOKEN": secret})
	hosttest.WantEqual(t, c.Plugins[1].Grant.Env, map[string]string{})
	hosttest.Call(t, h, "a_reads", "")
	hosttest.Call(t, h, "b_reads", "")
	info, err := json.Marshal(h.Plugins())
	if err != nil {
		t.Fatal(err)
	}
	if text := string(info) + w.Log.String(); strings.Contains(text, secret) {
		t.Errorf("the value is in %s", text)
	}
}

// TestAskPassesRawParametersUnchanged checks that Ask neither compacts nor escapes parameters that are one line of JSON.
func TestAskPassesRawParametersUnchanged(t *testing.T) {
	for _, c := range []struct{ arguments, recorded string }{
		{`{ "text" : "<\u0061>" }`, `{ "text" : "<\u0061>" }`},
		{"{\n\"text\": 1}", `{"text":1}`},
	} {
		w := hosttest.New(t, hosttest.Plugin("a", wasmtest.Answering(hosttest.Done), hosttest.Reads("a_reads")))
		log := w.Dir + "/audit.jsonl"
		w.Write(t, hosttest.Files{"work/bulkhead.toml": "[audit]\nfile = '" + log + "'\narguments = 'full'\n[[plugins]]\npath = '../plugins/a'\n"})
		h := w.Open(t, w.Options())
		if _, err := h.Ask(t.Context(), "tools/call", json.RawMessage(`{"name":"a_reads","arguments":`+c.arguments+`}`), host.Client{}); err != nil {
			t.Fatal(err)
		}
		if err := h.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		var recorded struct{ Arguments string }
		if text, err := os.ReadFile(log); err != nil || json.Unmarshal(text, &recorded) != nil || recorded.Arguments != c.recorded {
			t.Errorf("the module got %q, want %q (%v)", recorded.Arguments, c.recorded, err)
		}
	}
	h := hosttest.Open(t, hosttest.Plugin("a", nil, hosttest.Reads("a_reads")))
	_, err := h.Ask(t.Context(), "tools/call", json.RawMessage("{"), host.Client{})
	hosttest.WantUsage(t, err, "arguments: ")
}

// serving serves a client that sends only a ping until end is called.
func serving(t *testing.T, h *host.Host) (end func()) {
	t.Helper()
	in, client := io.Pipe()
	served := make(chan error)
	go func() { served <- h.Serve(t.Context(), in, io.Discard) }()
	fmt.Fprintln(client, `{"jsonrpc":"2.0","id":1,"method":"ping"}`) // Fprintln returns as soon as Serve reads
	return func() {
		client.Close()
		if err := <-served; err != nil {
			t.Error(err)
		}
	}
}

// compiled returns the number of modules whose compiled code is in the cache.
func compiled(t *testing.T, w *hosttest.World) int {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(w.Dir, "cache", "bulkhead", "module-*", "sums.json"))
	if err != nil {
		t.Fatal(err)
	}
	return len(found)
}

func TestServingCompilesInTheBackground(t *testing.T) {
	w := hosttest.New(t, hosttest.Plugin("a", nil, hosttest.Reads("a_reads")), hosttest.Plugin("b", wasmtest.Answering(hosttest.Done), hosttest.Reads("b_reads")), hosttest.Plugin("c", wasmtest.Crashing(), hosttest.Reads("c_reads")))
	h := w.Open(t, w.Options())
	end := serving(t, h)
	for deadline := time.Now().Add(10 * time.Second); compiled(t, w) < 2; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the modules were not compiled")
		}
	}
	end()
	if _, err := os.Stat(filepath.Join(w.Dir, "state")); err == nil {
		t.Error("there are state directories, although no tool was called")
	}
}

// Close waits only for background work that has begun. After Close, no other background work begins. This is true whether or not the
// client is still connected.
func TestCloseWaitsForNothingThatHasNotBegun(t *testing.T) {
	for _, gone := range []bool{true, false} {
		t.Run(fmt.Sprintf("client gone: %t", gone), func(t *testing.T) {
			w := hosttest.New(t, hosttest.Plugin("a", wasmtest.Answering(hosttest.Done), hosttest.Reads("a_reads")))
			h, err := host.Open(w.Options())
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

func TestServeEndsWithItsContext(t *testing.T) {
	h := hosttest.Open(t, hosttest.Plugin("a", wasmtest.Answering(hosttest.Done), hosttest.Reads("a_reads")))
	ctx, cancel := context.WithCancel(t.Context())
	in, _ := io.Pipe()
	served := make(chan error)
	go func() { served <- h.Serve(ctx, in, &bytes.Buffer{}) }()
	cancel()
	if err := <-served; err != context.Canceled {
		t.Errorf("got %v", err)
	}
}
