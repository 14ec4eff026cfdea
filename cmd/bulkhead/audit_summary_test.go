package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bulkhead-mcp/bulkhead/host"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/admintest"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/hosttest"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/discovery"
)

// summarize runs audit --summary over a log with these lines, whose %s is replaced by a time an hour ago.
func summarize(t *testing.T, asJSON bool, lines ...string) string {
	t.Helper()
	text, err := summarizeUntil(t.Context(), t, asJSON, lines...)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func summarizeUntil(ctx context.Context, t *testing.T, asJSON bool, lines ...string) (string, error) {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "audit.jsonl")
	text := strings.ReplaceAll(strings.Join(lines, "\n")+"\n", "%s", time.Now().Add(-time.Hour).UTC().Format(time.RFC3339))
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	state := map[string]string{"XDG_STATE_HOME": filepath.Join(dir, "state"), "HOME": dir, "LocalAppData": dir}
	a := auditCommand{file: file, summary: true, asJSON: asJSON, host: host.Options{System: discovery.System{
		LookupEnv: func(name string) (string, bool) { value, ok := state[name]; return value, ok }, Dir: dir,
	}}}
	var out, errs bytes.Buffer
	err := a.run(ctx, &out, &errs)
	return out.String(), err
}

func TestInterruptedSummaryGoesOn(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if text, err := summarizeUntil(ctx, t, false, summaryLines...); err == nil || !strings.Contains(err.Error(), "the next run goes on") || text != "" {
		t.Errorf("got %v: %s", err, text)
	}
}

var summaryLines = []string{
	`{"time":"%s","kind":"call","id":"1","plugin":"notes","method":"tools/call","tool":"notes_add","client":"editor 1","principal":"local","outcome":"ok","duration_us":1500,"bytes_out":40000}`,
	`{"time":"%s","kind":"call","id":"2","plugin":"notes","method":"tools/call","tool":"notes_add","client":"editor 1","principal":"local","outcome":"failed","code":"timeout","duration_us":2000000}`,
	`{"time":"%s","kind":"refused","id":"3","plugin":"git","method":"tools/call","tool":"git_push","principal":"token:ci","outcome":"denied","code":"not_granted"}`,
	`{"time":"%s","kind":"refused","id":"1","plugin":"notes","method":"tools/call","tool":"notes_add","outcome":"denied","code":"denied","operations":[{"op":"fs/write","target":"/etc/\u001b[2J\u202ehosts","outcome":"denied","count":1}]}`,
	`{"time":"%s","kind":"refused","id":"4","method":"tools/call","tool":"\u001b]0;x\u0007guess","client":"\u202e","outcome":"denied","code":"unknown"}`,
	`{"time":"2999-01-01T00:00:00Z","kind":"call","id":"5","plugin":"notes","method":"tools/call","tool":"notes_add","outcome":"ok"}`,
	`no record`,
}

func TestSummaryShowsNumbers(t *testing.T) {
	for _, locale := range []string{"C", "C.UTF-8"} {
		t.Setenv("LC_ALL", locale)
		text := summarize(t, false, summaryLines...)
		for _, want := range []string{
			"2 calls, 1 error, 3 refused", "longest 2s", "1 line of the log is no record", "1 record in the future or older", "notes_add: fs/write /etc/", "not_granted  git_push", "1 timeout  notes_add", "unknown  tools/call", "editor 1",
			"token:ci",
		} {
			if !strings.Contains(text, want) {
				t.Errorf("%s: the output lacks %q:\n%s", locale, want, text)
			}
		}
		if strings.ContainsAny(text, "\x1b\x07\u202e") {
			t.Errorf("%s: the output has control characters: %q", locale, text)
		}
		if strings.ContainsAny(text, "█▁") != (locale == "C.UTF-8") {
			t.Errorf("%s: the bars do not fit the locale:\n%s", locale, text)
		}
		for line := range strings.Lines(text) {
			if n := len([]rune(line)); n > 81 {
				t.Errorf("%s: a line has %d characters: %s", locale, n, line)
			}
		}
	}
}

func TestSummaryAsJSON(t *testing.T) {
	var got struct {
		Total  struct{ Calls, Errors, Refused, Tokens int64 }
		Series []struct{ Calls int64 }
		Tools  []struct {
			Tool   string
			Series []int64
		}
		Refused []struct{ Tool, Op, Code, Example string }
		Damaged int64
	}
	text := summarize(t, true, summaryLines...)
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		t.Fatal(err, text)
	}
	if got.Total.Calls != 2 || got.Total.Errors != 1 || got.Total.Refused != 3 || got.Total.Tokens != 10_000 || got.Damaged != 1 || len(got.Refused) != 3 {
		t.Errorf("got %+v", got)
	}
	if len(got.Tools) == 0 || got.Tools[0].Tool != "notes_add" || len(got.Tools[0].Series) != len(got.Series) {
		t.Errorf("got the tools %+v", got.Tools)
	}
	if strings.ContainsAny(text, "\x1b\u202e") {
		t.Error("the output has control characters")
	}
}

