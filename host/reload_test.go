package host_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bulkhead-mcp/bulkhead/host"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/hosttest"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/wasmtest"
	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
	"github.com/bulkhead-mcp/bulkhead/internal/base/userfile"
)

// client is a client whose session stays open.
type client struct {
	t   *testing.T
	in  *io.PipeWriter
	out *bufio.Scanner
}

func connect(t *testing.T, h *host.Host) *client {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	in, w := io.Pipe()
	r, out := io.Pipe()
	served := make(chan error, 1)
	go func() { served <- h.Serve(ctx, in, out); out.Close() }()
	t.Cleanup(func() { cancel(); r.Close(); w.Close(); <-served })
	c := &client{t: t, in: w, out: bufio.NewScanner(r)}
	c.ask("initialize", hosttest.Initialize)
	return c
}

func (c *client) send(method, params string) {
	c.t.Helper()
	if _, err := fmt.Fprintf(c.in, `{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`+"\n", method, params); err != nil {
		c.t.Fatal(err)
	}
}

// next returns the next message that the host sends.
func (c *client) next() string {
	c.t.Helper()
	if !c.out.Scan() {
		c.t.Fatal("the session has ended")
	}
	return c.out.Text()
}

func (c *client) ask(method, params string) string {
	c.t.Helper()
	c.send(method, params)
	return c.next()
}

func (c *client) want(message string, texts ...string) {
	c.t.Helper()
	for _, text := range texts {
		if !strings.Contains(message, text) {
			c.t.Errorf("got %s\nwant it to contain %s", message, text)
		}
	}
}

// wantNext checks that the next message contains each of texts.
func (c *client) wantNext(texts ...string) {
	c.t.Helper()
	c.want(c.next(), texts...)
}

const toolsChanged = `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`

