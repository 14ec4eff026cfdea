//go:build unix

package tests

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// longResults is a project with a long spec, and a config that bounds results.
type longResults struct {
	t            *testing.T
	dir, project string
	env          []string
	body         string // of the spec
}

func newLongResults(t *testing.T) *longResults {
	t.Helper()
	var body strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&body, "Line %d of a spec — naïve, \"quoted\" and long.\n", i)
	}
	l := &longResults{t: t, env: environment(t), body: strings.TrimSpace(body.String())}
	l.dir = newDir(t, map[string]string{"project/.chant/specs/2026-01-01-001-abc.md": "---\ntype: code\nstatus: pending\n---\n\n# A long spec\n\n" + l.body + "\n"})
	l.project = filepath.Join(l.dir, "project")
	putFile(t, l.config(), fmt.Sprintf("[server]\nname = 'x'\n[http]\ntokens = true\nother_clients = 'all'\n[audit]\nfile = %q\non_failure = 'closed'\n[defaults.limits]\nresult = '8KiB'\n"+
		"[[clients]]\nname = 'short'\nmatch = { tokens = ['bob'] }\nlimits = { result = '2KiB' }\n[[plugins]]\npath = %q\nfs = [{ path = '${project}', access = 'r' }]\n",
		filepath.Join(l.dir, "audit.jsonl"), filepath.Join(built.plugins(t), "chant")))
	return l
}

func (l *longResults) config() string { return filepath.Join(l.dir, "bulkhead.toml") }

func (l *longResults) command(args ...string) *exec.Cmd {
	cmd := exec.Command(built.program(l.t), append(args, "--config", l.config())...)
	cmd.Dir, cmd.Env = l.project, l.env
	return cmd
}

// readWhole calls the tool and reads the rest of its result. It checks that no part is longer than the limit, and returns the id and the whole text.
func (l *longResults) readWhole(limit int, call func(tool, arguments string) string) (id, text string) {
	l.t.Helper()
	part := func(tool, arguments string) (text, note string) {
		l.t.Helper()
		var r struct {
			Result struct{ Content []struct{ Text string } }
		}
		answer := call(tool, arguments)
		if err := json.Unmarshal([]byte(answer), &r); err != nil || len(r.Result.Content) != 2 {
			l.t.Fatalf("%s: %v: %.500s", tool, err, answer)
		}
		text, note = r.Result.Content[0].Text, r.Result.Content[1].Text
		if len(text)+len(note) > limit {
			l.t.Errorf("a part has %d bytes, and the limit is %d", len(text)+len(note), limit)
		}
		return text, note
	}
	first, note := part("chant_spec_get", `{"id":"001-abc"}`)
	var cut struct{ ID, Body string }
	if err := json.Unmarshal([]byte(first), &cut); err != nil || cut.ID != "2026-01-01-001-abc" || !strings.HasSuffix(cut.Body, " more characters)") {
		l.t.Errorf("the cut JSON: %v: %s", err, first)
	}
	for note != "" {
		_, next, found := strings.Cut(note, "call read_result with ")
		if !found {
			break
		}
		var at struct {
			ID     string
			Offset int
		}
		if err := json.NewDecoder(strings.NewReader(next)).Decode(&at); err != nil || at.Offset != len(text) {
			l.t.Fatalf("%v: %s, after %d bytes", err, note, len(text))
		}
		var more string
		id = at.ID
		more, note = part("read_result", fmt.Sprintf(`{"id":%q,"offset":%d}`, at.ID, at.Offset))
		text += more
	}
	return id, text
}

func (l *longResults) checkText(text string) {
	l.t.Helper()
	var spec struct{ ID, Body string }
	if err := json.Unmarshal([]byte(text), &spec); err != nil || spec.ID != "2026-01-01-001-abc" || !strings.Contains(spec.Body, l.body) {
		l.t.Errorf("%v: the text of %d bytes is not that of the tool: %.200s", err, len(text), text)
	}
}

