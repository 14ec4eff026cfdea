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

// person is somebody who works with all five plugins: a home folder, a project, a registry that a team shares, and
// state folders. Any number of servers may run for one.
type testUser struct {
	t       testing.TB
	dir     string // holds all the others
	home    string
	project string
	plugins string // folder with the built plugins
}

// newPerson lays files out by paths such as home/.codex/AGENTS.md and project/README.md. Where their content
// says BASE, the folder that holds them is meant.
func newTestUser(t testing.TB, files map[string]string) *testUser {
	t.Helper()
	dir := newDir(t, nil)
	p := &testUser{
		t: t, dir: dir, home: filepath.Join(dir, "home"), project: filepath.Join(dir, "project"),
		plugins: built.plugins,
	}
	for _, folder := range []string{"home/.codex", "home/.aam", "project", "registry", "state"} {
		if err := os.MkdirAll(p.path(folder), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, content := range files {
		putFile(t, p.path(name), strings.ReplaceAll(content, "BASE", dir))
	}
	return p
}

func (p *testUser) path(name string) string { return filepath.Join(p.dir, filepath.FromSlash(name)) }

// command serves what the person's config says, and is the program with more arguments.
func (p *testUser) command(args ...string) *exec.Cmd {
	p.t.Helper()
	config, err := filepath.Abs(filepath.Join("testdata", "all-plugins", "bulkhead.toml"))
	if err != nil {
		p.t.Fatal(err)
	}
	cmd := exec.Command(built.program, append([]string{"serve", "--config", config, "--project", p.project}, args...)...)
	cmd.Dir = p.project
	cmd.Env = environment(p.t, "HOME="+p.home, "XDG_STATE_HOME="+p.path("state"), "PLUGINS="+p.plugins, "REGISTRY="+p.path("registry"))
	return cmd
}

func (p *testUser) serve(args ...string) *server {
	p.t.Helper()
	return startServer(p.t, p.command(args...))
}

// in is the same person in another project, which is made if it is not there.
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

// jsonOf is a value as one line of JSON.
func jsonOf(t testing.TB, value any) string {
	t.Helper()
	raw, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// below are the files of a snapshot in one folder of it, by their paths there.
func filesBelow(files map[string]string, dir string) map[string]string {
	found := map[string]string{}
	for name, content := range files {
		if rest, ok := strings.CutPrefix(name, dir+"/"); ok {
			found[rest] = content
		}
	}
	return found
}

// agentpackRepo is a config repo of agentpack with n prompts for Codex, which say text.
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
