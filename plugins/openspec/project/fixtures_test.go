package project_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
)

// difference describes an intentional difference from the openspec CLI 1.13.2.
type difference struct {
	why string
	run string // a part of the name of the case or of the command; "" for all cases
	at  string // the end of the path at which the value is in the answer
	// ok reports whether two values differ in the intended way.
	ok func(want, got any) bool
}

// differences lists all intentional differences. The test fails if one of them does not occur.
var differences = []difference{
	{"a fix names the tool's call first and the command line in brackets", "", ".status[0].fix", namesCall},
	{"an archive with open tasks says so, where the command line's JSON is silent", "archive", ".archive.warnings", openTasks},
	{"a name that can be nobody's is refused as invalid, and nothing is said of what exists", "show ../", ".status[0].code", is("invalid_item")},
	{"likewise", "show ../", ".status[0].message", refuses},
	{"items of one id are sorted: change, spec", "validate --all", "[0].type", is("change")},
	{"likewise", "validate --all", "[1].type", is("spec")},
	{"a new change's answer lists what was made", "new change", ".created", isList},
}

// planDifferences lists the intentional differences in the answers to the commands status and instructions.
var planDifferences = []difference{
	{"the next step names the tool's call first", "status", ".nextSteps[0]", namesCall},
	{"likewise, for each change", "status --all", ".nextSteps[0]", namesCall},
	{"the remedy names the tool's call first", "instructions apply", ".instruction", namesCall},
	{"likewise", "instructions apply", ".warnings[0]", hasCall},
	{"likewise", "instructions apply", ".warnings[1]", hasCall},
	{"what is wrong with metadata is said in one line", "--change", ".status[0].message", isInvalidMetadata},
	{"likewise, for each change", "status --all", ".status[0].message", isInvalidMetadata},
	{"the warning about a skipped artifact has words of its own", "instructions", ".warning", isText},
	{"the built-in schema has words of its own", "instructions", ".description", isText},
	{"likewise", "instructions", ".instruction", isText},
	{"likewise", "instructions", ".template", isText},
}

func hasCall(_, got any) bool {
	text, ok := got.(string)
	return ok && strings.Contains(text, "openspec_")
}

func isInvalidMetadata(want, got any) bool {
	text, ok := got.(string)
	recorded, _ := want.(string)
	return ok && strings.HasPrefix(text, "Invalid metadata: ") && (strings.HasPrefix(recorded, "Invalid metadata: ") || strings.HasPrefix(recorded, "Invalid YAML in metadata file: "))
}

func isText(want, got any) bool { return want != nil && got != nil && got != "" }

func is(value string) func(want, got any) bool {
	return func(_, got any) bool { return got == value }
}

func namesCall(_, got any) bool {
	text, ok := got.(string)
	call := strings.Index(text, "openspec_")
	line := strings.Index(text, "openspec ")
	return ok && call >= 0 && (line < 0 || call < line)
}

func openTasks(want, got any) bool {
	list, _ := got.([]any)
	others, _ := want.([]any)
	return len(list) == len(others)+1 && strings.HasSuffix(list[0].(string), "incomplete task(s) found") && gaps("", others, list[1:]) == nil
}

func refuses(_, got any) bool {
	return got == "Spec id must not be '..'" || got == "Change name must not contain path separators"
}

func isList(want, got any) bool {
	list, ok := got.([]any)
	return ok && want == nil && len(list) > 0
}

// comparison compares results with those of the openspec CLI, and records the intentional differences that occur.
type comparison struct {
	t    *testing.T
	used map[int]bool
}

func (c *comparison) compare(t *testing.T, name string, want, got any) {
	t.Helper()
	for _, gap := range gaps("", want, got) {
		found := slices.IndexFunc(slices.Concat(differences, planDifferences), func(d difference) bool {
			return strings.Contains(name, d.run) && strings.HasSuffix(gap.path, d.at) && d.ok(gap.want, gap.got)
		})
		if found < 0 {
			t.Errorf("%s: %s", name, gap)
			continue
		}
		c.used[found] = true
	}
}

