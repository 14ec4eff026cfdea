//go:build unix

package tests

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

func TestDemoRunsEveryStep(t *testing.T) {
	demo := exec.Command(built.program, "demo")
	demo.Dir = ".."
	home := t.TempDir()
	demo.Env = environment(t, append(goEnvironment(t), "HOME="+home)...)
	var progress strings.Builder
	demo.Stderr = &progress
	out, err := demo.Output()
	if err != nil {
		t.Fatalf("%v\n%s%s", err, out, progress.String())
	}
	for _, want := range append([]string{"tools/list", "55 tools of 5 plugins", "All 20 steps answered as expected", `"mcpServers"`}, allPlugins...) {
		if !strings.Contains(string(out), want) {
			t.Errorf("the output lacks %q:\n%s", want, out)
		}
	}
	for name := range snapshot(t, home) {
		if first, _, _ := strings.Cut(name, "/"); slices.Contains([]string{".aam", ".agentpack", ".codex", ".local"}, first) {
			t.Errorf("the demo wrote to the user's home directory: %s", name)
		}
	}
	if !strings.Contains(progress.String(), "compiling") {
		t.Errorf("no progress is describeCall: %s", progress.String())
	}
}

// goEnvironment returns the variables that the go command needs when HOME is not the user's.
func goEnvironment(t *testing.T) []string {
	t.Helper()
	names := []string{"GOCACHE", "GOMODCACHE", "GOPROXY", "GONOSUMDB", "GONOSUMCHECK", "GOFLAGS", "GOSUMDB", "GONOPROXY", "GOPRIVATE"}
	out, err := exec.Command("go", append([]string{"env"}, names...)...).Output()
	if err != nil {
		t.Fatal(err)
	}
	var env []string
	for i, value := range strings.Split(strings.TrimSuffix(string(out), "\n"), "\n") {
		env = append(env, names[i]+"="+value)
	}
	return env
}
