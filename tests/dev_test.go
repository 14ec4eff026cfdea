//go:build unix

package tests

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/authoring/wasmtest"
	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
)

// handSource is the source of a plugin that `plugin dev` builds: build.sh copies the module that source.txt names, or lib/source.txt
// if that exists. outside is a directory that is no part of the source: modules, the number of builds, and what stops them.
type handSource struct {
	dir, outside string
}

const handManifest = `manifest = 1
[plugin]
name = "hand"
version = "0.1.0"
description = "Made by hand."
[module]
file = "hand.wasm"
[build]
command = ["sh", "build.sh"]
`

func handTools(names ...string) string {
	text := handManifest
	for _, name := range names {
		text += fmt.Sprintf("[[tools]]\nname = %q\ndescription = \"does it\"\naccess = \"read\"\n", name)
	}
	return text
}

// handBuild counts builds, records whether two overlap, waits while there is a file stop, and then copies the module.
const handBuild = `set -e
mkdir OUTSIDE/building || echo overlap >>OUTSIDE/overlaps
trap 'rmdir OUTSIDE/building' EXIT
echo build >>OUTSIDE/builds
file=source.txt
[ -f lib/source.txt ] && file=lib/source.txt
read -r module <$file
while [ -e OUTSIDE/stop ]; do sleep 0.02; done
if [ "$module" = broken ]; then echo "$file:1: unknown module" >&2; exit 1; fi
cp OUTSIDE/$module hand.wasm
`

// newHandSource returns a source with the tool one. Module vN answers calls with its name; those from v2 on have the tool two, too.
func newHandSource(t *testing.T, module string) handSource {
	t.Helper()
	s := handSource{newDir(t, nil), newDir(t, nil)}
	for name, tools := range map[string]string{"v1": `"one"`, "v2": `"one","two"`, "v3": `"one","two"`, "v4": `"one","two"`} {
		s.putModule(t, name, tools)
	}
	putFile(t, filepath.Join(s.dir, "plugin.toml"), handTools("one"))
	putFile(t, filepath.Join(s.dir, "build.sh"), strings.ReplaceAll(handBuild, "OUTSIDE", s.outside))
	putFile(t, filepath.Join(s.dir, "source.txt"), module+"\n")
	return s
}

func (s handSource) putModule(t *testing.T, name, tools string) {
	t.Helper()
	module := wasmtest.Answering(fmt.Sprintf(`{"result":{"tools":[%s],"prompts":false,"resources":false,"completions":false,"content":[{"type":"text","text":%q}]}}`, tools, name))
	putFile(t, filepath.Join(s.outside, name), string(module))
}

// builds returns how many builds have begun.
func (s handSource) builds(t *testing.T) int {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(s.outside, "builds"))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return strings.Count(string(data), "\n")
}

// wait waits until done returns true.
func wait(t *testing.T, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !done(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: not within %s", what, patience)
		}
	}
}

// devServer is a running `plugin dev` with a session.
type devServer struct {
	*server
	id    int
	notes []string // notifications that no test has waited for yet
	temp  string   // directory of temporary files
}

// startDev runs `plugin dev` and initializes a session.
func startDev(t *testing.T, dir string, args ...string) *devServer {
	t.Helper()
	s := &devServer{temp: newDir(t, nil)}
	cmd := programCommand(t, append([]string{"plugin", "dev", dir, "--project", newDir(t, nil)}, args...)...)
	cmd.Env = append(cmd.Env, "TMPDIR="+s.temp)
	s.server = startServer(t, cmd)
	s.request("initialize", `{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}`)
	s.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return s
}

// ready waits until the first build is served, and discards its notifications.
func (s *devServer) ready() {
	s.t.Helper()
	s.waitForLog("built, and in service")
	s.request("ping", `{}`)
	s.notes = nil
}

// request returns the response to a request.
func (s *devServer) request(method, params string) string {
	s.t.Helper()
	s.id++
	s.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, s.id, method, params))
	for {
		line := s.receive()
		var m struct {
			ID     int
			Method string
		}
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			s.t.Fatalf("stdout has a line that is no message: %q", line)
		}
		if m.Method == "" && m.ID == s.id {
			return line
		}
		s.notes = append(s.notes, line)
	}
}

// wantNote waits for a notification that contains all strings, and discards those before it.
func (s *devServer) wantNote(what ...string) {
	s.t.Helper()
	for {
		for n, note := range s.notes {
			if containsAll(note, what...) {
				s.notes = s.notes[n+1:]
				return
			}
		}
		s.notes = append(s.notes, s.receive())
	}
}

const toolsListChanged = `"notifications/tools/list_changed"`