// unused fails the test for each intentional difference that has not occurred.
func (c *comparison) unused() {
	for i, one := range differences {
		if !c.used[i] {
			c.t.Errorf("no result has this difference any more: %s (%q, %s)", one.why, one.run, one.at)
		}
	}
}

// reference returns the path of the directory with the reference results. It skips the test if the directory does not
// exist.
func reference(t *testing.T) string {
	t.Helper()
	return testenv.Fixture(t, "openspec")
}

// TestReferenceAnswers runs every command for which a result of the openspec CLI 1.13.2 is recorded, on a real project
// and on small projects.
func TestReferenceAnswers(t *testing.T) {
	root := reference(t)
	c := &comparison{t, map[int]bool{}}
	t.Run("real project", func(t *testing.T) { c.realProject(t, root) })
	cases, err := os.ReadDir(filepath.Join(root, "cases"))
	if err != nil || len(cases) == 0 {
		t.Fatalf("the reference has %d cases, %v", len(cases), err)
	}
	for _, one := range cases {
		t.Run(one.Name(), func(t *testing.T) { c.project(t, filepath.Join(root, "cases", one.Name())) })
	}
	t.Run("replay", func(t *testing.T) { c.project(t, filepath.Join(root, "replay")) })
	c.unused()
}

// TestOwnData runs the commands on the small project in testdata, which also contains results of the openspec CLI.
func TestOwnData(t *testing.T) {
	c := &comparison{t, map[int]bool{}}
	c.project(t, filepath.Join("..", "testdata", "branch"))
	if len(c.used) == 0 {
		t.Error("no answer names a tool call first")
	}
}

// expectation is the content of the file expected.json beside the input of a small project.
type expectation struct {
	Runs []struct {
		Command string          `json:"command"`
		JSON    json.RawMessage `json:"json"`
	} `json:"runs"`
	FilesAfter []string `json:"files_after"`
}

// project runs the commands of one small project in order, and compares the results.
func (c *comparison) project(t *testing.T, dir string) {
	want := readJSON[expectation](t, filepath.Join(dir, "expected.json"))
	root := copyProject(t, filepath.Join(dir, "input"))
	if len(want.Runs) == 0 {
		t.Fatal("the reference of the real project has no runs")
	}
	for _, one := range want.Runs {
		answer := run(t, open(root), one.Command)
		if one.JSON == nil {
			continue // for this command, the openspec CLI printed text that this package does not reproduce
		}
		c.compare(t, filepath.Base(dir)+" "+one.Command, decode(t, string(one.JSON), "/project"), decode(t, answer, root))
	}
	compareAfter(t, filepath.Join(dir, "after"), root)
	if want.FilesAfter == nil {
		return
	}
	var files []string
	for name := range readTree(t, root) {
		if !strings.HasSuffix(name, "/") {
			files = append(files, name)
		}
	}
	slices.Sort(files)
	slices.Sort(want.FilesAfter)
	if !slices.Equal(files, want.FilesAfter) {
		t.Errorf("files afterwards:\n%q\nwant\n%q", files, want.FilesAfter)
	}
}

// compareAfter compares main specs with the main specs that the openspec CLI wrote.
func compareAfter(t *testing.T, after, root string) {
	t.Helper()
	if _, err := os.Stat(after); err != nil {
		return
	}
	for name, want := range readTree(t, after) {
		if strings.HasSuffix(name, "/") {
			continue
		}
		got, err := os.ReadFile(filepath.Join(root, name))
		if err != nil || string(got) != want {
			t.Errorf("%s: %v\n%s\nwant\n%s", name, err, got, want)
		}
	}
}

func readJSON[T any](t *testing.T, path string) T {
	t.Helper()
	var value T
	raw, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(raw, &value)
	}
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return value
}

