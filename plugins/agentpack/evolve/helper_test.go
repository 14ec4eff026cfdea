package evolve_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/apply"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/env"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/evolve"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/output"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/plan"
	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem"
)

// world is a home directory with a config repo, all files of which are deployed.
type world struct {
	t    *testing.T
	home string
	now  time.Time
}

const config = `version: 1
profiles: {default: {include_tags: [base]}}
targets:
  codex: {mode: files, scope: user, options: {codex_home: "~/.codex"}}
  cursor: {mode: files, scope: project}
  vscode: {mode: files, scope: project}
modules:
  - {id: "instructions:one", type: instructions, tags: [base], source: {local_path: {path: modules/one}}}
  - {id: "instructions:two", type: instructions, tags: [base], source: {local_path: {path: modules/two}}}
  - {id: "prompt:hello", type: prompt, tags: [base], source: {local_path: {path: modules/hello.md}}}
  - {id: "skill:lint", type: skill, tags: [base], source: {local_path: {path: modules/lint}}}
`

func newWorld(t *testing.T) *world {
	t.Helper()
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, home: home, now: time.Date(2026, 2, 1, 9, 0, 0, 120, time.UTC)}
	for name, content := range map[string]string{
		"agentpack.yaml": config, "modules/one/AGENTS.md": "One.\n", "modules/two/AGENTS.md": "Two.\n",
		"modules/hello.md": "Hello.\n", "modules/lint/SKILL.md": "---\nname: lint\ndescription: d\n---\n", "modules/lint/ref/a.txt": "a\n",
	} {
		w.write("repo/"+name, content)
	}
	w.write("repo/.git/HEAD", "ref: refs/heads/main\n")
	w.write("project/x", "")
	for _, file := range w.run().State.Files {
		w.write(strings.TrimPrefix(file.Path, home+"/"), string(file.Content))
	}
	return w
}

func (w *world) path(name string) string { return filepath.Join(w.home, name) }

func (w *world) write(name, content string) {
	w.t.Helper()
	err := os.MkdirAll(filepath.Dir(w.path(name)), 0o755)
	if err == nil {
		err = os.WriteFile(w.path(name), []byte(content), 0o644)
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

// edit replaces the string old in a file by text.
func (w *world) edit(name, old, text string) {
	w.t.Helper()
	content, err := os.ReadFile(w.path(name))
	if err != nil {
		w.t.Fatal(err)
	}
	if !strings.Contains(string(content), old) {
		w.t.Fatalf("the file %s does not contain %q", name, old)
	}
	w.write(name, strings.Replace(string(content), old, text, 1))
}

func (w *world) remove(name string) {
	w.t.Helper()
	if err := os.Remove(w.path(name)); err != nil {
		w.t.Fatal(err)
	}
}

// noRepositories is a Git that finds no repositories.
type noRepositories struct{}

func (noRepositories) TopLevel(string) (string, error)       { return "", nil }
func (noRepositories) Origin(string) (string, string, error) { return "", "", nil }

func (w *world) run() *plan.Prepared {
	w.t.Helper()
	result, err := plan.Prepare(plan.Services{
		Env: env.Env{Now: w.now, Home: w.home, Cwd: w.path("project"), Var: func(name string) string {
			return map[string]string{"AGENTPACK_HOME": w.home, "AGENTPACK_MACHINE_ID": "laptop"}[name]
		}},
		Git: noRepositories{}, LastDeploy: func() ([]output.Key, error) { return nil, nil },
	}, plan.Request{Profile: "default", Target: plan.AllTargets})
	if err != nil {
		w.t.Fatal(err)
	}
	return result
}

func (w *world) applier() apply.Applier {
	return apply.New(filesystem.OS{}, w.path("state/journal"))
}

// files returns the paths of the files below a directory.
func (w *world) files(dir string) []string {
	w.t.Helper()
	var found []string
	err := filepath.WalkDir(w.path(dir), func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			found = append(found, strings.TrimPrefix(path, w.path(dir)+"/"))
		}
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return found
}

// repository is a Git that stands for the repository of the config repo.
type repository struct {
	none    bool     // the repository does not exist
	dirty   []string // the paths of changed files
	fails   error    // the error that Commit returns
	branch  string
	message string
	files   map[string]string
}

func (r *repository) Status(string) ([]string, bool, error) { return r.dirty, !r.none, nil }

func (r *repository) Commit(_, branch, message string, files []evolve.File) error {
	if r.fails != nil {
		return r.fails
	}
	r.branch, r.message, r.files = branch, message, map[string]string{}
	for _, file := range files {
		r.files[file.Path] = string(file.Content)
	}
	return nil
}