// wantAnswer calls a tool, whose answer must contain text.
func (s *devServer) wantAnswer(tool, text string) {
	s.t.Helper()
	if got := s.request("tools/call", fmt.Sprintf(`{"name":%q,"arguments":{}}`, tool)); !strings.Contains(got, text) {
		s.t.Errorf("%s: got %s, want an answer that contains %q", tool, got, text)
	}
}

// wantTools lists the tools; the list must contain these names and no others.
func (s *devServer) wantTools(names ...string) {
	s.t.Helper()
	got := s.request("tools/list", `{}`)
	ok := strings.Count(got, `"name":`) == len(names)
	for _, name := range names {
		ok = ok && strings.Contains(got, fmt.Sprintf(`"name":%q`, name))
	}
	if !ok {
		s.t.Errorf("got %s, want the tools %q", got, names)
	}
}

func TestPluginDevFollowsSource(t *testing.T) {
	t.Parallel()
	source := newHandSource(t, "v1")
	s := startDev(t, source.dir)
	s.ready()
	file := filepath.Join(source.dir, "source.txt")
	s.wantTools("one")
	s.wantAnswer("one", `"text":"v1"`)

	// The manifest and the module disagree until both are saved.
	putFile(t, filepath.Join(source.dir, "plugin.toml"), handTools("one", "two"))
	s.wantNote(`"level":"warning"`, "not in service", "the module has no handler for")
	s.waitForLog("plugin.toml:15", "the last one that succeeded stays in service", `the module has no handler for "two"`, "remedy:")
	s.wantTools("one")
	s.wantAnswer("one", `"text":"v1"`)
	putFile(t, file, "v2\n")
	s.wantNote(toolsListChanged)
	s.wantTools("one", "two")
	s.wantAnswer("two", `"text":"v2"`)
	s.waitForLog("in service, after builds that failed")

	putFile(t, file, "broken\n")
	s.wantNote(`"level":"warning"`, "source.txt:1: unknown module")
	s.waitForLog("plugin.toml:9", "source.txt:1: unknown module")
	s.wantAnswer("two", `"text":"v2"`)
	replace(t, file, "v3\n")
	s.wantNote("is built again")
	s.wantAnswer("two", `"text":"v3"`)

	putFile(t, filepath.Join(source.dir, "lib", "deep", "note.txt"), "in a new directory")
	s.waitForLog("built, and nothing has changed")
	putFile(t, filepath.Join(source.dir, "lib", "source.txt"), "broken\n")
	s.wantNote(`"level":"warning"`, "lib/source.txt:1: unknown module")
	putFile(t, filepath.Join(source.dir, "lib", "source.txt"), "v4\n")
	s.wantNote("is built again")
	s.wantAnswer("one", `"text":"v4"`)

	if err := os.Rename(filepath.Join(source.dir, "plugin.toml"), filepath.Join(source.outside, "plugin.toml")); err != nil {
		t.Fatal(err)
	}
	s.wantNote(`"level":"warning"`, "plugin.toml: there is no such file")
	s.wantAnswer("one", `"text":"v4"`)
	putFile(t, filepath.Join(source.dir, "plugin.toml"), handTools("one", "two")+"\n[offers]\nlogging = true\n")
	s.wantNote("is built again")
	s.wantAnswer("one", `"text":"v4"`)

	s.end()
	if left, err := os.ReadDir(s.temp); err != nil || len(left) > 0 {
		t.Errorf("temporary files are left: %v (%v)", left, err)
	}
}

func TestPluginDevStartsWithBrokenSource(t *testing.T) {
	t.Parallel()
	source := newHandSource(t, "broken")
	s := startDev(t, source.dir)
	s.waitForLog("the build failed, and nothing is offered until one succeeds", "source.txt:1: unknown module")
	s.wantTools()
	s.wantAnswer("one", "source.txt:1: unknown module")
	putFile(t, filepath.Join(source.dir, "source.txt"), "v1\n")
	s.wantNote(toolsListChanged)
	s.wantAnswer("one", `"text":"v1"`)
	s.end()

	putFile(t, filepath.Join(source.dir, "source.txt"), "broken\n")
	out, err := initializeOnly(t, "plugin", "dev", source.dir)
	if err != nil || !containsAll(out, `"listChanged":true`, "This server offers nothing yet", "source.txt:1: unknown module") {
		t.Errorf("the instructions do not say what is wrong: %s (%v)", out, err)
	}
}

// initializeOnly initializes a session of a command and returns its output.
func initializeOnly(t *testing.T, args ...string) (string, error) {
	t.Helper()
	cmd := programCommand(t, args...)
	cmd.Stdin = strings.NewReader(initializeLine + "\n")
	out, err := cmd.Output()
	return string(out), err
}