// realProject compares the results for the real project. Each command that changes the project runs on a new copy.
func (c *comparison) realProject(t *testing.T, root string) {
	runs := readJSON[[]struct{ File, Command string }](t, filepath.Join(root, "reference", "manifest.json"))
	times := readJSON[struct {
		Newest map[string]time.Time `json:"newest_file_in_change"`
	}](t, filepath.Join(root, "reference", "mtimes.json")).Newest
	fresh := func() string {
		project := copyProject(t, filepath.Join(root, "project"))
		for name, at := range times {
			setTime(t, filepath.Join(project, "openspec", "changes", name, "proposal.md"), at)
		}
		return project
	}
	shared := fresh()
	for _, one := range runs {
		if !strings.Contains(one.Command, "--json") {
			continue
		}
		t.Run(one.File, func(t *testing.T) {
			project := shared
			if strings.HasPrefix(one.Command, "openspec archive") {
				project = fresh()
			}
			before := readTree(t, project)
			answer := decode(t, runAll(t, project, one.File, one.Command), project)
			reference, err := os.ReadFile(filepath.Join(root, one.File))
			if err != nil {
				t.Fatal(err)
			}
			c.compare(t, one.Command, decode(t, string(reference), "/project"), answer)
			if strings.HasPrefix(one.File, "reference/archive/") {
				checkArchive(t, filepath.Join(root, filepath.Dir(one.File)), project, before, answer)
			}
		})
	}
}

// runAll runs a command and returns the result. If the recorded result is that of a second run, runAll runs the command
// twice.
func runAll(t *testing.T, root, file, command string) string {
	t.Helper()
	if !strings.HasSuffix(file, "second-time-same-day.json") {
		return run(t, open(root), command)
	}
	if first := run(t, open(root), command); !strings.Contains(first, "archivedAs") {
		t.Fatalf("the first run of the command failed: %s", first)
	}
	name := strings.Fields(command)[2]
	again := filepath.Join(root, "openspec", "changes", name)
	if err := os.CopyFS(again, os.DirFS(filepath.Join(root, "openspec", "changes", "archive", day.Format(time.DateOnly)+"-"+name))); err != nil {
		t.Fatal(err)
	}
	return run(t, open(root), command)
}

// checkArchive compares the files after an archive. The specs must equal those that the openspec CLI wrote. The files
// of the change, at their new paths, and all other files must be unchanged.
func checkArchive(t *testing.T, dir, root string, before map[string]string, answer any) {
	t.Helper()
	after := readTree(t, root)
	archived, ok := answer.(map[string]any)["archive"].(map[string]any)
	if !ok {
		if strings.HasSuffix(t.Name(), "second-time-same-day.json") {
			return // the first run has already changed the tree
		}
		sameTree(t, before, after)
		return
	}
	compareAfter(t, filepath.Join(dir, "after"), filepath.Join(root, "openspec"))
	from := "openspec/changes/" + archived["change"].(string) + "/"
	to := "openspec/changes/archive/" + archived["archivedAs"].(string) + "/"
	specs := 0
	for name, content := range before {
		if below, moved := strings.CutPrefix(name, from); moved {
			name = to + below
		}
		switch now, there := after[name]; {
		case !there:
			t.Errorf("the archive removed the file %s", name)
		case now != content && strings.HasPrefix(name, "openspec/specs/"):
			specs++
		case now != content:
			t.Errorf("%s was changed", name)
		}
		delete(after, name)
	}
	for name := range after {
		if !strings.HasPrefix(name, "openspec/specs/") {
			t.Errorf("%s is a new file", name)
		}
		if strings.HasSuffix(name, "/spec.md") {
			specs++
		}
	}
	files := filepath.Join(dir, "files.json")
	if _, err := os.Stat(files); err != nil {
		return
	}
	want := readJSON[struct{ Written, Created []string }](t, files)
	if n := len(want.Written) + len(want.Created); specs != n {
		t.Errorf("%d specs were changed, want %d", specs, n)
	}
}

func sameTree(t testing.TB, want, got map[string]string) {
	t.Helper()
	for name, content := range want {
		if now, there := got[name]; !there || now != content {
			t.Errorf("%s was changed or is gone", name)
		}
	}
	for name := range got {
		if _, there := want[name]; !there {
			t.Errorf("%s is a new file", name)
		}
	}
}
