//go:build unix

package tests

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// mistake is a mistake of an admin, and how the remedy is applied.
type mistake struct {
	config string
	damage func(t *testing.T, a *adminWorld)
	// where, key and remedy are what tools, doctor and the instructions for clients show. DIR stands for the working directory.
	where, key, remedy string
	// old is replaced by new in the config. If both are empty, the command in the remedy is run.
	old, new string
	apply    func(t *testing.T, a *adminWorld) // applies another remedy
	code     int                               // exit code of tools; 0: 1
}

// The beginnings of configs: hello is in lines 1 and 2.
const (
	withHello = "[[plugins]]\npath = 'plugins/hello'\n"
	withChant = "[[plugins]]\npath = 'plugins/chant'\n"
	withAam   = "[[plugins]]\npath = 'plugins/aam'\n"
	warns     = -1 // tools exits with 0
)

var mistakes = map[string]mistake{
	// Wrong keys.
	"key at the top":     {config: "verson = 1\n" + withHello, where: "bulkhead.toml:1", key: "verson", remedy: "remove it", old: "verson = 1\n", code: 2},
	"key of the server":  {config: "[server]\nmemroy = '1GiB'\n" + withHello, where: "bulkhead.toml:2", key: "server.memroy", remedy: `did you mean "memory"?`, old: "memroy", new: "memory", code: 2},
	"key of a plugin":    {config: withHello + "allow_tolls = ['*']\n", where: "bulkhead.toml:3", key: "plugins[0].allow_tolls", remedy: `did you mean "allow_tools"?`, old: "allow_tolls", new: "allow_tools", code: 2},
	"key of a directory": {config: withChant + "fs = [{ path = '${project}', acess = 'rw' }]\n", where: "bulkhead.toml:3", key: "plugins[0].fs[0].acess", remedy: `did you mean "access"?`, old: "acess", new: "access", code: 2},
	"key of a limit":     {config: withHello + "[plugins.limits]\ntme = '1s'\n", where: "bulkhead.toml:4", key: "plugins[0].limits.tme", remedy: `did you mean "time"?`, old: "tme", new: "time", code: 2},
	"table of a plugin":  {config: "[plugin.hello]\npath = 'plugins/hello'\n", where: "bulkhead.toml:1", key: "plugin", remedy: `did you mean "plugins"?`, old: "[plugin.hello]", new: "[[plugins]]", code: 2},
	"table for array":    {config: "[plugins]\npath = 'plugins/hello'\n", where: "bulkhead.toml:1", key: "plugins", remedy: "write [[plugins]]", old: "[plugins]", new: "[[plugins]]", code: 2},
	"no plugin":          {config: "", where: "bulkhead.toml", key: "plugins", remedy: "add [[plugins]] with `bulkhead add NAME`", new: withHello, code: 2},

	// Wrong paths.
	"path of a plugin": {config: "[[plugins]]\npath = 'plugins/helo'\n", where: "bulkhead.toml:2", key: "plugins[0].path", remedy: "write the path of a built plugin", old: "helo", new: "hello"},
	"path of the directory of plugins": {config: "[[plugins]]\npath = 'plugins'\n", where: "bulkhead.toml:2", key: "plugins[0].path", remedy: "write the path of a built plugin",
		old: "plugins'", new: "plugins/hello'"},
	"path of a manifest": {config: "[[plugins]]\npath = 'plugins/hello/plugin.toml'\n", where: "bulkhead.toml:2", key: "plugins[0].path", remedy: "write the path of a built plugin",
		old: "/plugin.toml", new: ""},
	"the same path twice": {config: withHello + withHello, where: "bulkhead.toml:4", key: "plugins[1].path", remedy: "remove one of them", old: withHello + withHello, new: withHello, code: 2},
	"path of a directory": {config: withChant + "fs = [{ path = '/nope/specs', access = 'rw' }, { path = '${project}', access = 'rw' }]\n",
		where: "bulkhead.toml:3", key: "plugins[0].fs[0].path", remedy: "correct the path", old: "/nope/specs", new: "DIR/specs", code: warns},
	"variable of a path": {config: withChant + "fs = [{ path = '${hom}/x', access = 'rw' }]\n", where: "bulkhead.toml:3", key: "plugins[0].fs[0].path", remedy: "${home}", old: "${hom}", new: "${home}", code: 2},
	"unset variable":     {config: withChant + "fs = [{ path = '${env:NOPE}/x', access = 'rw' }]\n", where: "bulkhead.toml:3", key: "plugins[0].fs[0].path", remedy: "remove ${env:NOPE}", old: "${env:NOPE}", new: "DIR", code: 2},
	"missing module": {config: withHello, damage: func(t *testing.T, a *adminWorld) { a.remove(t, "plugins/hello/hello.wasm") },
		where: "plugins/hello/plugin.toml:10", key: "module.file", remedy: "build the plugin from its source with `bulkhead plugin build SOURCE -o DIR/plugins`"},

	// Unknown tools.
	"allowed tool": {config: withHello + "allow_tools = ['hello_gret']\n", where: "bulkhead.toml:3", key: "plugins[0].allow_tools[0]", remedy: `did you mean "hello_greet"?`, old: "hello_gret", new: "hello_greet"},
	"denied tool":  {config: withHello + "deny_tools = ['helo_greet']\n", where: "bulkhead.toml:3", key: "plugins[0].deny_tools[0]", remedy: `did you mean "hello_greet"?`, old: "helo_greet", new: "hello_greet"},
	"denied pattern": {config: withHello + "deny_tools = ['helo_*']\n", where: "bulkhead.toml:3", key: "plugins[0].deny_tools[0]", remedy: "correct or remove it", old: "helo_*", new: "hello_*",
		code: warns},

	// Duplicate tools.
	"duplicate tool, prefix": {config: withHello + "[[plugins]]\npath = 'plugins/hullo'\n", damage: duplicateHello, where: "bulkhead.toml:3", key: "plugins[1]", remedy: "give one a prefix",
		old: "plugins/hullo'\n", new: "plugins/hullo'\nprefix = 'second_'\n", code: warns},
	"duplicate tool, denied": {config: withHello + "[[plugins]]\npath = 'plugins/hullo'\n", damage: duplicateHello, where: "plugins/hello/plugin.toml:17", key: "hello_greet", remedy: "deny_tools in bulkhead.toml",
		old: "plugins/hullo'\n", new: "plugins/hullo'\ndeny_tools = ['hello_greet']\n", code: warns},
	"duplicate tool, removed": {config: withHello + "[[plugins]]\npath = 'plugins/hullo'\n", damage: duplicateHello, where: "plugins/hullo/plugin.toml:17", key: "hello_greet", remedy: "remove one of the plugins",
		old: "[[plugins]]\npath = 'plugins/hullo'\n", new: "", code: warns},

	// Denied origins.
	"origin on this machine": {config: withAam + "http = ['http://127.0.0.1:8080']\n", where: "bulkhead.toml:3", key: "plugins[0].http[0]", remedy: `write { origin = "http://127.0.0.1:8080", private = true }`,
		old: "'http://127.0.0.1:8080'", new: `{ origin = "http://127.0.0.1:8080", private = true }`, code: warns},
	"origin that is not requested": {config: withHello + "http = ['https://example.com']\n", where: "bulkhead.toml:3", key: "plugins[0].http[0]", remedy: "remove it", old: "http = ['https://example.com']\n"},
	"origin with a path":           {config: withAam + "http = ['https://example.com/x']\n", where: "bulkhead.toml:3", key: "plugins[0].http[0]", remedy: "write scheme, host", old: "com/x", new: "com", code: 2},
	"origin without a scheme":      {config: withAam + "http = ['example.com']\n", where: "bulkhead.toml:3", key: "plugins[0].http[0]", remedy: `"https://`, old: "'example", new: "'https://example", code: 2},

	// Wrong values.
	"value":             {config: withChant + "fs = [{ path = '${project}', access = 'wr' }]\n", where: "bulkhead.toml:3", key: "plugins[0].fs[0].access", remedy: `write "r" or "rw"`, old: "'wr'", new: `"rw"`, code: 2},
	"string for array":  {config: withHello + "allow_tools = 'hello_greet'\n", where: "bulkhead.toml:3", key: "plugins[0].allow_tools", remedy: "write an array of strings", old: "'hello_greet'", new: "['hello_greet']", code: 2},
	"string for bool":   {config: withHello + "read_only = 'yes'\n", where: "bulkhead.toml:3", key: "plugins[0].read_only", remedy: "write true or false", old: "'yes'", new: "true", code: 2},
	"size":              {config: withHello + "[plugins.limits]\nmemory = '64 megabytes'\n", where: "bulkhead.toml:4", key: "plugins[0].limits.memory", remedy: `"64MiB"`, old: "64 megabytes", new: "64MiB", code: 2},
	"variable":          {config: withHello + "env = { TOKEN = 'x' }\n", where: "bulkhead.toml:3", key: "plugins[0].env.TOKEN", remedy: "remove it", old: "env = { TOKEN = 'x' }\n"},
	"repository":        {config: withHello + "git = [{ repo = '${project}', access = 'r' }]\n", where: "bulkhead.toml:3", key: "plugins[0].git", remedy: "remove it", old: "git = [{ repo = '${project}', access = 'r' }]\n"},
	"pin of another":    {config: withHello + "sha256 = '" + strings.Repeat("0", 64) + "'\n", where: "bulkhead.toml:3", key: "plugins[0].sha256", remedy: "accept it with `bulkhead add DIR/plugins/hello --repin`"},
	"pin that is short": {config: withHello + "sha256 = '00'\n", where: "bulkhead.toml:3", key: "plugins[0].sha256", remedy: "leave it out", old: "sha256 = '00'\n", code: 2},
	"key in a manifest": {config: withHello, damage: func(t *testing.T, a *adminWorld) { a.edit(t, "plugins/hello/plugin.toml", "", "nmae = 1\n") },
		where: "plugins/hello/plugin.toml:1", key: "nmae", remedy: "remove it", apply: func(t *testing.T, a *adminWorld) { a.edit(t, "plugins/hello/plugin.toml", "nmae = 1\n", "") }},
}