// Files that are saved during a build cause exactly one more, with the content of the last save.
func TestPluginDevMergesRapidSaves(t *testing.T) {
	t.Parallel()
	source := newHandSource(t, "v1")
	s := startDev(t, source.dir)
	s.ready()
	s.wantAnswer("one", `"text":"v1"`)
	stop := filepath.Join(source.outside, "stop")
	putFile(t, stop, "")
	putFile(t, filepath.Join(source.dir, "plugin.toml"), handTools("one", "two"))
	putFile(t, filepath.Join(source.dir, "source.txt"), "v2\n")
	before := 2
	wait(t, "a build", func() bool { return source.builds(t) == before })
	for n := range 10 {
		replace(t, filepath.Join(source.dir, "source.txt"), fmt.Sprintf("v%d\n", 2+n%2))
	}
	if err := os.Remove(stop); err != nil {
		t.Fatal(err)
	}
	wait(t, "the last save is in service", func() bool {
		return strings.Contains(s.request("tools/call", `{"name":"two","arguments":{}}`), `"text":"v3"`)
	})
	if got := source.builds(t); got != before+1 {
		t.Errorf("%d builds, want %d", got, before+1)
	}
	s.end()
}

// A build that writes a file among the sources is recognized, and further changes are built.
func TestPluginDevRecognizesOutput(t *testing.T) {
	t.Parallel()
	source := newHandSource(t, "v1")
	build := filepath.Join(source.dir, "build.sh")
	putFile(t, build, readFile(t, build)+"cp OUTSIDE/builds generated.txt\n")
	putFile(t, build, strings.ReplaceAll(readFile(t, build), "OUTSIDE", source.outside))
	s := startDev(t, source.dir)
	s.waitForLog("the build writes this file among the sources", "generated.txt")
	putFile(t, filepath.Join(source.dir, "plugin.toml"), handTools("one", "two"))
	putFile(t, filepath.Join(source.dir, "source.txt"), "v2\n")
	s.wantNote(toolsListChanged)
	putFile(t, filepath.Join(source.dir, "source.txt"), "v3\n")
	wait(t, "the change is in service", func() bool {
		return strings.Contains(s.request("tools/call", `{"name":"two","arguments":{}}`), `"text":"v3"`)
	})
	s.end()
}

// Two clients that start the same command build one after the other.
func TestPluginDevOfTwoClients(t *testing.T) {
	t.Parallel()
	source := newHandSource(t, "v1")
	a, b := startDev(t, source.dir), startDev(t, source.dir)
	for _, s := range []*devServer{a, b} {
		s.ready()
		s.wantAnswer("one", `"text":"v1"`)
	}
	putFile(t, filepath.Join(source.outside, "stop"), "")
	putFile(t, filepath.Join(source.dir, "source.txt"), "v2\n")
	putFile(t, filepath.Join(source.dir, "plugin.toml"), handTools("one", "two"))
	wait(t, "one waits for the other", func() bool {
		return strings.Contains(a.log.String()+b.log.String(), "waiting for the build of another process")
	})
	if err := os.Remove(filepath.Join(source.outside, "stop")); err != nil {
		t.Fatal(err)
	}
	for _, s := range []*devServer{a, b} {
		s.wantNote(toolsListChanged)
		s.wantAnswer("two", `"text":"v2"`)
		s.end()
	}
	if _, err := os.Stat(filepath.Join(source.outside, "overlaps")); err == nil {
		t.Error("two builds overlapped")
	}
}