// checkNotWritten looks for a part of a text in the directories of the host.
func (l *longResults) checkNotWritten(text string) {
	l.t.Helper()
	part := text[len(text)/2 : len(text)/2+300]
	for _, variable := range l.env {
		name, dir, _ := strings.Cut(variable, "=")
		if name != "HOME" && name != "XDG_STATE_HOME" {
			continue
		}
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			if content, err := os.ReadFile(path); err == nil && strings.Contains(string(content), part) {
				l.t.Errorf("%s has a part of the result", path)
			}
			return nil
		})
		if err != nil {
			l.t.Error(err)
		}
	}
	if strings.Contains(readFile(l.t, filepath.Join(l.dir, "audit.jsonl")), part[:40]) {
		l.t.Error("the audit log has a part of the result")
	}
}

func TestLongResultsOverStdio(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"all", "search"} {
		l := newLongResults(t)
		s := startServer(t, l.command("serve", "--tools", mode))
		calls := 1
		_, text := l.readWhole(8<<10, func(tool, arguments string) string {
			calls++
			if mode == "search" && tool != "read_result" {
				tool, arguments = "read_tool", fmt.Sprintf(`{"name":%q,"arguments":%s}`, tool, arguments)
			}
			return s.ask(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, calls, tool, arguments))
		})
		l.checkText(text)
		l.checkNotWritten(text)
		log := readFile(t, filepath.Join(l.dir, "audit.jsonl"))
		if n := strings.Count(log, `"tool":"read_result"`); n != calls-2 || strings.Count(log, `"shortened_from":`) != 1 {
			t.Errorf("%d records of read_result, want %d:\n%s", n, calls-2, log)
		}
	}
}

// The program's own call of a tool is for a user or a program, neither of which can read on.
func TestLongResultOfCallCommandIsWhole(t *testing.T) {
	t.Parallel()
	l := newLongResults(t)
	out, err := l.command("call", "chant_spec_get", `{"id":"001-abc"}`).Output()
	if err != nil {
		t.Fatal(err)
	}
	l.checkText(string(out))
}

// The commands by which users look at a config name the limit.
func TestLimitOfResultsIsShown(t *testing.T) {
	t.Parallel()
	l := newLongResults(t)
	if out, err := l.command("token", "new", "bob").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, c := range []struct{ command, want string }{
		{"doctor --project .", "tools are offered; results above 8KiB are shortened"},
		{"policy chant", "result            8KiB       defaults.limits (bulkhead.toml)"},
		{"policy chant --client bob", "result            2KiB       clients[short].limits ("},
		{"tools", "read_result  read  Read on in a result that was too long"},
		{"tools --json --client bob", `"result_limit": "2KiB"`},
	} {
		out, err := l.command(strings.Fields(c.command)...).CombinedOutput()
		if err != nil && !strings.HasPrefix(c.command, "doctor") || !strings.Contains(string(out), c.want) {
			t.Errorf("%s: %v: %s\nwant %s", c.command, err, out, c.want)
		}
	}
}

func TestLongResultsOverHTTP(t *testing.T) {
	t.Parallel()
	l := newLongResults(t)
	token := func(name string) string {
		out, err := l.command("token", "new", name).Output()
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(out))
	}
	ann, bob := token("ann"), token("bob")
	url := httpURL(t, startServer(t, l.command("serve", "--project", l.project, "--http", "127.0.0.1:0")))
	by := func(token string) func(tool, arguments string) string {
		return func(tool, arguments string) string {
			status, body := modernCall(t, url, tool, arguments, "Authorization", "Bearer "+token)
			if status != 200 {
				return fmt.Sprintf("%d %s", status, body)
			}
			return body
		}
	}
	id, text := l.readWhole(8<<10, by(ann))
	l.checkText(text)
	other, text := l.readWhole(2<<10, by(bob))
	l.checkText(text)
	l.checkNotWritten(text)
	for name, c := range map[string][2]string{"bob": {bob, id}, "ann": {ann, other}} {
		if got := by(c[0])("read_result", fmt.Sprintf(`{"id":%q}`, c[1])); !strings.Contains(got, "has no result with this id") {
			t.Errorf("%s reads the result of the other: %.300s", name, got)
		}
	}
	if log := readFile(t, filepath.Join(l.dir, "audit.jsonl")); strings.Count(log, `"kind":"refused"`) != 2 || strings.Count(log, `"code":"not_granted"`) != 2 {
		t.Errorf("the refused reads are not recorded: %s", log)
	}
}