func duplicateHello(t *testing.T, a *adminWorld) {
	if err := os.CopyFS(filepath.Join(a.dir, "plugins/hullo"), os.DirFS(filepath.Join(a.dir, "plugins/hello"))); err != nil {
		t.Fatal(err)
	}
	a.edit(t, "plugins/hullo/plugin.toml", `"hello"`, `"hullo"`)
}

// TestAdminMistakes checks that tools, doctor and the instructions for clients show the file, line, key and remedy of each mistake,
// and that the problem is gone when the remedy is applied.
func TestAdminMistakes(t *testing.T) {
	t.Parallel()
	for name, m := range mistakes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newAdminWorld(t)
			putFile(t, filepath.Join(a.dir, "bulkhead.toml"), m.config)
			if m.damage != nil {
				m.damage(t, a)
			}
			remedy := strings.ReplaceAll(m.remedy, "DIR", a.dir)
			wantCode := max(m.code, 0)
			if m.code == 0 {
				wantCode = 1
			}
			for place, out := range a.report(t, wantCode) {
				if !containsAll(out, m.where, m.key, remedy) {
					t.Errorf("%s does not show %q:\n%s", place, []string{m.where, m.key, remedy}, out)
				}
			}
			switch {
			case m.apply != nil:
				m.apply(t, a)
			case m.old == "" && m.new == "":
				a.runRemedy(t, remedy)
			default:
				a.edit(t, "bulkhead.toml", m.old, strings.ReplaceAll(m.new, "DIR", a.dir))
			}
			for place, out := range a.report(t, 0) {
				if strings.Contains(out, m.where+": "+m.key+": ") || strings.Contains(out, "\nfailed ") || strings.Contains(out, "left out") {
					t.Errorf("%s after the remedy was applied:\n%s", place, out)
				}
			}
		})
	}
}