func reload(t *testing.T, h *host.Host) {
	t.Helper()
	if err := h.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// configOf returns a config that names several plugins.
func configOf(plugins ...string) hosttest.Files {
	text := "[server]\nname = 'bulkhead'\n"
	for _, p := range plugins {
		text += "[[plugins]]\npath = '../plugins/" + p + "'\n"
	}
	return hosttest.Files{"work/bulkhead.toml": text}
}

func answering(name, text string) hosttest.Files {
	return hosttest.Plugin(name, wasmtest.Answering(`{"result":{"content":[{"type":"text","text":"`+text+`"}]}}`), hosttest.Reads(name+"_reads"))
}

func TestReloadAppliesConfigAndNotifiesClients(t *testing.T) {
	w := hosttest.New(t, answering("a", "A"), answering("b", "B"), configOf("a"))
	h := w.Open(t, w.Options())
	c, other := connect(t, h), connect(t, h)
	c.want(c.ask("tools/call", `{"name":"b_reads"}`), "Unknown tool")
	w.Write(t, configOf("a", "b"))
	reload(t, h)
	c.wantNext(toolsChanged)
	other.wantNext(toolsChanged)
	c.want(c.ask("tools/list", `{}`), "a_reads", "b_reads")
	c.want(c.ask("tools/call", `{"name":"b_reads"}`), `"B"`)
	w.Write(t, configOf("b"))
	reload(t, h)
	c.wantNext(toolsChanged)
	c.want(c.ask("tools/call", `{"name":"a_reads"}`), "Unknown tool")
	if plugins := h.Plugins(); len(plugins) != 1 || plugins[0].Name != "b" {
		t.Errorf("plugins: %v", plugins)
	}
}

func TestReloadWithoutChangeNotifiesNobody(t *testing.T) {
	w := hosttest.New(t, answering("a", "A"), configOf("a"))
	h := w.Open(t, w.Options())
	c := connect(t, h)
	reload(t, h)
	c.want(c.ask("ping", `{}`), `"result":{}`)
}

func TestReloadOfCommentReportsNoChange(t *testing.T) {
	w := hosttest.New(t, answering("a", "A"), configOf("a"))
	h := w.Open(t, w.Options())
	plugin := "[[plugins]]\npath = '../plugins/a'\n"
	for _, test := range []struct{ config, want string }{
		{"# a comment\n\n[server]\nname = 'bulkhead'\n" + plugin, "has not changed"},
		{"[server]\nname = 'bulkhead'\n" + plugin + "deny = ['x']\n", `the configuration was reloaded: added=[] removed=[] changed=["a"]`},
		{"# a comment\n[server]\nname = 'bulkhead'\n" + plugin + "deny = ['x']\n", "has not changed"},
		{"[server]\nname = 'bulkhead'\ndrain = '3s'\n" + plugin + "deny = ['x']\n", "the configuration was reloaded"},
		{"[server]\nname = 'bulkhead'\n# long\ndrain = '3s'\n" + plugin + "deny = ['x']\n", "has not changed"},
	} {
		w.Log.Reset()
		w.Write(t, hosttest.Files{"work/bulkhead.toml": test.config})
		reload(t, h)
		log := strings.TrimSpace(w.Log.String())
		if last := log[strings.LastIndex(log, "\n")+1:]; !strings.Contains(last, test.want) {
			t.Errorf("%q: logged %q, want %q", test.config, last, test.want)
		}
	}
}

func TestReloadRejectsChangeAsWhole(t *testing.T) {
	fine := configOf("a", "b")["work/bulkhead.toml"]
	for name, test := range map[string]struct {
		change hosttest.Files
		want   []string
	}{
		"syntax":       {hosttest.Files{"work/bulkhead.toml": fine + "[[plugins\n"}, []string{"bulkhead.toml:7"}},
		"unknown key":  {hosttest.Files{"work/bulkhead.toml": fine + "alow_tools = []\n"}, []string{"bulkhead.toml:7", "alow_tools", "remedy"}},
		"wrong path":   {configOf("b", "none"), []string{"bulkhead.toml:6", "plugins[1].path", "there is no directory", "remedy"}},
		"bad pin":      {hosttest.Files{"work/bulkhead.toml": fine + "sha256 = '" + strings.Repeat("0", 64) + "'\n"}, []string{"bulkhead.toml:7", "plugins[1].sha256"}},
		"manifest":     {hosttest.Files{"plugins/a/plugin.toml": "manifest = 1\n"}, []string{"plugins/a/plugin.toml"}},
		"module":       {hosttest.Files{"plugins/a/plugin.toml": strings.Replace(answering("a", "")["plugins/a/plugin.toml"], "it.wasm", "no.wasm", 1)}, []string{"there is no module at"}},
		"unknown tool": {hosttest.Files{"work/bulkhead.toml": fine + "allow_tools = ['none']\n"}, []string{"bulkhead.toml:7", "allow_tools"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := hosttest.New(t, answering("a", "A"), answering("b", "B"), configOf("a", "b"))
			h := w.Open(t, w.Options())
			c := connect(t, h)
			w.Log.Reset()
			w.Write(t, test.change)
			err := h.Reload(t.Context())
			hosttest.WantUsage(t, err, test.want...)
			if lines := strings.Split(strings.TrimSpace(w.Log.String()), "\n"); !strings.Contains(lines[len(lines)-1], "[ERROR] a change of the configuration is rejected") || strings.Count(w.Log.String(), "[ERROR]") != 1 {
				t.Errorf("log:\n%s", w.Log.String())
			}
			c.want(c.ask("tools/list", `{}`), "a_reads", "b_reads")
			c.want(c.ask("tools/call", `{"name":"a_reads"}`), `"A"`)
		})
	}
}

func TestReloadFollowsIncludedFile(t *testing.T) {
	w := hosttest.New(t, answering("a", "A"), answering("b", "B"), hosttest.Files{
		"work/bulkhead.toml": "include = ['more.toml']\n" + configOf("a")["work/bulkhead.toml"], "work/more.toml": ""})
	h := w.Open(t, w.Options())
	c := connect(t, h)
	w.Write(t, hosttest.Files{"work/more.toml": "[[plugins]]\npath = '../plugins/b'\nx = 1\n"})
	hosttest.WantUsage(t, h.Reload(t.Context()), "work/more.toml:3")
	w.Write(t, hosttest.Files{"work/more.toml": "[[plugins]]\npath = '../plugins/b'\n"})
	reload(t, h)
	c.wantNext(toolsChanged)
}

func TestReloadWarnsClientsThatTakeLogMessages(t *testing.T) {
	logging := hosttest.Plugin("a", wasmtest.Answering(hosttest.Done), "[offers]\nlogging = true\n"+hosttest.Reads("a_reads"))
	w := hosttest.New(t, logging, configOf("a"))
	h := w.Open(t, w.Options())
	c := connect(t, h)
	w.Write(t, hosttest.Files{"work/bulkhead.toml": "x = 1\n"})
	if err := h.Reload(t.Context()); err == nil {
		t.Error("the config was applied")
	}
	c.wantNext(`"method":"notifications/message"`, `"level":"warning"`, "bulkhead.toml:1")
	c.want(c.ask("logging/setLevel", `{"level":"error"}`), `"result":{}`)
	if err := h.Reload(t.Context()); err == nil {
		t.Error("the config was applied")
	}
	c.want(c.ask("ping", `{}`), `"result":{}`)
}

// A fault that existed before does not block other changes.
func TestReloadToleratesKnownFault(t *testing.T) {
	w := hosttest.New(t, answering("a", "A"), answering("b", "B"), configOf("a", "none"))
	h := w.Open(t, w.Options())
	w.Write(t, configOf("a", "none", "b"))
	reload(t, h)
	if text := listed(t, h); len(text) != 2 {
		t.Errorf("listed: %q", text)
	}
}

func TestReloadRequiresTrust(t *testing.T) {
	w := hosttest.New(t, answering("a", "A"), answering("b", "B"), configOf("a"))
	w.Trust(t, "work/bulkhead.toml")
	o := w.Options()
	o.ConfigFile, o.ServeNothing = "", true
	h := w.Open(t, o)
	c := connect(t, h)
	w.Write(t, configOf("a", "b"))
	var not *host.UntrustedError
	if err := h.Reload(t.Context()); !errors.As(err, &not) {
		t.Fatalf("got %v", err)
	}
	if !strings.Contains(w.Log.String(), "has changed since it was trusted") {
		t.Errorf("log:\n%s", w.Log.String())
	}
	c.want(c.ask("tools/call", `{"name":"a_reads"}`), `"A"`)
	w.Trust(t, "work/bulkhead.toml")
	reload(t, h)
	c.wantNext(toolsChanged)
	c.want(c.ask("tools/call", `{"name":"b_reads"}`), `"B"`)
	if err := os.Remove(w.Dir + "/work/bulkhead.toml"); err != nil {
		t.Fatal(err)
	}
	hosttest.WantUsage(t, h.Reload(t.Context()), "work/bulkhead.toml: this config no longer exists")
	c.want(c.ask("tools/call", `{"name":"b_reads"}`), `"B"`)
}

func TestRevokedTrustStopsServing(t *testing.T) {
	w := hosttest.New(t, answering("a", "A"), configOf("a"))
	w.Trust(t, "work/bulkhead.toml")
	o := w.Options()
	o.ConfigFile, o.ServeNothing = "", true
	h := w.Open(t, o)
	c := connect(t, h)
	if removed, err := w.TrustStore().Remove(filepath.Join(w.Dir, "work", "bulkhead.toml")); err != nil || !removed {
		t.Fatal(removed, err)
	}
	reload(t, h)
	c.wantNext(toolsChanged)
	c.want(c.ask("tools/call", `{"name":"a_reads"}`), "is not trusted")
	w.Trust(t, "work/bulkhead.toml")
	reload(t, h)
	c.wantNext(toolsChanged)
	c.want(c.ask("tools/call", `{"name":"a_reads"}`), `"A"`)
}

// The directory of plugins that the user trusts may be the directory of a single plugin.
func TestRevokedTrustInDirectoryOfPluginStopsServing(t *testing.T) {
	module := string(wasmtest.Answering(`{"result":{"content":[{"type":"text","text":"A"}]}}`))
	pin := fmt.Sprintf("sha256 = %q\n", userfile.Digest([]byte(module)))
	pinned := hosttest.At("work/dist/plugins", hosttest.Plugin("a", []byte(module), pin+hosttest.Reads("a_reads")))
	w := hosttest.New(t, pinned)
	o := w.Options()
	o.PluginsDir, o.ServeNothing = "", true
	w.Trust(t, "work/dist/plugins")
	h := w.Open(t, o)
	c := connect(t, h)
	c.want(c.ask("tools/call", `{"name":"a_reads"}`), `"A"`)
	if removed, err := w.TrustStore().Remove(filepath.Join(w.Dir, "work", "dist", "plugins")); err != nil || !removed {
		t.Fatal(removed, err)
	}
	reload(t, h)
	c.want(c.ask("tools/call", `{"name":"a_reads"}`), "is not trusted")
}

// If a config with a higher precedence appears, the config that is in force continues to be served.
func TestUntrustedConfigThatAppearsIsIgnored(t *testing.T) {
	w := hosttest.New(t, answering("a", "A"), answering("b", "B"))
	o := w.Options()
	o.ServeNothing = true
	h := w.Open(t, o)
	c := connect(t, h)
	w.Write(t, configOf("b"))
	hosttest.WantUsage(t, h.Reload(t.Context()), "work/bulkhead.toml is not trusted")
	c.want(c.ask("tools/call", `{"name":"a_reads"}`), `"A"`)
}

// setupOnly is part of a list that has the tool bulkhead_setup only.
const setupOnly = `"tools":[{"name":"bulkhead_setup"`

func TestServerWithoutTrustOffersSetupUntilTrusted(t *testing.T) {
	prompts := hosttest.Offering("p", "prompts = true", hosttest.ItemsOf("hello"))
	w := hosttest.New(t, answering("a", "A"), prompts, configOf("a", "p"))
	o := w.Options()
	o.ConfigFile, o.ServeNothing = "", true
	h := w.Open(t, o)
	c := connect(t, h)
	remedy := "review it with `bulkhead trust " + filepath.Join(w.Dir, "work", "bulkhead.toml") + "`"
	tools := c.ask("tools/list", `{}`)
	c.want(tools, setupOnly, remedy, `"annotations":{"readOnlyHint":true,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false}}]`)
	c.want(c.ask("tools/call", `{"name":"bulkhead_setup","arguments":{}}`), `"content":[{"type":"text","text":"This server offers nothing yet.`, remedy)
	c.want(c.ask("prompts/list", `{}`), `"prompts":[]`)
	w.Trust(t, "work/bulkhead.toml")
	reload(t, h)
	got := c.next() + c.next()
	c.want(got, toolsChanged, `"method":"notifications/prompts/list_changed"`)
	c.want(c.ask("tools/call", `{"name":"a_reads"}`), `"A"`)
	c.want(c.ask("prompts/list", `{}`), `"hello"`)
	c.want(c.ask("tools/call", `{"name":"bulkhead_setup"}`), "Unknown tool: bulkhead_setup")
	if tools := c.ask("tools/list", `{}`); strings.Contains(tools, "bulkhead_setup") {
		t.Errorf("a server with plugins lists %s", tools)
	}
	if removed, err := w.TrustStore().Remove(filepath.Join(w.Dir, "work", "bulkhead.toml")); err != nil || !removed {
		t.Fatal(removed, err)
	}
	reload(t, h)
	got = c.next() + c.next()
	c.want(got, toolsChanged)
	c.want(c.ask("tools/list", `{}`), setupOnly)
}

func TestReplacedModuleTakesOver(t *testing.T) {
	w := hosttest.New(t, answering("a", "old"), answering("b", "B"), configOf("a", "b"))
	h := w.Open(t, w.Options())
	c := connect(t, h)
	c.want(c.ask("tools/call", `{"name":"a_reads"}`), `"old"`)
	c.want(c.ask("tools/call", `{"name":"b_reads"}`), `"B"`)
	w.Write(t, answering("a", "new"))
	reload(t, h)
	c.want(c.ask("tools/call", `{"name":"a_reads"}`), `"new"`)
	if log := w.Log.String(); strings.Count(log, "worker process replaced") != 1 {
		t.Errorf("want the worker of plugin a alone replaced:\n%s", log)
	}
}

func TestPromptsChangeOnlyWithTheirPlugins(t *testing.T) {
	prompts := hosttest.Offering("p", "prompts = true", hosttest.ItemsOf("hello"))
	resources := hosttest.Offering("r", "resources = true", hosttest.ItemsOf("n://x"))
	w := hosttest.New(t, prompts, resources, answering("a", "A"), configOf("p", "r", "a"))
	h := w.Open(t, w.Options())
	c := connect(t, h)
	for _, change := range []struct {
		plugin hosttest.Files
		want   string
	}{{prompts, `"method":"notifications/prompts/list_changed"`}, {resources, `"method":"notifications/resources/list_changed"`}} {
		edited := hosttest.Files{}
		for name, content := range change.plugin {
			if strings.HasSuffix(name, ".toml") {
				content += "# changed\n"
			}
			edited[name] = content
		}
		w.Write(t, edited)
		reload(t, h)
		c.wantNext(change.want)
		c.want(c.ask("ping", `{}`), `"result":{}`)
	}
}

// TestCallsDuringReloads checks that no call is lost while reloads replace the served plugins.
func TestCallsDuringReloads(t *testing.T) {
	w := hosttest.New(t, answering("a", "A"), answering("b", "B"), configOf("a", "b"))
	h := w.Open(t, w.Options())
	stop := make(chan struct{})
	var calls sync.WaitGroup
	for _, tool := range []string{"a_reads", "a_reads", "b_reads"} {
		calls.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				answer, err := h.Call(t.Context(), tool, nil, host.Client{})
				if err != nil || answer.IsError || answer.Error != nil {
					t.Errorf("%s: %v %s %v", tool, err, answer.Result, answer.Error)
					return
				}
			}
		})
	}
	for n := range 30 {
		more := ""
		if n%3 == 0 {
			more = fmt.Sprintf("limits = { memory = '%dMiB' }\n", 32+n) // a changed memory limit makes the host replace the worker of plugin b
		}
		w.Write(t, hosttest.Files{"work/bulkhead.toml": configOf("a", "b")["work/bulkhead.toml"] + more})
		reload(t, h)
	}
	close(stop)
	calls.Wait()
}

