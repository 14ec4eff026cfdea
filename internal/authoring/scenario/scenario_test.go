package scenario_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/host"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/build"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/scenario"
	"github.com/bulkhead-mcp/bulkhead/internal/base/testcache"
	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
)

func TestMain(m *testing.M) {
	host.RunChild()
	code := m.Run()
	if probeDir != "" {
		os.RemoveAll(probeDir)
	}
	os.Exit(code)
}

var probeDir string // where the plugin is built

// buildProbe builds the plugin of testdata/probe, once.
var buildProbe = sync.OnceValues(func() (scenario.Plugin, error) {
	dir, err := os.MkdirTemp("", "bulkhead-scenario-test-")
	if err != nil {
		return scenario.Plugin{}, err
	}
	probeDir = dir
	cache := filepath.Join(dir, "cache", "bulkhead")
	built, err := build.Build(context.Background(), "testdata/probe", build.Options{Out: dir, CacheDir: cache})
	if err != nil {
		return scenario.Plugin{}, err
	}
	loaded, problems := manifest.Load(built.Dir)
	return scenario.Plugin{Dir: loaded.Dir, Manifest: loaded, Compiled: cache}, problems.Err()
})

func probe(t *testing.T) scenario.Plugin {
	t.Helper()
	testenv.NotShort(t, "builds a plugin with the go command")
	testcache.DependOn(t, "../../../sdk")
	p, err := buildProbe()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// runText runs the scenarios of a file with the given text.
func runText(t *testing.T, text string) ([]scenario.Result, error) {
	t.Helper()
	f, ps := scenario.Parse(filepath.Join("testdata", "probe", "tests", "it.toml"), []byte(text))
	if err := ps.Err(); err != nil {
		t.Fatal(err)
	}
	return scenario.Run(t.Context(), probe(t), []scenario.File{f})
}

func TestScenariosPass(t *testing.T) {
	files, err := scenario.Load("testdata/probe")
	if err != nil {
		t.Fatal(err)
	}
	results, err := scenario.Run(t.Context(), probe(t), files)
	if err != nil {
		t.Fatal(err)
	}
	if len(results) != 5 {
		t.Errorf("there are %d results", len(results))
	}
	for _, r := range results {
		if !r.Passed {
			t.Errorf("%s: %+v\n%s", r.Name, r.Failures, strings.Join(r.Log, "\n"))
		}
	}
}

func TestSelectKeepsOrderAndDropsEmptyFiles(t *testing.T) {
	files, err := scenario.Load("testdata/probe")
	if err != nil {
		t.Fatal(err)
	}
	selected := scenario.Select(files, regexp.MustCompile("^(questions|results)"))
	if len(selected) != 1 || len(selected[0].Scenarios) != 2 || selected[0].Scenarios[1].Name != "questions" {
		t.Errorf("got %+v", selected)
	}
	if none := scenario.Select(files, regexp.MustCompile("^x$")); len(none) != 0 {
		t.Errorf("got %+v", none)
	}
}

// TestFailuresNameExpectation checks for each expectation that it fails if it is not met, and that the failure names its line and key.
func TestFailuresNameExpectation(t *testing.T) {
	const read = "tool = \"count\"\narguments = { text = \"abc\" }\n"
	const write = "tool = \"write\"\narguments = { path = \"${project}/new\", text = \"a\\nb\\nc\" }\n"
	const ask = "tool = \"ask\"\narguments = { message = \"Who?\" }\n"
	for _, c := range []struct{ step, more, line, problem, diff string }{
		{read + `text = "4 bytes"`, "", `text = "4`, "step[0].text: the text differs", "- 4 bytes\n+ 3 bytes"},
		{read + `contains = ["3", "words"]`, "", "contains", `step[0].contains: the text does not contain "words"`, "+ 3 bytes"},
		{read + `matches = "^b"`, "", "matches", `step[0].matches: the text does not match "^b"`, "+ 3 bytes"},
		{read + `structured = { bytes = 3 }`, "", "structured", "step[0].structured: the structured content differs: /last is null, which is not expected", ""},
		{read + `result_json = '{"structuredContent": {"bytes": 4}}'`, "", "result_json", "step[0].result_json: the result differs: /structuredContent/bytes is 3, want 4", ""},
		{read + `is_error = true`, "", "is_error", "step[0].is_error: the result is no error: 3 bytes", ""},
		{read + `error = { code = -32602 }`, "", "error", "step[0].error: the request succeeds: 3 bytes", ""},
		{read + `failure = "timeout"`, "", "failure", `step[0].failure: the call has the failure "", want "timeout": 3 bytes`, ""},
		{read + `notifications = []`, "", "notifications", "step[0].notifications: there are 1 notifications, want 0: notifications/progress", ""},
		{read + `notifications = [{ method = "notifications/progress", params = { progress = 2 } }]`, "", "notifications", "notification 1 differs: /progress is 1, want 2", ""},
		{read + `log = ["words"]`, "", "log", `step[0].log: the log lacks "words"`, ""},
		{read + `denied = ["http/fetch"]`, "", "denied", "step[0].denied: the plugin is not denied http/fetch; it is denied: nothing", ""},
		{"tool = \"read\"\narguments = { path = \"/etc/hostname\" }\nis_error = true\ndenied = []", "", "denied", "step[0].denied: the plugin is denied file/open /etc/hostname", ""},
		{"tool = \"read\"\narguments = { path = \"${project}/none\" }", "", "tool = ", "step[0].tool: the result is an error: open ${project}/none", ""},
		{`tool = "count"`, "", "tool = ", "step[0].tool: the response is the error -32602: the text is empty", ""},
		{"tool = \"count\"\nerror = { code = -32603, message = \"the text\" }", "", "error", "step[0].error.code: the code is -32602, want -32603", ""},
		{"tool = \"count\"\nerror = { message = \"no\" }", "", "error", "step[0].error.message: the message differs", "- no\n+ the text is empty"},
		{ask + `answers = {}`, "", "answers", `step[0].answers: there is no answer to the question "name": {"message":"Who?"`, ""},
		{ask + `answers = { name = { action = "cancel" }, age = { action = "cancel" } }`, "", "answers", `step[0].answers: the question "age" is not asked`, ""},
		{ask + "answers = { name = { action = \"cancel\" } }\nasked = { name = { message = \"What?\" } }", "", "asked", `step[0].asked: the question "name" differs: /message is "Who?", want "What?"`, ""},
		{write, "[scenario.after]\n\"new\" = \"a\\nx\\nc\"", `"new"`, "after.new: new differs", "  a\n- x\n+ b\n  c"},
		{write, "[scenario.after]\n\"new\" = { absent = true }", `"new"`, "after.new: new exists", ""},
		{write, "[scenario.after]\n\"other\" = \"\"", `"other"`, "after.other: other does not exist", ""},
		{write, "[scenario.after]\n\"new\" = { base64 = \"AA==\" }", `"new"`, "after.new: new has 5 bytes that differ from the 1 expected ones", ""},
		{write, "[scenario.after]\n\"new\" = { contains = \"y\" }", `"new"`, `after.new: new does not contain "y"`, "+ a\n+ b\n+ c"},
		{write, "[scenario.after]\n\"new\" = { unchanged = true }", `"new"`, "after.new: new has changed", ""},
		{"tool = \"write\"\narguments = { path = \"${project}/old\" }", "", "unchanged", "unchanged: old was removed", ""},
		{"tool = \"write\"\narguments = { path = \"${project}/old\", text = \"new\" }", "", "unchanged", "unchanged: old has changed", ""},
		{write, "", "unchanged", "unchanged: new was created", ""},
	} {
		text := "[[scenario]]\nname = \"it\"\nunchanged = true\n[scenario.files]\n\"old\" = \"old\"\n[[scenario.step]]\n" + c.step + "\n" + c.more + "\n"
		results, err := runText(t, text)
		if err != nil {
			t.Errorf("%s: %v", c.step, err)
			continue
		}
		if len(results) != 1 || results[0].Passed || len(results[0].Failures) == 0 {
			t.Errorf("%s\n%s: got %+v", c.step, c.more, results)
			continue
		}
		f := results[0].Failures[0]
		at := 1 + strings.Count(text[:strings.Index(text, "\n"+c.line)+1], "\n")
		if got := f.Key + ": " + f.Problem; !strings.Contains(got, c.problem) || f.Line != at {
			t.Errorf("%s\n%s: got line %d: %s, want line %d: %s", c.step, c.more, f.Line, got, at, c.problem)
		}
		if diff := strings.Join(f.Diff, "\n"); diff != c.diff {
			t.Errorf("%s\n%s: the diff is %q, want %q", c.step, c.more, diff, c.diff)
		}
	}
}

// TestRunEndsWithItsContext checks that an interrupted run reports the reason once, and not for each scenario.
func TestRunEndsWithItsContext(t *testing.T) {
	var text strings.Builder
	for i := range 50 {
		fmt.Fprintf(&text, "[[scenario]]\nname = \"%d\"\n[[scenario.step]]\nlist = \"tools\"\n", i)
	}
	f, ps := scenario.Parse("it.toml", []byte(text.String()))
	if ps.Err() != nil {
		t.Fatal(ps)
	}
	interrupted := errors.New("interrupted")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(interrupted)
	if results, err := scenario.Run(ctx, probe(t), []scenario.File{f}); err != interrupted || results != nil {
		t.Errorf("got %d results, %v", len(results), err)
	}
}

// A scenario file comes with the source, so its grants reach the network only if the caller and the ceiling allow it.
func TestNetworkNeedsPermission(t *testing.T) {
	const public, private = `http = ["https://granted.invalid"]`, `http = [{ origin = "https://granted.invalid", private = true }]`
	ceiling, problems := config.ParseCeiling("/etc/ceiling.toml", []byte("[ceiling]\nhttp = [\"https://other.invalid\"]\n"))
	if problems.Err() != nil {
		t.Fatal(problems)
	}
	allowing, problems := config.ParseCeiling("/etc/ceiling.toml", []byte("[ceiling]\nhttp = [\"https://granted.invalid\"]\nfs = []\n"))
	if problems.Err() != nil {
		t.Fatal(problems)
	}
	for name, c := range map[string]struct {
		grants  string
		network scenario.Network
		ceiling *config.Ceiling
		want    string // empty if the scenario runs
	}{
		"an origin":                               {public, scenario.NoNetwork, nil, "pass --network public"},
		"a private origin":                        {private, scenario.NoNetwork, nil, "pass --network private"},
		"a private origin in the public network":  {private, scenario.PublicNetwork, nil, "pass --network private"},
		"an origin in the public network":         {public, scenario.PublicNetwork, nil, ""},
		"a private origin in the private network": {private, scenario.PrivateNetwork, nil, ""},
		"an origin past the ceiling":              {public, scenario.PrivateNetwork, ceiling, "/etc/ceiling.toml"},
		"the public web":                          {`http = ["public-web"]`, scenario.NoNetwork, nil, "grants public-web, and scenarios do not reach the public network"},
		"an origin that the ceiling allows":       {public, scenario.PublicNetwork, allowing, ""},
		"a private origin past the ceiling":       {private, scenario.PrivateNetwork, allowing, "/etc/ceiling.toml"},
		"no origin, whatever the ceiling allows":  {"http = []", scenario.NoNetwork, ceiling, ""},
	} {
		t.Run(name, func(t *testing.T) {
			f, ps := scenario.Parse(filepath.Join("testdata", "probe", "tests", "it.toml"), []byte("[[scenario]]\nname = \"it\"\n[scenario.grants]\n"+c.grants+"\n[[scenario.step]]\nlist = \"tools\"\n"))
			if err := ps.Err(); err != nil {
				t.Fatal(err)
			}
			p := probe(t)
			p.Network, p.Ceiling = c.network, c.ceiling
			_, err := scenario.Run(t.Context(), p, []scenario.File{f})
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(filepath.ToSlash(err.Error()), "it.toml:4: scenario[0].grants.http")) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// TestGrantsAreCheckedAsThoseOfConfig checks that problems of grants are reported in the scenario file.
func TestGrantsAreCheckedAsThoseOfConfig(t *testing.T) {
	for grants, want := range map[string]string{
		`http = ["https://other.invalid:8443"]`:              "it.toml:4: scenario[0].grants.http[0]",
		`fs = [{ path = "${project}", access = "rx" }]`:      "it.toml:4: scenario[0].grants.fs[0].access",
		`env = { OTHER = "x" }`:                              "it.toml:4: scenario[0].grants.env.OTHER",
		`git = [{ repo = "${project}", access = "r" }]`:      "it.toml:4: scenario[0].grants.git: probe asks for no repository",
		"limits = { time = \"1\" }\nhttp = [\"ftp://a.b/\"]": "it.toml:5: scenario[0].grants.http[0]",
	} {
		_, err := runText(t, "[[scenario]]\nname = \"it\"\n[scenario.grants]\n"+grants+"\n[[scenario.step]]\nlist = \"tools\"\n")
		if err == nil || !strings.Contains(filepath.ToSlash(err.Error()), want) {
			t.Errorf("%s: got %v, want %s", grants, err, want)
		}
	}
}
