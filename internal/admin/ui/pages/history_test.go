package pages

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/admin/admintest"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/discovery"
)

const hostileText = `\"><script>alert(1)</script><svg onload=x>\u202e\u001b[2J`

// historyOf serves the history page of a log with these lines, in which TIME is a time an hour ago, and returns what opens a path.
func historyOf(t *testing.T, config string, lines ...string) func(path string) (*http.Response, string) {
	t.Helper()
	dir := t.TempDir()
	log, file := filepath.Join(dir, "audit.jsonl"), filepath.Join(dir, "bulkhead.toml")
	text := strings.ReplaceAll(strings.Join(lines, "\n")+"\n", "TIME", time.Now().Add(-time.Hour).UTC().Format(time.RFC3339))
	for path, content := range map[string]string{log: text, file: strings.ReplaceAll(config, "LOG", filepath.ToSlash(log))} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	env := map[string]string{"XDG_STATE_HOME": filepath.Join(dir, "state"), "HOME": dir, "LocalAppData": dir}
	o := discovery.Options{ConfigFile: file, System: discovery.System{
		Dir: dir, LookupEnv: func(name string) (string, bool) { value, ok := env[name]; return value, ok },
	}}
	return open(t, historyPage(o)).get
}

func TestHistoryShowsHostileLogAsText(t *testing.T) {
	var lines []string
	for _, field := range []string{"plugin", "tool", "client", "principal", "method", "code", "reason", "outcome"} {
		for _, kind := range []string{"call", "refused"} {
			values := map[string]string{"plugin": "p", "tool": "t", "client": "c", "principal": "token:x", "method": "tools/call", "code": "x", "reason": "y", "outcome": "denied"}
			values[field] = hostileText
			line := fmt.Sprintf(`{"time":"TIME","kind":%q,"operations":[{"op":"fs/read","target":"%s","outcome":"denied"}]`, kind, hostileText)
			for name, value := range values {
				line += fmt.Sprintf(`,"%s":"%s"`, name, value)
			}
			lines = append(lines, line+"}")
		}
	}
	get := historyOf(t, "[audit]\nfile = \"LOG\"\n", lines...)
	for _, path := range []string{
		"/history", "/history?range=year", "/history?tool=%22%3E%3Cscript%3E", "/history?range=day&client=%3Cscript%3E%E2%80%AE&plugin=p",
	} {
		answer, body := get(path)
		if answer.StatusCode != http.StatusOK {
			t.Fatalf("%s: %s: %s", path, answer.Status, body)
		}
		lower := strings.ToLower(body)
		if strings.Contains(lower, "<script") || strings.Contains(lower, "<svg onload") || strings.ContainsAny(body, "\u202e\x1b") || strings.Contains(body, " style=") {
			t.Errorf("%s: the page has hostile text as markup: %s", path, body)
		}
		if strings.Count(body, "<svg ") != 6 || strings.Count(body, "</svg>") != 6 {
			t.Errorf("%s: the page does not have its charts", path)
		}
	}
	_, body := get("/history")
	for _, want := range []string{"&lt;script&gt;", "fs/read"} {
		if !strings.Contains(body, want) {
			t.Errorf("the page lacks %q: %s", want, body)
		}
	}
}

func TestHistorySelectsByLinks(t *testing.T) {
	get := historyOf(t, "[audit]\nfile = \"LOG\"\n",
		`{"time":"TIME","kind":"call","plugin":"notes","method":"tools/call","tool":"notes_add","client":"editor 1","principal":"local","outcome":"ok","duration_us":1500}`,
		`{"time":"TIME","kind":"call","plugin":"git","method":"tools/call","tool":"git_log","principal":"token:ci","outcome":"failed","code":"timeout","duration_us":9000000}`,
		`{"time":"TIME","kind":"refused","plugin":"git","method":"tools/call","tool":"git_push","principal":"token:ci","outcome":"denied","code":"not_granted"}`)
	for path, want := range map[string][]string{
		"/history": {
			"notes_add", "git_log, p95 9s of 1 call<", `href="./history?tool=git_log"`, `href="./history?client=editor&#43;1"`, `href="./history?range=year"`, "git_push", "not_granted", "bulkhead audit --summary --since 7d",
		},
		"/history?client=token%3Aci&range=month": {
			"Only the client <code>token:ci</code>", `href="./history?range=month"`, "!notes_add", "git_log", "--since 30d --client token:ci",
		},
		"/history?plugin=notes": {"!git_log", "notes_add", "Nothing was refused"},
	} {
		answer, body := get(path)
		if answer.StatusCode != http.StatusOK {
			t.Fatalf("%s: %s: %s", path, answer.Status, body)
		}
		if id := withoutTarget(body); id != "" || !strings.Contains(body, `href="#refused"`) {
			t.Errorf("%s links to #%s, which it does not have, or not to the refusals: %s", path, id, body)
		}
		for _, w := range want {
			if text, not := strings.CutPrefix(w, "!"); strings.Contains(body, text) == not {
				t.Errorf("%s: %s in %s", path, w, body)
			}
		}
	}
	if answer, body := get("/history?range=century"); answer.StatusCode != http.StatusBadRequest || !strings.Contains(body, "use day, week") {
		t.Errorf("got %s: %s", answer.Status, body)
	}
}

