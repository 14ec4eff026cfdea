//go:build unix

package tests

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// library is a client library that runs the steps of clients/script.json.
type library struct {
	name      string
	tool      string // what it needs: "node", "python" or nothing
	adapter   string // its program in clients/node or clients/python
	modern    bool   // it speaks 2026-07-28
	newest    bool   // it belongs to the newest line of its project
	losesSome bool   // it drops progress notifications that arrive together with the response
}

var libraries = []library{
	{name: "typescript-1", tool: "node", adapter: "typescript1.mjs", losesSome: true},
	{name: "typescript-2", tool: "node", adapter: "typescript2.mjs", modern: true, newest: true, losesSome: true},
	{name: "python-1", tool: "python", adapter: "python1.py"},
	{name: "python-2", tool: "python", adapter: "python2.py", modern: true, newest: true},
	{name: "fastmcp-3", tool: "python", adapter: "fastmcp_client.py"},
	{name: "fastmcp-4", tool: "python", adapter: "fastmcp_client.py", modern: true, newest: true},
	{name: "go", modern: true, newest: true},
}

// versions are the protocol versions with a handshake, and the one without, which only some libraries speak.
var versions = []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", modernVersion}

const modernVersion = "2026-07-28"

// scriptStep is a step of clients/script.json or clients/code.json: what the client does, and what it must get.
type scriptStep struct {
	Name, Do          string
	Tool, URI, Prompt string
	Arguments         map[string]any
	Level             string
	Messages, Changes int
	Ref, Argument     map[string]string
	Context           struct{ Arguments map[string]string }
	Answers           map[string]json.RawMessage
	Cancel            bool // of a task
	Want              any
	Modern            any      // what clients of 2026-07-28 must get, if that differs
	Bare              bool     // for clients without capabilities only
	Since, Until      string   // the first and the last version that has this
	Part              []string // the path of what is compared; empty: all that the client got
}

// scriptLine is a line of an adapter's output: what the client got.
type scriptLine struct {
	Step string `json:"step"`
	Got  any    `json:"got"`
}

// TestClientSDKs has client libraries of other projects run one script, in each protocol version that they speak. Those that need Node
// or Python are installed by .ci/clients, which sets BULKHEAD_CLIENTS to their directory; without BULKHEAD_CLIENTS_ALL the newest line of
// each project runs the newest version of either kind.
func TestClientSDKs(t *testing.T) {
	t.Parallel()
	config := surfaceConfig(t)
	script, err := filepath.Abs("clients/script.json")
	if err != nil {
		t.Fatal(err)
	}
	url, headers := serveWithToken(t, config)
	all := os.Getenv("BULKHEAD_CLIENTS_ALL") != ""
	for _, library := range libraries {
		t.Run(library.name, func(t *testing.T) {
			if !library.newest && !all {
				t.Skip("run by just clients")
			}
			run := library.start(t)
			for _, version := range versions {
				if version == modernVersion && !library.modern || !all && library.tool != "" && version < "2025-11-25" {
					continue
				}
				t.Run(version+"/stdio", func(t *testing.T) {
					target := stdioTarget(t, config, script, version)
					library.check(t, target, run(t, target))
				})
				t.Run(version+"/http", func(t *testing.T) {
					target := scriptTarget{Script: script, Version: version, URL: url, Headers: headers}
					library.check(t, target, run(t, target))
				})
				t.Run(version+"/without capabilities", func(t *testing.T) {
					target := scriptTarget{Script: script, Version: version, URL: url, Headers: headers, Bare: true}
					library.check(t, target, run(t, target))
				})
			}
		})
	}
}