// SIGTERM ends a build with all its processes, even if they ignore signals.
func TestPluginDevEndsBuild(t *testing.T) {
	t.Parallel()
	source := newHandSource(t, "v1")
	s := startDev(t, source.dir)
	s.ready()
	s.wantAnswer("one", `"text":"v1"`)
	pids := filepath.Join(source.outside, "pids")
	putFile(t, filepath.Join(source.dir, "build.sh"), fmt.Sprintf("trap '' INT TERM\nsleep 1000 &\necho $! $$ >%[1]s.new\nmv %[1]s.new %[1]s\nwait\nsleep 1000\n", pids))
	var inner, outer int
	wait(t, "the build runs", func() bool {
		data, err := os.ReadFile(pids)
		if err != nil {
			return false
		}
		_, err = fmt.Sscan(string(data), &inner, &outer)
		return err == nil
	})
	signal(t, s.cmd, syscall.SIGTERM)
	if code, _ := s.exit(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	for _, pid := range []int{inner, outer} {
		wait(t, "the processes of the build are gone", func() bool { return isGone(pid) })
	}
	if left, err := os.ReadDir(s.temp); err != nil || len(left) > 0 {
		t.Errorf("temporary files are left: %v (%v)", left, err)
	}
}

// isGone reports whether a process has ended. An ended process is a zombie until its parent waits for it.
func isGone(pid int) bool {
	out, err := exec.Command("ps", "-o", "stat=", "-p", fmt.Sprint(pid)).Output()
	return err != nil || strings.HasPrefix(strings.TrimSpace(string(out)), "Z")
}

func TestPluginDevWithConfig(t *testing.T) {
	t.Parallel()
	source := newHandSource(t, "v2")
	putFile(t, filepath.Join(source.dir, "plugin.toml"), handTools("one", "two"))
	config := filepath.Join(newDir(t, nil), "bulkhead.toml")
	table := "[[plugins]]\npath = \"dist/plugins/hand\"\nsha256 = \"" + strings.Repeat("0", 64) + "\"\n"
	putFile(t, config, table+"deny_tools = [\"two\"]\n")
	s := startDev(t, source.dir, "--config", config)
	s.ready()
	s.wantTools("one")
	replace(t, config, table)
	s.wantNote(toolsListChanged)
	s.wantTools("one", "two")
	replace(t, config, "[[plugins]]\npath = \"dist/plugins/other\"\n")
	s.wantNote(`"level":"warning"`, "rejected", `no table names the plugin`)
	s.wantAnswer("two", `"text":"v2"`)
	s.end()
}

func TestPluginDevOverHTTP(t *testing.T) {
	t.Parallel()
	source := newHandSource(t, "broken")
	s := startServer(t, programCommand(t, "plugin", "dev", source.dir, "--project", newDir(t, nil), "--http", "127.0.0.1:0"))
	s.waitForLog("the build failed")
	if strings.Contains(s.log.String(), "serving MCP over HTTP") {
		t.Error("the server serves before there is a build")
	}
	putFile(t, filepath.Join(source.dir, "source.txt"), "v1\n")
	s.waitForLog("serving MCP over HTTP")
	signal(t, s.cmd, syscall.SIGTERM)
	if code, _ := s.exit(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

func TestPluginDevOfMissingSource(t *testing.T) {
	t.Parallel()
	for name, dir := range map[string]string{"no directory": filepath.Join(newDir(t, nil), "none"), "no manifest": newDir(t, nil)} {
		out, err := programCommand(t, "plugin", "dev", dir).CombinedOutput()
		if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) || exit.ExitCode() != 2 || !strings.Contains(string(out), dir) {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
}

// TestPluginDevOfGoPlugin builds with the go tool, and reports what its compiler says.
func TestPluginDevOfGoPlugin(t *testing.T) {
	testenv.All(t, "starts the go command")
	t.Parallel()
	parent := newDir(t, nil)
	create := programCommand(t, "plugin", "new", "notes")
	create.Dir = parent
	if out, err := create.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	dir := filepath.Join(parent, "notes")
	s := &devServer{}
	cmd := programCommand(t, "plugin", "dev", dir, "--project", newDir(t, nil))
	for _, name := range []string{"GOCACHE", "GOMODCACHE", "GOFLAGS", "GOPROXY"} {
		out, err := exec.Command("go", "env", name).Output()
		if err != nil {
			t.Fatal(err)
		}
		cmd.Env = append(cmd.Env, name+"="+strings.TrimSpace(string(out)))
	}
	s.server = startServer(t, cmd)
	s.request("initialize", `{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}`)
	s.ready()
	call := func() string { return s.request("tools/call", `{"name":"notes_greet","arguments":{"name":"Ada"}}`) }
	if got := call(); !strings.Contains(got, "Ada") {
		t.Errorf("the call was answered with %s", got)
	}
	main := filepath.Join(dir, "main.go")
	code := readFile(t, main)
	lines := strings.Count(code, "\n")
	replace(t, main, code+"func broken() { return 1 }\n")
	s.wantNote(`"level":"warning"`, fmt.Sprintf("main.go:%d", lines+1))
	s.waitForLog(fmt.Sprintf("main.go:%d", lines+1))
	if got := call(); !strings.Contains(got, "Ada") {
		t.Errorf("during the broken build the call was answered with %s", got)
	}
	if !strings.Contains(code, "Hello") {
		t.Fatalf("the template has changed: adapt this test\n%s", code)
	}
	replace(t, main, strings.ReplaceAll(code, "Hello", "Welcome"))
	s.wantNote("is built again")
	if got := call(); !strings.Contains(got, "Welcome") {
		t.Errorf("after the change the call was answered with %s", got)
	}
	s.end()
}
