package tools_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/plugins/aam/archive"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/files"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/manifest"
	"github.com/bulkhead-mcp/bulkhead/sdk/sdktest"
)

// recordedCall is a recorded call of the aam program with the recorded answer.
type recordedCall struct {
	ID         string
	Tool       string
	Input      map[string]any
	Output     any
	Error      *struct{ Message string }
	FilesAfter []string `json:"files_after"`
}

// recordedWorld is a copy of the environment in which the calls were recorded.
type recordedWorld struct{ *world }

// newRecordedWorld creates the environment for a session. All sessions share the registries, because the sessions do
// not change them.
func newRecordedWorld(t *testing.T, s session, shared *world) recordedWorld {
	t.Helper()
	w := newWorld(t)
	t.Chdir(w.root) // the project's directory, which was the working directory, is replaced below
	w.real("home", "homes", s.home)
	w.real("project", "workspaces", s.workspace)
	for _, name := range strings.Fields(s.needs) {
		switch name {
		case "scratch":
			w.real("scratch/detectable-project", "workspaces", "detectable-project")
			w.real("scratch/code-review-toolkit", "..", "from-repo", "packages", "code-review-toolkit")
			w.real("scratch/sample-pkg", "..", "from-repo", "packages", "sample-pkg")
			w.mkdir("scratch/empty")
		case "packages":
			w.real("packages", "package-sources")
		default:
			if err := os.Symlink(shared.path(name), w.path(name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	w.enter("project")
	return recordedWorld{w}
}

// session is a sequence of recorded calls in one environment.
type session struct {
	name            string
	home, workspace string
	needs           string // names of additional parts of the environment, separated by blanks
	prepare         func(w recordedWorld)
	ids             string // the ids of the recorded calls, separated by blanks
}

func asItIs(recordedWorld) {}

// sessions returns the sessions, which together contain each recorded call.
func sessions() []session {
	const team, workspace = "team-registry", "empty-workspace"
	empty := func(w recordedWorld) { w.remove("team-registry"); w.mkdir("team-registry") }
	list := []session{
		{"registries are added", "none", workspace, team, asItIs, "registry-add-1 registry-add-duplicate registry-add-missing-dir registry-add-https"},
		{"a registry by its path", "none", workspace, team, asItIs, "registry-add-plain-path"},
		{"a registry on a server", "with-http-registry", workspace, team, asItIs, "registry-list-two search-with-http-registry install-with-http-registry"},
		{"packages are published", "team", workspace, "packages", empty, strings.Join(published, " ") + " publish-duplicate publish-no-manifest publish-unknown-registry"},
		{"an archive is packed in place", "team", workspace, "packages", empty, "publish-no-archive"},
		{"nothing is configured", "none", workspace, "packages", asItIs, "publish-no-registries search-no-registries registry-list-empty install-no-registries"},
		{"searching", "team", workspace, team, asItIs, "search-00 search-01 search-02 search-03 search-04 search-05 search-06 search-07 search-08 search-09 search-10 search-11 search-type-skill search-limit-0 search-limit-1"},
		{"no workspace", "team", workspace, team, func(w recordedWorld) { w.remove("project/.aam") }, "list-no-workspace doctor-clean"},
		{"installing", "team", workspace, team, asItIs, "install-scoped install-again install-other-version-no-force"},
		{"several at once", "team", workspace, team, asItIs, "install-mixed"},
		{"before a release", "team", workspace, team, asItIs, "install-prerelease"},
		{"before a release, as it is written", "team", workspace, team, asItIs, "install-exact-prerelease"},
		{"below what comes before a release", "team", workspace, team, asItIs, "install-stable-below-prerelease"},
		{"what is installed", "team", "installed-cursor", team, asItIs, "list-installed info-installed info-not-installed info-only-in-registry info-version-ignored doctor-installed uninstall-with-dependents uninstall-not-installed"},
		{"claude", "team", workspace, team, asItIs, "install-claude"},
		{"copilot", "team", workspace, team, asItIs, "install-copilot"},
		{"codex", "team", workspace, team, asItIs, "install-codex uninstall-codex-public-uses-cursor"},
		{"without deploying", "team", workspace, team, asItIs, "install-no-deploy"},
		{"an unknown platform", "team", workspace, team, asItIs, "install-unsupported-platform"},
		{"a conflict", "team", workspace, team, asItIs, "install-conflict-root"},
		{"a dependency that is missing", "team", workspace, team, asItIs, "install-missing-dep"},
		{"a checksum that nobody asks for", "hostile", workspace, "hostile-registry", func(w recordedWorld) {
			w.write("project/.aam/config.yaml", "security: {require_checksum: false}\n")
		}, "hostile-checksum-off"},
		{"settings", "team", workspace, team, asItIs, "config-get-None config-get-default_platform config-get-security config-get-security.require_checksum config-get-author.name config-get-registries config-get-registries.0 config-get-nope config-get-security.nope config-get-a.b.c config-get-"},
		{"an install that was interrupted", "team", "leftover-staging", team, func(w recordedWorld) { w.write("project/.aam/.tmp/b.txt", "x") }, "doctor-leftover-staging"},
		{"damaged packages", "team", "broken-packages", team, asItIs, "doctor-broken-packages list-broken-packages info-broken info-vanished uninstall-vanished uninstall-broken"},
		{"a project's settings that are no YAML", "team", workspace, team, func(w recordedWorld) {
			w.write("project/.aam/config.yaml", "  invalid:\nyaml: [unterminated")
		}, "doctor-bad-project-yaml"},
		{"a project's settings of another form", "team", workspace, team, func(w recordedWorld) {
			w.write("project/.aam/config.yaml", "default_platform: 12345\nactive_platforms: not-a-list\n")
		}, "doctor-bad-project-schema"},
		{"a project without settings", "team", workspace, team, func(w recordedWorld) { w.write("project/.aam/config.yaml", "") }, "doctor-empty-project-config"},
		{"a registry that is gone", "team", workspace, "", func(w recordedWorld) {
			w.write("project/.aam/config.yaml", "")
			w.write("home/.aam/config.yaml", "registries: [{name: team, url: 'file://"+w.root+"/moved-registry', default: true}]\n")
		}, "doctor-registry-gone registry-list-gone search-registry-gone"},
		{"a package of a project", "team", workspace, "scratch", asItIs, "create-all create-all-validate create-over-existing create-nothing-found"},
		{"a package of one type", "team", workspace, "scratch", asItIs, "create-only-prompts"},
		{"the documentation's packages", "docs", workspace, "scratch docs-registry", asItIs, "docs-validate-code-review-toolkit docs-validate-sample-pkg docs-install-cursor docs-info docs-list"},
		{"one of them for claude", "docs", workspace, "docs-registry", asItIs, "docs-install-claude"},
		{"one of them for copilot", "docs", workspace, "docs-registry", asItIs, "docs-install-copilot"},
	}
	for set := range strings.SplitSeq("default_platform=claude default_platform=vscode security.require_signature=YES security.require_checksum=banana security.on_signature_failure=explode author.name=Jane|Doe active_platforms=cursor,claude registries=x author=x nope=x security.nope=x a.b.c=x =x", " ") {
		list = append(list, session{"set " + set, "team", workspace, "", asItIs, "config-set-" + set})
	}
	for _, name := range hostile {
		list = append(list, session{"hostile: " + name, "hostile", workspace, "hostile-registry", func(w recordedWorld) { w.write("outside-secret.txt", "TOP SECRET\n") }, "hostile-" + name})
	}
	return list
}

var published = []string{"publish-report-templates-1.0.0", "publish-report-templates-1.2.0", "publish-report-templates-2.0.0", "publish-acme--code-review-1.0.0", "publish-acme--code-review-1.1.0", "publish-audit-kit-1.0.0",
	"publish-quality-suite-1.0.0", "publish-orphan-needs-1.0.0", "publish-cycle-a-1.0.0", "publish-cycle-b-1.0.0", "publish-preview-pkg-0.9.0", "publish-preview-pkg-1.0.0-beta.2"}

var hostile = strings.Fields("absolute-path agent-reads-outside archive-missing bad-manifest checksum-mismatch date-not-quoted dot-slash-names duplicate-entry empty-checksum fifo-entry hardlink-outside inflates-large inner-dotdot marker-in-content missing-artifact nested-manifest no-manifest not-an-archive path-traversal plain-tar quotes-in-description symlink-absolute symlink-inside symlink-outside symlink-parent-write truncated uppercase-checksum wrong-name wrong-version zero-bytes")

// TestRecordedCalls repeats every recorded call. It compares the whole answer with the result of recordedWant, which
// replaces the parts that differ intentionally. Texts for people must exist, but the test does not compare them.
func TestRecordedCalls(t *testing.T) {
	var calls []recordedCall
	data, err := os.ReadFile(realPath(t, "constructed", "recorded", "tool-calls.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &calls); err != nil {
		t.Fatal(err)
	}
	byID := map[string]recordedCall{}
	for _, call := range calls {
		byID[call.ID] = call
	}
	shared := newWorld(t)
	for _, name := range []string{"team-registry", "docs-registry", "hostile-registry"} {
		shared.real(name, "registries", name)
	}
	for _, s := range sessions() {
		t.Run(s.name, func(t *testing.T) {
			w := newRecordedWorld(t, s, shared)
			s.prepare(w)
			for id := range strings.FieldsSeq(s.ids) {
				id = strings.ReplaceAll(id, "|", " ")
				call, ok := byID[id]
				if !ok {
					t.Fatalf("%s was not recorded, or is in several sessions", id)
				}
				delete(byID, id)
				w.compare(call)
			}
		})
	}
	for id, call := range byID {
		if call.Tool == "(extract)" {
			compareExtracted(t, call)
			delete(byID, id)
		}
	}
	if t.Failed() {
		return // a session that has failed has not made all of its calls
	}
	for id := range byID {
		t.Errorf("%s was recorded, but is in no session", id)
	}
}

// elsewhere holds the project directories of recorded calls whose recording lacks the directory. The key is the id of
// the call.
var elsewhere = map[string]string{"publish-unknown-registry": "packages/audit-kit-1.0.0", "publish-no-registries": "packages/audit-kit-1.0.0"}

func compareExtracted(t *testing.T, call recordedCall) {
	t.Helper()
	path := realPath(t, "constructed", "archives", call.Input["archive"].(string))
	listing, err := archive.Check(files.Disk{}, path, "", archive.DefaultLimits())
	if err != nil {
		t.Errorf("%s: %v", call.ID, err)
		return
	}
	var names []any
	for _, file := range listing.Files {
		names = append(names, file.Path)
	}
	if diff := cmp.Diff(call.Output, any(map[string]any{"name": listing.Manifest.Name, "files": names})); diff != "" {
		t.Errorf("%s (-want +got)\n%s", call.ID, diff)
	}
}

func (w recordedWorld) compare(call recordedCall) {
	w.t.Helper()
	input := map[string]any{}
	for name, value := range call.Input {
		if !strings.HasPrefix(name, "(") {
			input[name] = value
		}
	}
	if cwd, ok := call.Input["(cwd)"].(string); ok {
		w.enter(strings.TrimPrefix(cwd, realRoot+"/"))
	}
	encoded, err := json.Marshal(input)
	if err != nil {
		w.t.Fatal(err)
	}
	if folder, ok := elsewhere[call.ID]; ok {
		w.enter(folder)
	}
	result, err := w.host.CallTool(call.Tool, strings.ReplaceAll(string(encoded), realRoot, w.root))
	if err != nil {
		w.t.Fatalf("%s: %v", call.ID, err)
	}
	w.enter("project")
	got := w.seen(result)
	withoutDependencies(got, input)
	if diff := cmp.Diff(recordedWant(w.t, call), withoutWords(w.t, got)); diff != "" {
		w.t.Errorf("%s (-want +got)\n%s\ngot %.1500s", call.ID, diff, result.Text())
	}
	if call.FilesAfter != nil {
		w.compareFiles(call, got)
	}
}

// withoutDependencies removes packages that were not requested from the result of an install, because the recorded
// program does not install dependencies.
func withoutDependencies(got any, input map[string]any) {
	answer, _ := got.(map[string]any)
	specs, requests := input["packages"].([]any)
	all, lists := answer["installed"].([]any)
	if !requests || !lists {
		return
	}
	answer["installed"] = slices.DeleteFunc(all, func(item any) bool {
		name := item.(map[string]any)["name"].(string)
		return !slices.ContainsFunc(specs, func(spec any) bool { return spec == name || strings.HasPrefix(spec.(string), name+"@") })
	})
}

// seen returns the answer of the plugin as decoded JSON, or the code of the error if the call failed.
func (w recordedWorld) seen(result *sdktest.Result) any {
	w.t.Helper()
	text := strings.ReplaceAll(result.Text(), w.root, realRoot)
	if result.IsError {
		return codePattern.FindString(text)
	}
	var got any
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		w.t.Fatalf("%v: %s", err, text)
	}
	return got
}

var codePattern = regexp.MustCompile(`^\[AAM_[A-Z_]+\]`)

// compareFiles compares the files that an install of a hostile package has created with the recorded files.
func (w recordedWorld) compareFiles(call recordedCall, answer any) {
	w.t.Helper()
	var got, want []string
	err := filepath.WalkDir(w.path("project"), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(w.path("project"), path)
		got = append(got, name)
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
	if installed, _ := answer.(map[string]any)["installed"].([]any); len(installed) > 0 {
		for _, name := range call.FilesAfter {
			if !strings.Contains(name, ".downloads/") {
				want = append(want, name)
			}
		}
		want = append(want, ".aam/deployments.yaml")
		if call.ID == "hostile-date-not-quoted" { // the recorded program could not install this package
			want = append(want, ".aam/aam-lock.yaml", ".aam/packages/date-not-quoted/aam.yaml", ".aam/packages/date-not-quoted/prompts/p.md", ".claude/prompts/date-not-quoted-prompt.md")
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		w.t.Errorf("%s: files (-want +got)\n%s", call.ID, diff)
	}
	if escaped, _ := filepath.Glob(filepath.Join(w.root, "*escaped*")); escaped != nil {
		w.t.Errorf("%s: there is %v", call.ID, escaped)
	}
}

// counted returns the artifact counts, the artifact types and the author of a sample package.
func counted(t *testing.T, name, version string) (count any, by map[string]any, types []any, author any) {
	t.Helper()
	path := filepath.Join("constructed", "package-sources", fmt.Sprintf("%s-%s", strings.Replace(strings.TrimPrefix(name, "@"), "/", "--", 1), version))
	if name == "@author/code-review-toolkit" {
		path = filepath.Join("from-repo", "packages", "code-review-toolkit")
	}
	m, err := manifest.Load(files.Disk{}, realPath(t, path))
	if err != nil {
		t.Fatal(err)
	}
	by = map[string]any{}
	for _, kind := range m.Types() {
		by[kind.Plural()] = float64(len(m.Of(kind)))
		types = append(types, string(kind))
	}
	if m.Author != nil {
		author = *m.Author
	}
	return float64(len(m.Artifacts)), by, types, author
}
