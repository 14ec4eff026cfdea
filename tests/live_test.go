//go:build unix

package tests

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// liveServer is a server whose configuration a test changes.
type liveServer struct {
	*server
	dir    string // working directory and project; contains the config and the directory plugins
	config string
}

const initializeLine = `{"jsonrpc":"2.0","id":"init","method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`

// tables returns a config of plugins in the directory plugins.
func tables(plugins ...string) string {
	text := "[server]\nname = \"live\"\n"
	for _, p := range plugins {
		text += "\n[[plugins]]\npath = \"plugins/" + p + "\"\n"
	}
	return text
}

// liveCommand returns the command that serves a directory with the plugins hello and misbehave and a config.
func liveCommand(t *testing.T, config string, args ...string) (cmd *exec.Cmd, dir string) {
	t.Helper()
	dir = newDir(t, map[string]string{"bulkhead.toml": config})
	if err := os.Rename(copyPlugins(t, "hello", "misbehave"), filepath.Join(dir, "plugins")); err != nil {
		t.Fatal(err)
	}
	cmd = programCommand(t, append([]string{"serve", "--project", dir}, args...)...)
	cmd.Dir = dir
	return cmd, dir
}

// serveLive serves a config that the flag --config names, and starts a session.
func serveLive(t *testing.T, config string, args ...string) *liveServer {
	t.Helper()
	cmd, dir := liveCommand(t, config, append(args, "--config", "bulkhead.toml")...)
	s := &liveServer{startServer(t, cmd), dir, filepath.Join(dir, "bulkhead.toml")}
	s.ask(initializeLine)
	return s
}

// replace replaces a file as an editor does.
func replace(t *testing.T, file, content string) {
	t.Helper()
	putFile(t, file+".new", content)
	if err := os.Rename(file+".new", file); err != nil {
		t.Fatal(err)
	}
}

func (s *liveServer) wantToolsChanged() {
	s.t.Helper()
	if got := s.receive(); got != `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}` {
		s.t.Fatalf("got %s, want a notification", got)
	}
}

func (s *liveServer) wantOffered(tool string, want bool) {
	s.t.Helper()
	if names := s.names(); slices.Contains(names, tool) != want {
		s.t.Errorf("%s: offered is not %v: %q", tool, want, names)
	}
}

func TestServerFollowsConfig(t *testing.T) {
	t.Parallel()
	s := serveLive(t, tables("hello"))
	s.wantOffered("misbehave_ok", false)
	replace(t, s.config, tables("hello", "misbehave"))
	s.wantToolsChanged()
	s.wantOffered("misbehave_ok", true)
	s.mustCall("misbehave_ok", `{}`)
	pids := s.workers()

	replace(t, s.config, "include = [\"more.toml\"]\n"+tables("hello", "misbehave"))
	s.waitForLog("more.toml", "include[0]")
	putFile(t, filepath.Join(s.dir, "more.toml"), "x = 1\n") // which is not one of the files that are in force
	s.waitForLog("more.toml:1: x: ")

	replace(t, s.config, tables("hello", "misbehave")+"alow_tools = []\n")
	s.waitForLog("[ERROR] bulkhead: a change of the configuration is rejected", "bulkhead.toml:9", "alow_tools", "remedy:")
	s.mustCall("misbehave_ok", `{}`)

	replace(t, s.config, tables("misbehave"))
	s.wantToolsChanged()
	s.wantUnknown("hello_greet")
	s.mustCall("misbehave_ok", `{}`)
	if now := s.workers(); !slices.Equal(now, pids) {
		t.Errorf("the worker of the plugin that did not change was replaced: %v, then %v", pids, now)
	}
	s.end()
}

func TestServerFollowsConfigAfterSIGHUPOnly(t *testing.T) {
	t.Parallel()
	s := serveLive(t, tables("hello"), "--no-watch")
	replace(t, s.config, tables("hello", "misbehave"))
	if err := s.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	s.wantToolsChanged()
	s.mustCall("misbehave_ok", `{}`)
	s.end()
}

