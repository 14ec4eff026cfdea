package tools_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
)

// samples returns the path of a directory in the sample data. It skips the test if the sample data is absent.
func samples(t testing.TB, below ...string) string {
	t.Helper()
	return testenv.Fixture(t, append([]string{"agentpack"}, below...)...)
}

// sampleFiles returns the content of each file below the directory root. The keys are paths.
func sampleFiles(t testing.TB, root string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		relative, err2 := filepath.Rel(root, path)
		files[filepath.ToSlash(relative)] = string(content)
		return errors.Join(err, err2)
	})
	if err != nil || len(files) == 0 {
		t.Fatal(root, err, len(files))
	}
	return files
}

// sample is a world with the config repo of the sample data, and gives access to the expected payloads of the sample
// data.
type sample struct {
	*world
	expected string
}

func newSample(t *testing.T) sample {
	expected := samples(t, "composed", "expected")
	files := map[string]string{}
	for path, content := range sampleFiles(t, samples(t, "composed", "repo_all_targets")) {
		files["home/.agentpack/repo/"+path] = content
	}
	w := newWorld(t, files)
	w.Top, w.Origin = w.Project, "https://github.com/acme/widgets.git"
	t.Setenv("AGENTPACK_MACHINE_ID", "ci-runner")
	return sample{w, expected}
}

// want returns the expected payload in a file, in which it replaces the recorded paths by the paths of the world.
func (s sample) want(file string) any {
	s.t.Helper()
	text, err := os.ReadFile(filepath.Join(s.expected, file))
	if err != nil {
		s.t.Fatal(err)
	}
	var value any
	if err := json.Unmarshal([]byte(s.here(string(text))), &value); err != nil {
		s.t.Fatal(err)
	}
	return value
}

func (s sample) here(text string) string {
	return strings.NewReplacer("/home/dev/src/widgets", s.Project, "/home/dev", s.Home).Replace(text)
}

// gives calls a tool and compares its payload with the expected payload in file. If edit is not nil, gives calls it
// before the comparison to remove intentional differences.
func (s sample) gives(tool, arguments, file string, edit func(want, got map[string]any)) {
	s.t.Helper()
	var got map[string]any
	s.OK(tool, arguments, &got)
	want, ok := s.want(file).(map[string]any)
	if !ok {
		s.t.Fatalf("%s is not a payload", file)
	}
	if edit != nil {
		edit(want, got)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		s.t.Errorf("the payload of %s %s (-%s +got)\n%s", tool, arguments, file, diff)
	}
}

func TestSampleRepo(t *testing.T) {
	s := newSample(t)
	s.gives("plan", ``, "plan_default_all_fresh.json", nil)
	s.gives("diff", ``, "plan_default_all_fresh.json", nil)
	s.gives("plan", `{"profile":"work","target":"codex"}`, "plan_work_codex_fresh.json", nil)
	s.gives("plan", `{"profile":"solo","target":"cursor"}`, "plan_solo_cursor_fresh.json", nil)
	s.gives("explain", `{"kind":"plan"}`, "explain_plan_default_all_fresh.json", realPlaces)
	s.gives("doctor", ``, "doctor_default_fresh.json", nil)

	s.Deploy(``)
	s.deployed()
	s.Wants(``)
	s.mutate()
	s.gives("plan", ``, "plan_default_all_drifted.json", nil)
	s.gives("preview", `{"diff":true}`, "preview_diff_default_all_drifted.json", nil)
	s.gives("status", ``, "status_default_all_drifted.json", nil)
	s.gives("explain", `{"kind":"status"}`, "explain_status_default_all_drifted.json", nil)
	s.gives("evolve_restore", `{"dry_run":true}`, "evolve_restore_dry_run_drifted.json", nil)
	s.gives("evolve_propose", `{"dry_run":true}`, "evolve_propose_dry_run_drifted.json", withoutWords)
}

