//go:build unix

package tests

import (
	"encoding/json"
	"os/exec"
	"testing"
)

// TestScenariosOfPluginsPass runs the scenario files of the plugins and of the examples in Go. Those of other plugins are run by
// TestScenariosOfOtherPluginsPass.
func TestScenariosOfPluginsPass(t *testing.T) {
	t.Parallel()
	dirs := goPlugins()
	passed(t, append(dirs, "--plugins", built.plugins(t)), len(dirs))
	passed(t, []string{"../examples/ask", "--out", t.TempDir()}, 2)
}

// passed runs `bulkhead plugin test` and checks that at least some scenarios run, and all pass.
func passed(t *testing.T, args []string, least int) {
	t.Helper()
	command := exec.Command(built.program(t), append([]string{"plugin", "test", "--json"}, args...)...)
	command.Env = append(environment(t), goEnvironment(t)...)
	out, err := command.Output()
	var report struct {
		OK        bool
		Scenarios []struct {
			File, Name string
			Passed     bool
			Failures   json.RawMessage
		}
	}
	if jsonErr := json.Unmarshal(out, &report); jsonErr != nil {
		t.Fatalf("%v: %v\n%s", args, err, out)
	}
	for _, s := range report.Scenarios {
		if !s.Passed {
			t.Errorf("%s: %s: %s", s.File, s.Name, s.Failures)
		}
	}
	if err != nil || !report.OK || len(report.Scenarios) < least {
		t.Errorf("%v: %v, %d scenarios\n%s", args, err, len(report.Scenarios), out)
	}
}