// The official SDK re-reads the list when it is notified.
func TestClientOfSDKSeesChange(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"2025-06-18", "2025-11-25"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			cmd, dir := liveCommand(t, tables("hello"), "--config", "bulkhead.toml")
			changed := make(chan struct{}, 10)
			c := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
				ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { changed <- struct{}{} },
			})
			session, err := c.Connect(t.Context(), &mcp.CommandTransport{Command: cmd}, &mcp.ClientSessionOptions{ProtocolVersion: version})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = session.Close() })
			if tools := session.InitializeResult().Capabilities.Tools; tools == nil || !tools.ListChanged {
				t.Errorf("tools: %+v", tools)
			}
			replace(t, filepath.Join(dir, "bulkhead.toml"), tables("hello", "misbehave"))
			select {
			case <-changed:
			case <-time.After(patience):
				t.Fatal("no notification")
			}
			result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "misbehave_ok", Arguments: map[string]any{}})
			if err != nil || result.IsError {
				t.Errorf("%+v %v", result, err)
			}
		})
	}
}

func TestServerFollowsTrust(t *testing.T) {
	t.Parallel()
	cmd, dir := liveCommand(t, tables("hello"))
	trust := func() {
		t.Helper()
		c := exec.Command(built.program(t), "trust", "--yes")
		c.Dir, c.Env = dir, cmd.Env
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	s := &liveServer{startServer(t, cmd), dir, filepath.Join(dir, "bulkhead.toml")}
	s.ask(initializeLine)
	s.wantUnknown("hello_greet", "is not trusted")
	trust()
	s.wantToolsChanged()
	s.mustCall("hello_greet", `{"name":"Ada"}`)

	replace(t, s.config, tables("misbehave"))
	s.waitForLog("has changed since it was trusted", "bulkhead trust "+s.config)
	s.mustCall("hello_greet", `{"name":"Ada"}`)
	s.wantUnknown("misbehave_ok")
	trust()
	s.wantToolsChanged()
	s.mustCall("misbehave_ok", `{}`)
	s.end()
}

func TestServerFollowsDirectoryOfPluginsAndWhatTheyRequire(t *testing.T) {
	t.Parallel()
	all, more, project := copyPlugins(t, "hello", "misbehave"), copyPlugins(t, "chant"), newDir(t, nil)
	s := &liveServer{server: startServer(t, programCommand(t, "serve", "--plugins", all, "--project", project))}
	s.ask(initializeLine)
	if err := os.CopyFS(filepath.Join(all, "chant"), os.DirFS(filepath.Join(more, "chant"))); err != nil {
		t.Fatal(err)
	}
	s.waitForLog(`added=["chant"]`, "it cannot work yet")
	putFile(t, filepath.Join(project, ".chant", "specs", "2026-01-01-001-abc.md"), specText("pending", "Added"))
	putFile(t, filepath.Join(project, ".chant", "config.md"), "---\nproject:\n  name: p\n---\n")
	s.wantToolsChanged()
	s.wantOffered("chant_spec_list", true)
	if err := os.RemoveAll(filepath.Join(all, "hello")); err != nil {
		t.Fatal(err)
	}
	s.wantToolsChanged()
	s.wantUnknown("hello_greet")
	s.end()
}

func TestCallInFlightOutlivesItsPlugin(t *testing.T) {
	t.Parallel()
	s := serveLive(t, tables("hello", "misbehave"))
	id := s.startCall("misbehave_sleep", `{"ms":1000}`)
	replace(t, s.config, tables("hello"))
	answered, changed := false, false
	for !answered || !changed {
		got, r := s.answer()
		switch {
		case got == id:
			answered = true
			if r.IsError || r.Code != 0 {
				t.Errorf("%+v", r)
			}
		case r.Text == "notifications/tools/list_changed":
			changed = true
		}
	}
	s.wantUnknown("misbehave_sleep")
	for end := time.Now().Add(patience); len(s.workers()) > 0; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("the worker of the removed plugin still runs: %v", s.workers())
		}
	}
	s.end()
}