// TestHistoryLinksSelectWhatTheyName has a client whose name would select others, one without a name, and calls of no plugin and no tool.
func TestHistoryLinksSelectWhatTheyName(t *testing.T) {
	get := historyOf(t, "[audit]\nfile = \"LOG\"\n",
		`{"time":"TIME","kind":"call","plugin":"notes","method":"tools/call","tool":"notes_add","client":"editor*","principal":"local","outcome":"ok"}`,
		`{"time":"TIME","kind":"call","plugin":"notes","method":"tools/call","tool":"notes_add","client":"editor 1","principal":"local","outcome":"ok"}`,
		`{"time":"TIME","kind":"call","method":"resources/read","outcome":"ok"}`)
	_, body := get("/history")
	for _, w := range []string{"<th scope=\"row\">editor* (local)</th>", "<th scope=\"row\">(unnamed)</th>", "<th scope=\"row\">no plugin: the host</th>", "<th scope=\"row\">resources/read, no tool</th>", `?client=editor&#43;1">`} {
		if !strings.Contains(body, w) {
			t.Errorf("the page lacks %q: %s", w, body)
		}
	}
}

func TestHistoryTellsOfRecordsThatAreNotCounted(t *testing.T) {
	get := historyOf(t, "[audit]\nfile = \"LOG\"\n", `{"time":"2999-01-01T00:00:00Z","kind":"call","plugin":"notes","method":"tools/call","tool":"notes_add","outcome":"ok"}`, `{"time":"TIME","kind":"gap","lost":3}`, "x")
	_, body := get("/history")
	for _, w := range []string{"1 record in the future", "3 records could not be written", "1 line of the log is no record"} {
		if !strings.Contains(body, w) {
			t.Errorf("the page lacks %q: %s", w, body)
		}
	}
}

// TestHistoryNamesTheTableOfClientsOfIdentityProviders has a client that no token identifies, whose table only the log knows.
func TestHistoryNamesTheTableOfClientsOfIdentityProviders(t *testing.T) {
	get := historyOf(t, "[audit]\nfile = \"LOG\"\n",
		`{"time":"TIME","kind":"call","plugin":"notes","method":"tools/call","tool":"notes_add","principal":"oauth:0a","table":"staff","outcome":"ok"}`,
		`{"time":"TIME","kind":"call","plugin":"notes","method":"tools/call","tool":"notes_add","principal":"oauth:0b","outcome":"ok"}`)
	_, body := get("/history")
	if strings.Count(body, "of [[clients]]") != 1 || !strings.Contains(body, "oauth:0a</a><br><span class=\"dim\">table staff of [[clients]]</span>") {
		t.Errorf("the page: %s", body)
	}
}

// TestHistoryTellsWhatDecidesAboutRefusals has a web server that is not granted, and one that is granted now, so that no line decides.
func TestHistoryTellsWhatDecidesAboutRefusals(t *testing.T) {
	w := admintest.New(t)
	w.Plugin(t, "first", "[capabilities]\nhttp = ['https://a.example', 'https://b.example']\n")
	plugin := "[[plugins]]\npath = " + quoteTOML(w.Path("plugins/first")) + "\nhttp = ['https://b.example']\n"
	get := historyOf(t, "[audit]\nfile = \"LOG\"\n"+plugin,
		`{"time":"TIME","kind":"refused","plugin":"first","method":"tools/call","tool":"first_read","client":"editor 1","principal":"local","outcome":"denied","code":"denied","operations":[{"op":"http/fetch","target":"https://a.example","outcome":"denied"}]}`,
		`{"time":"TIME","kind":"refused","plugin":"first","method":"tools/call","tool":"first_write","client":"editor 1","principal":"local","outcome":"denied","code":"denied","operations":[{"op":"http/fetch","target":"https://b.example","outcome":"denied"}]}`)
	_, body := get("/history")
	for _, want := range []string{"bulkhead.toml:5</a>: <code>http</code>, which would need <code>&#34;https://a.example&#34;</code>", "<br>editor 1 (local)<", `<td data-of="What decides">explained by <code>bulkhead policy first --origin https://b.example `, "not in http (bulkhead.toml:5)", "bulkhead policy first --origin https://a.example --config "} {
		if !strings.Contains(body, want) {
			t.Errorf("the page lacks %q: %s", want, body)
		}
	}
}