// realPlaces changes origins in the expected payload that the sample reports as missing although the module has the
// file: the origin in a single-file module, and the origin of a prompt that the target vscode renames.
func realPlaces(want, _ map[string]any) {
	for _, change := range want["changes"].([]any) {
		for _, module := range change.(map[string]any)["modules"].([]any) {
			place := module.(map[string]any)
			switch place["module_path"] {
			case "ship.md":
				place["layer"] = "upstream"
			case "standup.prompt.md":
				place["layer"], place["module_path"] = "machine", "standup.md"
			}
		}
	}
}

// withoutWords removes the messages and suggestions of skipped files, because their wording differs from that of the
// sample.
func withoutWords(want, got map[string]any) {
	want["skipped"] = want["skipped_without_messages"]
	delete(want, "skipped_without_messages")
	for _, item := range got["skipped"].([]any) {
		skipped := item.(map[string]any)
		if skipped["reason_message"] == "" || skipped["suggestions"] == nil {
			skipped["reason"] = "without words"
		}
		delete(skipped, "reason_message")
		delete(skipped, "suggestions")
	}
}

// deployed fails the test unless the deployed files equal the deployed files in the sample data.
func (s sample) deployed() {
	s.t.Helper()
	want := map[string]string{}
	for path, content := range sampleFiles(s.t, filepath.Join(s.expected, "deployed_default")) {
		want[strings.NewReplacer("HOME/", "home/", "PROJECT/", "project/").Replace(path)] = content
	}
	manifests, _ := s.want("target_manifests_default.json").(map[string]any)
	got := s.Files()
	for path, content := range got {
		switch {
		case strings.HasPrefix(path, "home/.agentpack/"):
			delete(got, path)
		case strings.Contains(path, ".agentpack.manifest."):
			s.manifest(content, manifests[s.path(path)])
			delete(manifests, s.path(path))
			delete(got, path)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		s.t.Errorf("what was deployed (-want +got)\n%s", diff)
	}
	if len(manifests) > 0 {
		s.t.Errorf("these manifests were not written: %v", manifests)
	}
}

func (s sample) manifest(content string, want any) {
	s.t.Helper()
	var got map[string]any
	if err := json.Unmarshal([]byte(content), &got); err != nil || want == nil {
		s.t.Fatalf("%v, expected %v: %s", err, want, content)
	}
	for _, key := range []string{"generated_at", "snapshot_id"} {
		want.(map[string]any)[key] = got[key]
	}
	if diff := cmp.Diff(want, any(got)); diff != "" {
		s.t.Errorf("a manifest (-want +got)\n%s", diff)
	}
}

// mutate edits deployed files as the sample data describes.
func (s sample) mutate() {
	s.t.Helper()
	edits, _ := s.want("drift_mutations.json").([]any)
	if len(edits) == 0 {
		s.t.Fatal("the sample has no edits")
	}
	for _, item := range edits {
		edit := item.(map[string]any)
		text := func(key string) string { value, _ := edit[key].(string); return value }
		path, err := filepath.Rel(s.Base, text("path"))
		if err != nil {
			s.t.Fatal(err)
		}
		switch text("edit") {
		case "replace":
			s.Write(path, strings.Replace(s.Read(path), text("find"), text("with"), 1))
		case "append":
			s.Write(path, s.Read(path)+text("text"))
		case "create":
			s.Write(path, text("text"))
		case "remove":
			s.Remove(path)
		default:
			s.t.Fatalf("the test does not know how to make the edit %v", edit)
		}
	}
}

// TestSampleSession makes the recorded calls of the sample data in their order, and compares the results.
func TestSampleSession(t *testing.T) {
	golden := samples(t, "public", "golden")
	w := newWorld(t, nil)
	w.Write("codex_home/.keep", "")
	w.Write(repoFile, config(fmt.Sprintf("codex: {mode: files, scope: user, options: {codex_home: %q, write_user_skills: false, write_repo_skills: false, write_agents_repo_root: false}}",
		w.path("codex_home")), "instructions:base", "prompt:hello"))
	w.Write(modules("instructions/base/AGENTS.md"), "# Base instructions\n")
	w.Write(modules("prompt/hello/hello.md"), "Hello v1\n")
	const codex, prompt = `{"target":"codex"}`, "codex_home/prompts/hello.md"
	ids := regexp.MustCompile(`"[0-9]{19}"`)
	check := func(tool, file, arguments string) {
		t.Helper()
		answer := w.OK(tool, arguments, nil)
		text, err := os.ReadFile(filepath.Join(golden, file))
		if err != nil {
			t.Fatal(err)
		}
		var got, want any
		data := strings.ReplaceAll(ids.ReplaceAllString(string(answer.Data), `"<SNAPSHOT_ID>"`), w.Base, "<TMP>")
		if err := errors.Join(json.Unmarshal([]byte(data), &got), json.Unmarshal(text, &want)); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got)\n%s", file, diff)
		}
	}
	check("plan", "plan_json_data.json", codex)
	check("diff", "diff_json_data.json", codex)
	check("preview", "preview_json_data.json", codex)
	check("doctor", "doctor_json_data.json", codex)
	check("preview", "preview_diff_json_data.json", `{"target":"codex","diff":true}`)
	first := w.Deploy(codex).SnapshotID
	w.Write(modules("prompt/hello/hello.md"), "Hello v2\n")
	check("deploy_apply", "deploy_json_data.json", w.with(codex, map[string]any{"yes": true, "confirm_token": w.Token(codex)}))
	w.Write(prompt, "local drift\n")
	w.Write("codex_home/prompts/extra.txt", "extra\n")
	check("evolve_propose", "evolve_propose_dry_run_json_data.json", `{"target":"codex","dry_run":true}`)
	w.Remove(prompt)
	check("evolve_restore", "evolve_restore_json_data.json", `{"target":"codex","yes":true}`)
	w.Write(prompt, "local drift\n")
	check("status", "status_json_data.json", codex)
	check("rollback", "rollback_json_data.json", fmt.Sprintf(`{"yes":true,"to":%q}`, first))
	if got := w.Read(prompt); got != "Hello v1\n" {
		t.Errorf("after the rollback: got %q", got)
	}
}