// scriptTarget tells an adapter how to reach the server, as JSON.
type scriptTarget struct {
	Script  string            `json:"script,omitempty"` // empty: the adapter makes the calls that it reads
	Version string            `json:"version"`
	Command string            `json:"command,omitempty"`
	Args    []string          `json:"args,omitempty"`
	Env     map[string]string `json:"env,omitempty"`
	Dir     string            `json:"cwd,omitempty"`
	URL     string            `json:"url,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
	Bare    bool              `json:"bare"` // the client declares no capabilities

	transport http.RoundTripper // of the Go SDK; nil: http.DefaultTransport
}

// surfaceConfig builds the plugin surface and returns a config that grants what it requests.
func surfaceConfig(t *testing.T) string {
	t.Helper()
	config := filepath.Join(t.TempDir(), "bulkhead.toml")
	putFile(t, config, "[[plugins]]\npath = \""+builtPlugins(t, "testdata/guests/surface")+"/surface\"\n")
	return config
}

// serveWithToken serves a config over HTTP and returns the URL, and the headers that clients must send.
func serveWithToken(t *testing.T, config string, args ...string) (url string, headers map[string]string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "token")
	if out, err := programCommand(t, "token", "new", file).CombinedOutput(); err != nil {
		t.Fatalf("token new: %v\n%s", err, out)
	}
	url = serveHTTP(t, programCommand(t, append([]string{"serve", "--config", config, "--http", "127.0.0.1:0", "--token-file", file}, args...)...))
	return url, map[string]string{"Authorization": "Bearer " + strings.TrimSpace(readFile(t, file))}
}

func stdioTarget(t *testing.T, config, script, version string, args ...string) scriptTarget {
	t.Helper()
	cmd := programCommand(t, append([]string{"serve", "--config", config, "--log-level", "warn"}, args...)...)
	env := map[string]string{}
	for _, variable := range cmd.Env {
		name, value, _ := strings.Cut(variable, "=")
		env[name] = value
	}
	return scriptTarget{Script: script, Version: version, Command: cmd.Path, Args: cmd.Args[1:], Env: env, Dir: cmd.Dir}
}

// start returns a function that runs the script. It skips the test, or fails it as REQUIRE says, if the library is not installed.
func (l library) start(t *testing.T) func(t *testing.T, target scriptTarget) []scriptLine {
	t.Helper()
	if l.tool == "" {
		return runGoSDK
	}
	program, script := clientProgram(t, l.tool, l.name), clientScript(t, l)
	return func(t *testing.T, target scriptTarget) []scriptLine {
		t.Helper()
		encoded, err := json.Marshal(target)
		if err != nil {
			t.Fatal(err)
		}
		return runAdapter(t, exec.CommandContext(t.Context(), program, script, string(encoded)))
	}
}

// clientProgram returns the interpreter that .ci/clients installed for a library.
func clientProgram(t *testing.T, tool, name string) string {
	t.Helper()
	dir := os.Getenv("BULKHEAD_CLIENTS")
	reason := "BULKHEAD_CLIENTS is not set: .ci/clients sets it"
	if dir != "" {
		program := installedProgram(dir, tool, name)
		if program != "" {
			return program
		}
		reason = ".ci/clients found no " + tool + " that it could use"
	}
	if slices.Contains(strings.Split(os.Getenv("REQUIRE"), ","), tool) {
		t.Fatalf("REQUIRE names %s, but %s", tool, reason)
	}
	t.Skip(reason)
	return ""
}

// installedProgram returns the interpreter in the directory of .ci/clients; empty if it is not installed.
func installedProgram(dir, tool, name string) string {
	if tool == "node" {
		if found, _ := filepath.Glob(filepath.Join(dir, "node/node_modules/node-*-*/bin/node")); len(found) > 0 { // the pattern is valid
			return found[0]
		}
		if _, err := os.Stat(filepath.Join(dir, "node")); err != nil {
			return ""
		}
		program, _ := exec.LookPath("node") // not on Linux
		return program
	}
	line := "python-1"
	if slices.Contains([]string{"python-2", "fastmcp-4"}, name) {
		line = "python-2"
	}
	program := filepath.Join(dir, line, "bin/python")
	if _, err := os.Stat(program); err != nil {
		return ""
	}
	return program
}

// clientScript copies a library's adapter and returns its path. Node finds libraries beside the program only.
func clientScript(t *testing.T, l library) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("clients", l.tool))); err != nil {
		t.Fatal(err)
	}
	if l.tool == "node" {
		if err := os.Symlink(filepath.Join(os.Getenv("BULKHEAD_CLIENTS"), "node", "node_modules"), filepath.Join(dir, "node_modules")); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, l.adapter)
}

// runAdapter runs an adapter and returns its lines.
func runAdapter(t *testing.T, cmd *exec.Cmd) []scriptLine {
	t.Helper()
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	cmd.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1", "FASTMCP_CHECK_FOR_UPDATES=off", "NO_PROXY=127.0.0.1")
	out, err := cmd.Output()
	if err != nil {
		t.Errorf("%s: %v", filepath.Base(cmd.Args[1]), err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("stderr of the client:\n%s", stderr.String())
		}
	})
	var lines []scriptLine
	for encoded := range bytes.Lines(out) {
		var line scriptLine
		if err := json.Unmarshal(encoded, &line); err != nil {
			t.Fatalf("%v: %s", err, encoded)
		}
		lines = append(lines, line)
	}
	return lines
}

// check compares what a client got with the script.
func (l library) check(t *testing.T, target scriptTarget, lines []scriptLine) {
	t.Helper()
	version, got := target.Version, map[string]any{}
	for _, line := range lines {
		got[line.Step] = line.Got
	}
	want := map[string]any{"close": "closed"}
	for _, step := range readScript(t, target.Script) {
		for _, name := range step.Part {
			member, _ := got[step.Name].(map[string]any)
			got[step.Name] = member[name]
		}
		if step.Bare != target.Bare || step.Since > version || step.Until != "" && step.Until < version {
			delete(got, step.Name)
			continue
		}
		want[step.Name] = step.Want
		if version == modernVersion && step.Modern != nil {
			want[step.Name] = step.Modern
		}
		if step.Do == "server" {
			want[step.Name] = map[string]any{"name": "surface", "version": version}
		}
	}
	for _, step := range slices.Sorted(maps.Keys(want)) {
		if diff := cmp.Diff(want[step], l.comparable(got[step], want[step])); diff != "" {
			t.Errorf("%s (-want +got)\n%s", step, diff)
		}
	}
}

// comparable removes the message of an error from what a client got, and adds the progress notifications that the library loses.
func (l library) comparable(got, want any) any {
	gotMap, ok := got.(map[string]any)
	wantMap, _ := want.(map[string]any)
	if !ok || wantMap == nil {
		return got
	}
	gotMap = maps.Clone(gotMap)
	if wantMap["error"] != nil {
		delete(gotMap, "message")
	}
	all, _ := wantMap["progress"].([]any)
	if some, ok := gotMap["progress"].([]any); ok && l.losesSome && len(some) < len(all) {
		gotMap["progress"] = append(slices.Clone(some), all[len(some):]...)
	}
	return gotMap
}

func readScript(t *testing.T, file string) (steps []scriptStep) {
	t.Helper()
	if err := json.Unmarshal([]byte(readFile(t, file)), &steps); err != nil {
		t.Fatal(err)
	}
	return steps
}
