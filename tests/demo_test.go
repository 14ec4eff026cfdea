//go:build unix

package tests

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
)

// The build of the second plugin does not end before the last step of the first plugin is shown.
func TestDemoRunsEveryStepOfAPluginAsSoonAsItIsBuilt(t *testing.T) {
	testenv.All(t, "builds all plugins")
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute) // detects that the demo waits for all builds
	defer cancel()
	demo := exec.CommandContext(ctx, built.program(t), "demo")
	demo.Dir = ".."
	home, shown := t.TempDir(), filepath.Join(t.TempDir(), "shown")
	demo.Env = append(environment(t, append(goEnvironment(t), "HOME="+home)...), "PATH="+goThatWaits(t, "plugins/openspec", shown)+":"+os.Getenv("PATH"))
	var progress strings.Builder
	demo.Stderr = &progress
	stdout, err := demo.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := demo.Start(); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for lines := bufio.NewScanner(stdout); lines.Scan(); {
		fmt.Fprintln(&out, lines.Text())
		if strings.Contains(lines.Text(), "Finalized spec: 2026-05-04-002-h2k") {
			if err := os.WriteFile(shown, nil, 0o600); err != nil {
				t.Error(err)
			}
		}
	}
	if err := demo.Wait(); err != nil {
		t.Fatalf("%v\n%s%s", err, out.String(), progress.String())
	}
	for _, want := range append([]string{"This builds the 5 plugins", "tools/list", "55 tools of 5 plugins", "All 24 steps answered as expected", `"mcpServers"`}, workflowPlugins...) {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the output lacks %q:\n%s", want, out.String())
		}
	}
	for name := range snapshot(t, home) {
		if first, _, _ := strings.Cut(name, "/"); slices.Contains([]string{".aam", ".agentpack", ".codex", ".local"}, first) {
			t.Errorf("the demo wrote to the user's home directory: %s", name)
		}
	}
	if !strings.Contains(progress.String(), "compiling") {
		t.Errorf("no progress is shown: %s", progress.String())
	}
	for _, unwanted := range []string{"[WARN]", "[ERROR]", "CGO_ENABLED"} {
		if strings.Contains(progress.String()+out.String(), unwanted) {
			t.Errorf("the demo prints %s:\n%s%s", unwanted, progress.String(), out.String())
		}
	}
}

// goThatWaits returns a directory with a go command that waits in a directory until a file exists.
func goThatWaits(t *testing.T, dir, until string) string {
	t.Helper()
	program, err := exec.LookPath("go")
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	script := fmt.Sprintf("#!/bin/sh\ncase $PWD in */%s) until [ -e '%s' ]; do sleep 0.1; done;; esac\nexec '%s' \"$@\"\n", dir, until, program)
	if err := os.WriteFile(filepath.Join(bin, "go"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	return bin
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