// TestSummaryOfClientsHasNoUnusedTools has a config with a plugin whose tools are not in the log: a client may be granted less, and what it does not use others may use.
func TestSummaryOfClientsHasNoUnusedTools(t *testing.T) {
	w := hosttest.New(t, hosttest.Files{"plugins/one/plugin.toml": `manifest = 1
[plugin]
name = "one"
version = "1.0.0"
description = "Made for a test."
[module]
file = "it.wasm"
sha256 = "` + strings.Repeat("0", 64) + `"
[[tools]]
name = "one_read"
description = "reads"
access = "read"
`, "plugins/one/it.wasm": "x"})
	w.Write(t, hosttest.Files{"work/bulkhead.toml": "[audit]\nfile = '" + filepath.Join(w.Dir, "audit.jsonl") + "'\n[[plugins]]\npath = \"../plugins/one\"\n",
		"audit.jsonl": strings.ReplaceAll(strings.Join(summaryLines, "\n"), "%s", time.Now().Add(-time.Hour).UTC().Format(time.RFC3339))})
	for client, want := range map[string]bool{"": true, "local": false} {
		a := auditCommand{summary: true, host: host.Options{ConfigFile: filepath.Join(w.Dir, "work/bulkhead.toml"), System: w.Options().System}}
		if client != "" {
			a.query.Clients = []string{client}
		}
		var out, errs bytes.Buffer
		if err := a.run(t.Context(), &out, &errs); err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(out.String(), "one_read  no use recorded"); got != want {
			t.Errorf("for the client %q, unused tools are shown: %v\n%s%s", client, got, out.String(), errs.String())
		}
	}
}

// TestClientsAreSelectedByTheNamesOfTheirTokens has a token, whose name the log does not have, and a refusal that the config decides.
func TestClientsAreSelectedByTheNamesOfTheirTokens(t *testing.T) {
	w := admintest.New(t)
	w.Plugin(t, "one", "")
	tokens, err := discovery.NamedTokens(w.Options().System)
	if err != nil {
		t.Fatal(err)
	}
	_, made, err := tokens.New(t.Context(), "ci-build", nil)
	if err != nil {
		t.Fatal(err)
	}
	line := `{"time":%q,"kind":"refused","id":"1","plugin":"one","method":"tools/call","tool":"one_read","client":"runner","principal":%q,"outcome":"denied","code":"not_granted"}` + "\n"
	at := time.Now().Add(-time.Hour).UTC().Format(time.RFC3339)
	w.Write(t, "audit.jsonl", fmt.Sprintf(line, at, made.PrincipalID())+fmt.Sprintf(line, at, "token:other"))
	w.Config(t, "[audit]\nfile = '"+w.Path("audit.jsonl")+"'\n[[plugins]]\npath = \"../plugins/one\"\ndeny_tools = [\"one_read\"]\n")
	long := "denied by deny_tools \"one_read\" (bulkhead.toml:5)"
	for _, c := range []struct {
		client  string
		summary bool
		want    []string
	}{
		{"ci-build", false, []string{"runner  (ci-build, " + made.PrincipalID() + ")"}}, {"ci-*", true, []string{"0 calls, 0 errors, 1 refused", "ci-build (" + made.PrincipalID() + "): " + long}},
		{"", true, []string{"2 refused", "ci-build (" + made.PrincipalID() + ")", "one of 2 clients: " + long}},
	} {
		a := auditCommand{summary: c.summary, host: host.Options{ConfigFile: w.Path("work/bulkhead.toml"), System: w.Options().System}}
		if c.client != "" {
			a.query.Clients = []string{c.client}
		}
		var out, errs bytes.Buffer
		if err := a.run(t.Context(), &out, &errs); err != nil {
			t.Fatal(err)
		}
		for _, want := range c.want {
			if !strings.Contains(out.String(), want) || c.client != "" && strings.Contains(out.String(), "token:other") {
				t.Errorf("%s: the output lacks %q, or has another client:\n%s", c.client, want, out.String())
			}
		}
	}
}

// TestBarsShowRatios has a tool with few calls, which comes last among the slowest, that takes twice as long as the first.
func TestBarsShowRatios(t *testing.T) {
	t.Setenv("LC_ALL", "C")
	call := `{"time":"%s","kind":"call","plugin":"p","method":"tools/call","tool":"`
	lines := slices.Repeat([]string{call + `often","outcome":"ok","duration_us":1000000}`}, 5)
	text := summarize(t, false, append(lines, call+`seldom","outcome":"ok","duration_us":2000000}`)...)
	_, slowest, _ := strings.Cut(text, "slowest")
	for tool, want := range map[string]int{"often": 4, "seldom": 7} {
		row, _, _ := strings.Cut(slowest, tool)
		if got := strings.Count(row[strings.LastIndex(row, "\n"):], "#"); got != want {
			t.Errorf("the bar of %s has %d marks, want %d:\n%s", tool, got, want, slowest)
		}
	}
}

func TestSummaryInAPipeCutsNothing(t *testing.T) {
	target := "/" + strings.Repeat("long/", 40)
	if text := summarize(t, false, `{"time":"%s","kind":"refused","plugin":"p","method":"tools/call","tool":"t","outcome":"denied","code":"denied","operations":[{"op":"file/open","target":"`+target+`","outcome":"denied"}]}`); !strings.Contains(text, target+"\n") {
		t.Errorf("the output lacks %s:\n%s", target, text)
	}
}

func TestSummaryRefusesOtherFlags(t *testing.T) {
	for want, a := range map[string]auditCommand{
		"--follow":  {summary: true, follow: true},
		"--outcome": {summary: true, outcomes: []string{"ok"}},
		"future":    {summary: true, since: "2999-01-01"},
	} {
		if err := a.run(t.Context(), &bytes.Buffer{}, &bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}
