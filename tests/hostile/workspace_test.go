//go:build unix

package hostile

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"unicode"
)

// workspace is the directory of a server: config, audit log, project, and files outside the project.
type workspace struct {
	t       testing.TB
	program string
	dir     string
	project string
	config  strings.Builder
	env     []string
}

// newWorkspace creates a workspace whose config has the plugin echo.
func newWorkspace(t testing.TB) *workspace {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &workspace{t: t, program: built.program(t), dir: dir, project: filepath.Join(dir, "work"), env: environment(t)}
	w.writeFile("work/plain.txt", "nothing special")
	fmt.Fprintf(&w.config, "[audit]\nfile = %q\narguments = \"full\"\non_failure = \"closed\"\n", w.path("audit.jsonl"))
	w.addPlugin(filepath.Join(built.plugins(t), "echo"), "")
	return w
}

func (w *workspace) path(name string) string { return filepath.Join(w.dir, name) }

func (w *workspace) writeFile(name, content string) {
	w.t.Helper()
	if err := os.MkdirAll(filepath.Dir(w.path(name)), 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(w.path(name), []byte(content), 0o644); err != nil {
		w.t.Fatal(err)
	}
}

func (w *workspace) symlink(name, target string) {
	w.t.Helper()
	if err := os.MkdirAll(filepath.Dir(w.path(name)), 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := os.Symlink(target, w.path(name)); err != nil {
		w.t.Fatal(err)
	}
}

// addPlugin adds a plugin to the config, with further lines of its table.
func (w *workspace) addPlugin(dir, lines string) {
	fmt.Fprintf(&w.config, "[[plugins]]\npath = %q\n%s\n", dir, lines)
}

// addModule adds a plugin with the given module and one tool of the same name.
func (w *workspace) addModule(name string, module []byte, lines string) {
	w.t.Helper()
	dir := "plugins/" + name
	w.writeFile(dir+"/plugin.toml", fmt.Sprintf(`manifest = 1
[plugin]
name = %[1]q
version = "1.0.0"
description = "Made by hand."
[module]
file = "it.wasm"
[[capabilities.fs]]
path = "${project}"
access = "rw"
[[tools]]
name = %[1]q
description = "Do it"
access = "read"
`, name))
	w.writeFile(dir+"/it.wasm", string(module))
	w.addPlugin(w.path(dir), lines)
}

// serve starts the server and waits for an answer of the plugin echo.
func (w *workspace) serve() *server {
	w.t.Helper()
	w.writeFile("bulkhead.toml", w.config.String())
	cmd := exec.Command(w.program, "serve", "--config", w.path("bulkhead.toml"), "--project", w.project)
	cmd.Dir, cmd.Env = w.dir, w.env
	s := start(w.t, cmd)
	s.checkOthers()
	return s
}

// record is a line of the audit log.
type record struct {
	Kind, Plugin, Tool, Outcome, Code string
	Arguments                         string
	Operations                        []struct{ Op, Target, Outcome, Code string }
}

// records reads the audit log and checks that every line is JSON, printable, and free of the secret.
func (w *workspace) records() []record {
	w.t.Helper()
	f, err := os.Open(w.path("audit.jsonl"))
	if err != nil {
		w.t.Fatal(err)
	}
	defer f.Close()
	var all []record
	lines := bufio.NewScanner(f)
	for lines.Buffer(nil, 1<<20); lines.Scan(); {
		line := lines.Text()
		var r record
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			w.t.Errorf("a line of the audit log: %v: %s", err, line)
		}
		if strings.ContainsFunc(line, func(c rune) bool { return !unicode.IsPrint(c) }) || leaks(line) {
			w.t.Errorf("a line of the audit log contains control characters or the secret: %q", line)
		}
		all = append(all, r)
	}
	return all
}

// calls returns the records of a plugin's calls.
func (w *workspace) calls(plugin string) []record {
	w.t.Helper()
	var own []record
	for _, r := range w.records() {
		if r.Kind == "call" && r.Plugin == plugin {
			own = append(own, r)
		}
	}
	return own
}