// TestReloadsLeakNothing checks that reloads release the replaced workers, files and goroutines.
func TestReloadsLeakNothing(t *testing.T) {
	w := hosttest.New(t, answering("a", "A"), answering("b", "B"), configOf("a", "b"))
	h := w.Open(t, w.Options())
	used := func() (goroutines, files, children int) {
		list, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Skip(err)
		}
		tasks, _ := filepath.Glob("/proc/self/task/*/children")
		for _, task := range tasks {
			text, _ := os.ReadFile(task)
			children += len(strings.Fields(string(text)))
		}
		return runtime.NumGoroutine(), len(list), children
	}
	round := func(n int) {
		text := configOf("a", "b")["work/bulkhead.toml"] + fmt.Sprintf("limits = { memory = '%dMiB' }\n[audit]\nfile = '%s/audit-%d'\n", 32+n%2, w.Dir, n%2)
		w.Write(t, hosttest.Files{"work/bulkhead.toml": text})
		reload(t, h)
		hosttest.Call(t, h, "a_reads", "")
		hosttest.Call(t, h, "b_reads", "")
	}
	for n := range 4 {
		round(n)
	}
	goroutines, files, children := used()
	reloads := testenv.Count(20, 100, 100)
	for n := range reloads {
		round(n)
	}
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(5 * time.Millisecond) { // wait, because processes end asynchronously
		g, f, c := used()
		if g <= goroutines && f <= files && c <= children {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("after %d reloads %d goroutines, %d files and %d children, before them %d, %d and %d", reloads, g, f, c, goroutines, files, children)
		}
	}
}
