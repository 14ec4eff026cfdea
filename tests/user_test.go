//go:build unix

package tests

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// testUser has the directories of a user of all plugins: home, a project, a shared aam registry, and state. Any number of
// servers may run for one user.
type testUser struct {
	t       testing.TB
	dir     string // parent of all others
	home    string
	project string
	plugins string // directory with the built plugins
}

// newTestUser writes files by paths such as home/.codex/AGENTS.md and project/README.md. BASE in their content is
// replaced by the user's dir.
func newTestUser(t testing.TB, files map[string]string) *testUser {
	t.Helper()
	dir := newDir(t, nil)
	p := &testUser{
		t: t, dir: dir, home: filepath.Join(dir, "home"), project: filepath.Join(dir, "project"),
		plugins: built.plugins(t),
	}
	for _, name := range []string{"home/.codex", "home/.aam", "project", "registry", "state"} {
		if err := os.MkdirAll(p.path(name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, content := range files {
		putFile(t, p.path(name), strings.ReplaceAll(content, "BASE", dir))
	}
	return p
}

func (p *testUser) path(name string) string { return filepath.Join(p.dir, filepath.FromSlash(name)) }

// command returns the command `bulkhead serve` with the config testdata/all-plugins and more arguments.
func (p *testUser) command(args ...string) *exec.Cmd {
	p.t.Helper()
	config, err := filepath.Abs(filepath.Join("testdata", "all-plugins", "bulkhead.toml"))
	if err != nil {
		p.t.Fatal(err)
	}
	cmd := exec.Command(built.program(p.t), append([]string{"serve", "--config", config, "--project", p.project}, args...)...)
	cmd.Dir = p.project
	cmd.Env = environment(p.t, "HOME="+p.home, "XDG_STATE_HOME="+p.path("state"), "PLUGINS="+p.plugins, "REGISTRY="+p.path("registry"))
	return cmd
}

func (p *testUser) serve(args ...string) *server {
	p.t.Helper()
	return startServer(p.t, p.command(args...))
}

// inProject returns the same user in another project, which it creates if absent.
func (p *testUser) inProject(project string) *testUser {
	p.t.Helper()
	other := *p
	other.project = p.path(project)
	if err := os.MkdirAll(other.project, 0o755); err != nil {
		p.t.Fatal(err)
	}
	return &other
}

// members is a JSON object.
type members = map[string]any

// jsonOf returns a value as one line of JSON.
func jsonOf(t testing.TB, value any) string {
	t.Helper()
	raw, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// filesBelow returns the part of a snapshot below dir, with paths relative to dir.
func filesBelow(files map[string]string, dir string) map[string]string {
	found := map[string]string{}
	for name, content := range files {
		if rest, ok := strings.CutPrefix(name, dir+"/"); ok {
			found[rest] = content
		}
	}
	return found
}

// agentpackRepo returns the files of an agentpack config repository with n Codex prompts of the given text.
func agentpackRepo(n int, text string) map[string]string {
	const repo = "home/.agentpack/repo/"
	manifest := "version: 1\nprofiles: {default: {include_tags: [base]}}\ntargets:\n" +
		"  codex: {mode: files, scope: user, options: {write_user_skills: false}}\nmodules:\n"
	files := map[string]string{}
	for i := range n {
		name := fmt.Sprintf("prompt-%03d", i)
		manifest += fmt.Sprintf("  - {id: 'prompt:%s', type: prompt, tags: [base], source: {local_path: {path: modules/%s}}}\n", name, name)
		files[repo+"modules/"+name+"/"+name+".md"] = text
	}
	files[repo+"agentpack.yaml"] = manifest
	return files
}
