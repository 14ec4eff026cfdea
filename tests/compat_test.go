//go:build unix

package tests

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// firstRelease is the commit whose modules, configs and state directories must keep working. It is the last commit that ran
// modules in the host process.
const firstRelease = "077544832ae90ad4a0fca4e81c8760c9c30e7548"

// firstReleaseHome returns a copy of a home directory, project, config and state directory that the plugins of firstRelease
// wrote. The program that wrote them ran in /home/me.
func firstReleaseHome(t *testing.T) string {
	t.Helper()
	dir := newDir(t, nil)
	if err := os.CopyFS(dir, os.DirFS("testdata/first-release")); err != nil {
		t.Fatal(err)
	}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(path, bytes.ReplaceAll(data, []byte("/home/me"), []byte(dir)), 0o644)
	})
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// serveFirstRelease serves the result of firstReleaseHome with the current host and the plugins in a directory.
func serveFirstRelease(t *testing.T, dir, plugins string) *server {
	t.Helper()
	cmd := programCommand(t, "serve", "--config", filepath.Join(dir, "bulkhead.toml"), "--project", filepath.Join(dir, "orchard"))
	cmd.Env = append(cmd.Env, "HOME="+filepath.Join(dir, "home"), "XDG_STATE_HOME="+filepath.Join(dir, "state"), "PLUGINS="+plugins)
	return startServer(t, cmd)
}

// readFirstRelease checks that each plugin reads the state that firstRelease left.
func readFirstRelease(s *server, dir string) {
	s.t.Helper()
	for _, c := range []struct{ tool, arguments, want string }{
		{"chant_spec_list", `{}`, "2026-05-04-002-h2k"},
		{"openspec_show", `{"name":"watering","type":"spec"}`, "rain is forecast"},
		{"status", `{}`, `"modified":0`},
		{"aam_search", `{"query":"orchard"}`, "orchard-kit"},
	} {
		if got := s.mustCall(c.tool, c.arguments); !strings.Contains(strings.ReplaceAll(got, " ", ""), strings.ReplaceAll(c.want, " ", "")) {
			s.t.Errorf("%s %s: got %.2000s, want it to contain %q", c.tool, c.arguments, got, c.want)
		}
	}
	const prompt = `{"jsonrpc":"2.0","id":900,"method":"prompts/get","params":{"name":"harvest"}}`
	if got := s.ask(prompt); !strings.Contains(got, "Which apples are ripe today?") {
		s.t.Errorf("prompts/get: got %s", got)
	}
}

func TestStateAndConfigOfFirstReleaseAreRead(t *testing.T) {
	dir := firstReleaseHome(t)
	readFirstRelease(serveFirstRelease(t, dir, built.plugins), dir)
}

func TestModulesOfFirstReleaseRun(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT TESTED: with -short no earlier release is built")
	}
	tree := t.TempDir()
	archive := exec.Command("git", "-C", "..", "archive", firstRelease)
	extract := exec.Command("tar", "-x", "-C", tree)
	var err error
	if extract.Stdin, err = archive.StdoutPipe(); err != nil {
		t.Fatal(err)
	}
	if err := extract.Start(); err != nil {
		t.Skipf("NOT TESTED: %v", err)
	}
	if err := archive.Run(); err != nil {
		_ = extract.Wait()
		t.Skipf("NOT TESTED: this is no checkout with the commit %s: %v", firstRelease, err)
	}
	if err := extract.Wait(); err != nil {
		t.Fatal(err)
	}
	plugins := t.TempDir()
	for _, name := range allPlugins {
		build := exec.Command("go", "build", "-buildmode=c-shared", "-trimpath", "-o", filepath.Join(tree, "plugins", name, name+".wasm"), "./plugins/"+name)
		build.Dir = tree
		build.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("build %s of the first release: %v\n%s", name, err, out)
		}
		if err := os.CopyFS(filepath.Join(plugins, name), os.DirFS(filepath.Join(tree, "plugins", name))); err != nil {
			t.Fatal(err)
		}
	}
	dir := firstReleaseHome(t)
	// Compile the modules first: compiling five modules takes longer than the tests wait for a line of a server.
	warm := programCommand(t, "warm", "--plugins", plugins)
	if out, err := warm.CombinedOutput(); err != nil {
		t.Fatalf("warm: %v\n%s", err, out)
	}
	readFirstRelease(serveFirstRelease(t, dir, plugins), dir)
}
