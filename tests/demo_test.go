package tests

import (
	"os/exec"
	"strings"
	"testing"
)

func TestTheDemoShowsWhatItShould(t *testing.T) {
	demo := exec.Command(built.program, "demo")
	demo.Dir = ".."
	demo.Env = environment(t, goEnvironment(t)...)
	var progress strings.Builder
	demo.Stderr = &progress
	out, err := demo.Output()
	if err != nil {
		t.Fatalf("%v\n%s%s", err, out, progress.String())
	}
	for _, want := range []string{"tools/list", "answered as expected", `"mcpServers"`} {
		if !strings.Contains(string(out), want) {
			t.Errorf("the output does not say %s:\n%s", want, out)
		}
	}
	if !strings.Contains(progress.String(), "compiling") {
		t.Errorf("no progress is shown: %s", progress.String())
	}
}

// goEnvironment is what the go command needs to find its caches without the user's home folder.
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