// A call that waits when its tool is denied does not run; others of the plugin do.
func TestWaitingCallOfDeniedToolDoesNotRun(t *testing.T) {
	t.Parallel()
	one := tables("misbehave") + "limits = { concurrency = 1 }\n"
	s := serveLive(t, one)
	s.mustCall("misbehave_ok", `{}`)
	running := s.startCall("misbehave_sleep", `{"ms":3600000}`)
	waiting, allowed := s.sendCall("misbehave_sleep", `{"ms":1}`), s.sendCall("misbehave_ok", `{}`)
	replace(t, s.config, one+"deny_tools = [\"misbehave_sleep\"]\n")
	s.wantToolsChanged()
	s.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, running))
	for range 2 {
		switch id, r := s.answer(); id {
		case allowed:
			if r.IsError || r.Code != 0 {
				t.Errorf("the allowed tool: %+v", r)
			}
		case waiting:
			if !r.IsError || !strings.Contains(r.Text, "did not run") {
				t.Errorf("the denied tool ran: %+v", r)
			}
		}
	}
	s.end()
}

func sha256Of(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// TestReplacedModuleNeedsItsPin replaces the module, its manifest and the pin one after the other.
func TestReplacedModuleNeedsItsPin(t *testing.T) {
	t.Parallel()
	cmd, dir := liveCommand(t, "", "--config", "bulkhead.toml")
	plugin := filepath.Join(dir, "plugins", "hello")
	pinned := func(manifest string) string {
		return fmt.Sprintf("%ssha256 = %q\n", tables("misbehave", "hello"), sha256Of(manifest))
	}
	manifest := readFile(t, filepath.Join(plugin, "plugin.toml"))
	putFile(t, filepath.Join(dir, "bulkhead.toml"), pinned(manifest))
	s := &liveServer{startServer(t, cmd), dir, filepath.Join(dir, "bulkhead.toml")}
	s.ask(initializeLine)
	s.mustCall("hello_greet", `{"name":"Ada"}`)
	endWorkers := func() {
		t.Helper()
		for _, pid := range s.workers() {
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
		}
	}

	module := readFile(t, filepath.Join(plugin, "hello.wasm")) + "\x00\x02\x01x" // with a custom section
	replace(t, filepath.Join(plugin, "hello.wasm"), module)
	s.waitForLog("a change of the configuration is rejected", "hello.wasm has the SHA-256 "+sha256Of(module), "but its manifest contains")
	s.mustCall("hello_greet", `{"name":"Ada"}`)
	endWorkers() // the next one needs code of the old module, whose file is gone
	s.mustCall("hello_greet", `{"name":"Ada"}`)
	s.waitForLog("the module that was verified before is used")

	edited := sha256Line.ReplaceAllString(manifest, fmt.Sprintf("sha256 = %q", sha256Of(module)))
	edited = strings.Replace(edited, "hello_greet", "hello_again", 1)
	replace(t, filepath.Join(plugin, "plugin.toml"), edited)
	s.waitForLog("bulkhead.toml:9: plugins[1].sha256")
	s.mustCall("hello_greet", `{"name":"Ada"}`)

	replace(t, s.config, pinned(edited))
	s.wantToolsChanged()
	s.wantUnknown("hello_greet")
	s.wantOffered("hello_again", true)
	s.waitForLog("added=[]", `changed=["hello"]`)
	s.end()
}

// A plugin chosen with --plugin replaces a server that does not announce its tools: it declares no notification and sends none.
func TestPluginAloneFollowsItsConfigSilently(t *testing.T) {
	t.Parallel()
	cmd, dir := liveCommand(t, "[[plugins]]\npath = 'plugins/misbehave'\n", "--config", "bulkhead.toml", "--plugin", "misbehave")
	s := startServer(t, cmd)
	if got := s.ask(initializeLine); !strings.Contains(got, `"tools":{}`) {
		t.Error(got)
	}
	replace(t, filepath.Join(dir, "bulkhead.toml"), "[[plugins]]\npath = 'plugins/misbehave'\nallow_tools = ['misbehave_ok']\n")
	s.waitForLog("the configuration was reloaded", `changed=["misbehave"]`)
	if names := s.names(); !slices.Equal(names, []string{"misbehave_ok"}) {
		t.Errorf("offered: %q", names)
	}
	s.end()
}
