//go:build unix

package tests

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestGitPluginShowsNoDeniedFile calls the built plugin in its worker. The patch names a denied file and a file that is not denied, and has the
// content of the latter only.
func TestGitPluginShowsNoDeniedFile(t *testing.T) {
	p := newTestUser(t, map[string]string{"project/.env": "old\n", "project/open.txt": "old\n"})
	for _, args := range [][]string{{"init", "-q", "."}, {"add", "-A"}} {
		cmd := exec.Command("git", args...)
		cmd.Dir = p.project
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Skipf("NOT CHECKED: git %v: %v %s", args, err, out)
		}
	}
	putFile(t, filepath.Join(p.project, ".env"), "secret-token\n")
	putFile(t, filepath.Join(p.project, "open.txt"), "public\n")
	config := filepath.Join(p.dir, "bulkhead.toml")
	putFile(t, config, "[[plugins]]\npath = \""+p.plugins+"/git\"\n") // the manifest's deny applies
	cmd := exec.Command(built.program(t), "call", "git_diff_unstaged", "--config", config, "--project", p.project, "--arg", "repo_path="+p.project)
	cmd.Dir = p.project
	cmd.Env = environment(t, "HOME="+p.home, "XDG_STATE_HOME="+p.path("state"))
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{"+public", "diff --git a/.env b/.env", "b/.env cannot be read by this plugin"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("the answer lacks %q:\n%s", want, out)
		}
	}
	if strings.Contains(string(out), "secret-token") {
		t.Errorf("the answer has the content of a denied file:\n%s", out)
	}
}