func TestHistoryWithoutLogSaysWhatToAdd(t *testing.T) {
	w := admintest.New(t)
	w.Plugin(t, "first", "")
	get := historyOf(t, "[[plugins]]\npath = "+quoteTOML(w.Path("plugins/first"))+"\n")
	answer, body := get("/history")
	if answer.StatusCode != http.StatusOK || !strings.Contains(body, "[audit]") || !strings.Contains(body, "bulkhead.toml") || strings.Contains(body, "<svg") {
		t.Errorf("got %s: %s", answer.Status, body)
	}
}

func TestHistoryOfABrokenConfigHasItsError(t *testing.T) {
	for config, want := range map[string]string{
		"[audit]\nfile = \"LOG\"\n[[\n":          "bulkhead.toml:3: is not TOML",
		"[audit]\nfile = \"LOG\"\nstrange = 1\n": "bulkhead.toml:3: audit.strange",
	} {
		if _, body := historyOf(t, config)("/history"); !strings.Contains(body, want) || strings.Contains(body, "Add these lines to") {
			t.Errorf("%q: the page lacks %q, or advises to add [audit]:\n%s", config, want, body)
		}
	}
}

// TestHistoryOfAnUntrustedConfigSaysWhatGrantsDoes has a config with [audit] that was never trusted, and one that has changed since: the advice to add
// the table would define it twice.
func TestHistoryOfAnUntrustedConfigSaysWhatGrantsDoes(t *testing.T) {
	w := admintest.New(t)
	w.Plugin(t, "first", "")
	w.Config(t, "[audit]\nfile = "+quoteTOML(w.Path("audit.jsonl"))+"\n[[plugins]]\npath = \"../plugins/first\"\n")
	for _, want := range []string{"bulkhead.toml is not trusted", "bulkhead.toml has changed since it was trusted"} {
		b := open(t, Of(w.Discovering())...)
		for _, path := range []string{"/grants", "/history"} {
			if _, body := b.get(path); !strings.Contains(body, want) || !strings.Contains(body, "bulkhead trust") || strings.Contains(body, "Add these lines to") {
				t.Errorf("%s lacks %q, or advises to add [audit]:\n%s", path, want, body)
			}
		}
		w.Trust(t, "work/bulkhead.toml")
		w.Config(t, w.Read(t, "work/bulkhead.toml")+"deny_tools = [\"first_write\"]\n")
	}
}

func TestPagesWithoutConfigByFlagAdviseNoChangeOfIt(t *testing.T) {
	w := admintest.New(t)
	w.Plugin(t, "first", "")
	w.Config(t, "[audit]\nfile = "+quoteTOML(w.Path("audit.jsonl"))+"\n[[plugins]]\npath = \"../plugins/first\"\n")
	o := w.Discovering()
	o.NoConfig, o.PluginsDir = true, w.Path("plugins")
	b := open(t, Of(o)...)
	for _, path := range []string{"/grants", "/history"} {
		if _, body := b.get(path); !strings.Contains(body, "--no-config") || strings.Contains(body, "Add these lines") || strings.Contains(body, "add [audit]") {
			t.Errorf("%s does not name --no-config, or advises to add [audit]:\n%s", path, body)
		}
	}
}

// TestHistorySelectsClientsByTheNamesOfTheirTokens selects as the command does that the page shows: the log has principals, and no names of tokens.
func TestHistorySelectsClientsByTheNamesOfTheirTokens(t *testing.T) {
	w := admintest.New(t)
	w.Plugin(t, "first", "")
	tokens, err := discovery.NamedTokens(w.Options().System)
	if err != nil {
		t.Fatal(err)
	}
	_, made, err := tokens.New(t.Context(), "ci-build", nil)
	if err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	for tool, principal := range map[string]string{"first_read": made.PrincipalID(), "first_write": "token:other"} {
		fmt.Fprintf(&log, `{"time":%q,"kind":"call","plugin":"first","method":"tools/call","tool":%q,"principal":%q,"outcome":"ok"}`+"\n",
			time.Now().Add(-time.Hour).UTC().Format(time.RFC3339), tool, principal)
	}
	w.Write(t, "audit.jsonl", log.String())
	w.Config(t, "[audit]\nfile = "+quoteTOML(w.Path("audit.jsonl"))+"\n[[plugins]]\npath = \"../plugins/first\"\n")
	_, body := open(t, historyPage(w.Options())).get("/history?client=ci-build")
	for _, want := range []string{"Only the client <code>ci-build</code>", "<dt>Calls</dt><dd>1,", "first_read", "--client ci-build"} {
		if !strings.Contains(body, want) || strings.Contains(body, "first_write") {
			t.Errorf("the page lacks %q, or has another client:\n%s", want, body)
		}
	}
}