// TestMinimalRepo computes the plan for the smallest config repo of the sample data.
func TestMinimalRepo(t *testing.T) {
	files := map[string]string{}
	for path, content := range sampleFiles(t, samples(t, "public", "minimal_repo")) {
		files["home/.agentpack/repo/"+path] = content
	}
	w := newWorld(t, files)
	plan := w.Plan(`{"target":"codex"}`)
	for _, want := range []string{"create home/.codex/skills/example-skill/SKILL.md", "create project/.codex/skills/example-skill/SKILL.md"} {
		if !slices.Contains(plan, want) {
			t.Errorf("%s is not in %q", want, plan)
		}
	}
	w.Deploy(``)
	w.Wants(``)
}

// TestOperatorTemplates checks the operator assets that the real agentpack installs. They must be reported as current,
// and as outdated if another version is expected.
func TestOperatorTemplates(t *testing.T) {
	templates := sampleFiles(t, samples(t, "public", "operator_templates"))
	w := newWorld(t, map[string]string{repoFile: config("codex: {mode: files, scope: user}\nclaude_code: {mode: files, scope: user, options: {write_user_skills: true}}")})
	install := func(version string) {
		for path, content := range templates {
			path = strings.NewReplacer("codex/", "home/.codex/", "claude/", "home/.claude/").Replace(path)
			w.Write(path, strings.ReplaceAll(content, "{{AGENTPACK_VERSION}}", version))
		}
	}
	assets := func() (found []string) {
		for _, warning := range w.OK("status", ``, nil).Warnings {
			if strings.Contains(warning, "operator assets") {
				found = append(found, warning)
			}
		}
		return found
	}
	install("0.9.1")
	if got := assets(); len(got) > 0 {
		t.Errorf("current files: got %q", got)
	}
	install("0.9.0")
	if got := assets(); len(got) != 3 {
		t.Errorf("files of another version: got %q, want one each for a skill, a skill and the commands", got)
	}
}