// adminWorld is a directory with plugins and a config.
type adminWorld struct {
	t   *testing.T
	dir string
	env []string
}

func newAdminWorld(t *testing.T) *adminWorld {
	t.Helper()
	dir := newDir(t, nil)
	for _, name := range []string{"hello", "chant", "aam"} {
		if err := os.CopyFS(filepath.Join(dir, "plugins", name), os.DirFS(filepath.Join(built.plugins(t), name))); err != nil {
			t.Fatal(err)
		}
	}
	return &adminWorld{t: t, dir: dir, env: append(environment(t), goEnvironment(t)...)}
}

func (a *adminWorld) command(args ...string) *exec.Cmd {
	cmd := exec.Command(built.program(a.t), args...)
	cmd.Dir, cmd.Env = a.dir, a.env
	return cmd
}

// report returns what tools, doctor and the instructions for clients show.
func (a *adminWorld) report(t *testing.T, code int) map[string]string {
	t.Helper()
	out := map[string]string{"instructions": a.instructions(t)}
	for _, command := range []string{"tools", "doctor"} {
		cmd := a.command(command, "--config", "bulkhead.toml")
		text, err := cmd.CombinedOutput()
		if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		if got := cmd.ProcessState.ExitCode(); command == "tools" && got != code {
			t.Errorf("tools: exit code %d, want %d\n%s", got, code, text)
		}
		out[command] = string(text)
	}
	return out
}

