package project_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/check"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/edit"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/project"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/steps"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/view"
	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem"
)

// day is the date on which the reference results were recorded, and start is the time of the files in them.
var (
	day   = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
)

// open returns the project in the directory root, for a call that runs alone.
func open(root string) *project.Project {
	return &project.Project{Files: filesystem.OS{}, Cwd: root, Top: root, Now: day, Alone: true}
}

// copyProject copies the project in the directory "from" to a new directory, sets the times of all files to start, and
// returns the path of the new directory. If from does not exist, the new project is empty.
func copyProject(t testing.TB, from string) string {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(from); err == nil {
		if err := os.CopyFS(root, os.DirFS(from)); err != nil {
			t.Fatal(err)
		}
	}
	for name := range readTree(t, root) {
		setTime(t, filepath.Join(root, name), start)
	}
	return root
}

func setTime(t testing.TB, path string, at time.Time) {
	t.Helper()
	if err := os.Chtimes(path, at, at); err != nil {
		t.Fatal(err)
	}
}

// readTree returns the contents of all files below root. The keys are relative paths. The path of a directory ends in a
// slash.
func readTree(t testing.TB, root string) map[string]string {
	t.Helper()
	tree := map[string]string{}
	err := filepath.WalkDir(root, func(path string, entry os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		if entry.IsDir() {
			tree[relative+"/"] = ""
			return nil
		}
		content, err := os.ReadFile(path)
		tree[relative] = string(content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

// run executes a command of the openspec CLI with the functions of the tools, and returns the result as JSON.
func run(t testing.TB, p *project.Project, command string) string {
	t.Helper()
	return runWords(t, p, strings.Split(strings.TrimPrefix(command, "openspec "), " "))
}

// runWords executes a command like run, but takes the command as a list of words.
func runWords(t testing.TB, p *project.Project, command []string) string {
	t.Helper()
	words := split(command)
	var result any
	var err error
	switch words.next() {
	case "list":
		result, err = runList(p, words)
	case "show":
		result, err = view.Show(p, view.ShowRequest{
			Kind: project.Kind(words.value("--type")), Requirements: words.flag("--requirements"), NoScenarios: words.flag("--no-scenarios"),
			Requirement: words.number("-r"), Diff: words.flag("--diff"), Name: words.next()})
	case "validate":
		result, err = check.Run(p, check.Request{
			Kind: project.Kind(words.value("--type")), All: words.flag("--all"), Changes: words.flag("--changes"), Specs: words.flag("--specs"),
			Archived: words.flag("--archived"), Strict: words.flag("--strict"), Name: words.optional()})
	case "archive":
		result, err = edit.Archive(p, edit.ArchiveRequest{
			Ask: !words.flag("--yes"), SkipSpecs: words.flag("--skip-specs"), NoValidate: words.flag("--no-validate"), Name: words.next()})
	case "new":
		result, err = edit.CreateChange(p, edit.CreateRequest{
			Schema: words.value("--schema"), Goal: words.value("--goal"), Name: strings.TrimPrefix(words.rest(), "change ")})
	case "status":
		words.flag("--all")
		result, err = steps.StatusOf(p, steps.StatusRequest{Change: words.value("--change"), Schema: words.value("--schema")})
	case "instructions":
		result, err = steps.InstructionsFor(p, steps.InstructionsRequest{Change: words.value("--change"), Schema: words.value("--schema"), Artifact: words.next()})
	case "init":
		result, err = edit.Init(p, nil)
	default:
		t.Fatalf("unknown command %q", command)
	}
	if err != nil {
		result = err
	}
	out, err := json.Marshal(result)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func runList(p *project.Project, w *words) (any, error) {
	if w.flag("--specs") {
		return view.ListSpecs(p)
	}
	order := view.ByTime
	if w.value("--sort") == "name" {
		order = view.ByName
	}
	return view.ListChanges(p, order)
}

// words holds the words of a command that are not used yet.
type words struct{ left []string }

func split(command []string) *words {
	all := slices.DeleteFunc(slices.Clone(command), func(word string) bool { return word == "--json" || word == "--" })
	return &words{all}
}

func (w *words) flag(name string) bool {
	before := len(w.left)
	w.left = slices.DeleteFunc(w.left, func(word string) bool { return word == name })
	return len(w.left) < before
}

func (w *words) value(name string) string {
	at := slices.Index(w.left, name)
	if at < 0 {
		return ""
	}
	value := w.left[at+1]
	w.left = slices.Delete(w.left, at, at+2)
	return value
}

func (w *words) number(name string) int {
	n, _ := strconv.Atoi(w.value(name))
	return n
}

func (w *words) next() string {
	if len(w.left) == 0 {
		return ""
	}
	first := w.left[0]
	w.left = w.left[1:]
	return first
}

// optional returns the next word of the command; nil if there is no further word.
func (w *words) optional() *string {
	if len(w.left) == 0 {
		return nil
	}
	word := w.next()
	return &word
}

func (w *words) rest() string {
	rest := strings.Join(w.left, " ")
	if strings.HasSuffix(rest, "<201 x 'a'>") {
		return "change " + strings.Repeat("a", 201)
	}
	return rest
}

// decode decodes a result for a comparison. In the result, it replaces the path of the root by /project and removes
// times.
func decode(t testing.TB, answer, root string) any {
	t.Helper()
	quoted, err := json.Marshal(root)
	if err != nil {
		t.Fatal(err)
	}
	answer = strings.ReplaceAll(answer, strings.Trim(string(quoted), `"`), "/project")
	var value any
	if err := json.Unmarshal([]byte(answer), &value); err != nil {
		t.Fatalf("%v in %s", err, answer)
	}
	return withoutDurations(value)
}

func withoutDurations(value any) any {
	switch value := value.(type) {
	case map[string]any:
		delete(value, "durationMs")
		for _, member := range value {
			withoutDurations(member)
		}
	case []any:
		for _, item := range value {
			withoutDurations(item)
		}
	}
	return value
}

// gap is a difference between two results. A value that is missing in one of them is nil.
type gap struct {
	path      string
	want, got any
}

func (g gap) String() string { return fmt.Sprintf("%s\n\twant %v\n\tgot  %v", g.path, g.want, g.got) }

// gaps returns the differences between two decoded results.
func gaps(path string, want, got any) []gap {
	switch want := want.(type) {
	case map[string]any:
		if got, ok := got.(map[string]any); ok {
			return memberGaps(path, want, got)
		}
	case []any:
		if got, ok := got.([]any); ok && len(got) == len(want) {
			var all []gap
			for i := range want {
				all = append(all, gaps(fmt.Sprintf("%s[%d]", path, i), want[i], got[i])...)
			}
			return all
		}
	default:
		if want == got {
			return nil
		}
	}
	return []gap{{path, want, got}}
}

func memberGaps(path string, want, got map[string]any) []gap {
	var all []gap
	for name := range want {
		if _, ok := got[name]; !ok {
			all = append(all, gap{path + "." + name, want[name], nil})
			continue
		}
		all = append(all, gaps(path+"."+name, want[name], got[name])...)
	}
	for name := range got {
		if _, ok := want[name]; !ok {
			all = append(all, gap{path + "." + name, nil, got[name]})
		}
	}
	slices.SortFunc(all, func(a, b gap) int { return strings.Compare(a.path, b.path) })
	return all
}
