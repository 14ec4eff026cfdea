//go:build unix

package tests

import (
	"fmt"
	"os"
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
	other := p.path("other")
	if err := os.Mkdir(other, 0o700); err != nil {
		t.Fatal(err)
	}
	named := fmt.Sprintf("git = [{ repo = %q, access = \"r\" }]\nfs = [{ path = %[1]q, access = \"r\" }]\n", p.project)
	for project, grants := range map[string]string{p.project: "", other: named} { // the project, and a repository that the config names
		config := filepath.Join(p.dir, "bulkhead.toml")
		putFile(t, config, "[[plugins]]\npath = \""+p.plugins+"/git\"\n"+grants) // the manifest's deny applies
		cmd := exec.Command(built.program(t), "call", "git_diff_unstaged", "--config", config, "--project", project, "--arg", "repo_path="+p.project)
		cmd.Dir = project
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
}