func (a *adminWorld) instructions(t *testing.T) string {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	cmd := a.command("serve", "--config", "bulkhead.toml", "--log-level", "off")
	session, err := client.Connect(context.Background(), &mcp.CommandTransport{Command: cmd}, &mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	return session.InitializeResult().Instructions
}

// runRemedy runs the command in a remedy. SOURCE stands for the source of hello.
func (a *adminWorld) runRemedy(t *testing.T, remedy string) {
	t.Helper()
	found := regexp.MustCompile("`bulkhead ([^`]*)`").FindStringSubmatch(remedy)
	if found == nil {
		t.Fatalf("no command in %q", remedy)
	}
	source, err := filepath.Abs("../examples/hello")
	if err != nil {
		t.Fatal(err)
	}
	args := strings.Fields(strings.ReplaceAll(found[1], "SOURCE", source))
	if args[0] == "add" {
		args = append(args, "--yes", "--config", "bulkhead.toml")
	}
	if out, err := a.command(args...).CombinedOutput(); err != nil {
		t.Fatalf("%q: %v\n%s", args, err, out)
	}
}

// edit replaces the first old in a file, or puts text before the file's content if old is empty.
func (a *adminWorld) edit(t *testing.T, name, old, text string) {
	t.Helper()
	editFile(t, filepath.Join(a.dir, name), func(content string) string {
		if !strings.Contains(content, old) {
			t.Fatalf("%s does not contain %q", name, old)
		}
		return strings.Replace(content, old, text, 1)
	})
}

func (a *adminWorld) remove(t *testing.T, name string) {
	t.Helper()
	if err := os.Remove(filepath.Join(a.dir, name)); err != nil {
		t.Fatal(err)
	}
}

// TestInvalidConfigExplainsUnknownTools checks what a client gets that calls a tool of a server with an invalid config.
func TestInvalidConfigExplainsUnknownTools(t *testing.T) {
	t.Parallel()
	a := newAdminWorld(t)
	putFile(t, filepath.Join(a.dir, "bulkhead.toml"), "verson = 1\n"+withHello)
	cmd := a.command("serve", "--config", "bulkhead.toml", "--log-level", "off")
	cmd.Stdin = strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"hello_greet","arguments":{}}}` + "\n")
	out, err := cmd.Output()
	var answer struct{ Error struct{ Message string } }
	if err == nil {
		err = json.Unmarshal(out, &answer)
	}
	if err != nil || !containsAll(answer.Error.Message, "bulkhead.toml:1: verson: is not a known key", "remedy: remove it") {
		t.Errorf("%v: %s", err, out)
	}
}
