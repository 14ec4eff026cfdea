package plan_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/env"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/output"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/plan"
)

type noGit struct{}

func (noGit) TopLevel(string) (string, error)       { return "", nil }
func (noGit) Origin(string) (string, string, error) { return "", "", nil }

// TestPrepareRefusesRootAsProject checks that Prepare fails if the project is the root directory of the file system.
func TestPrepareRefusesRootAsProject(t *testing.T) {
	home := t.TempDir()
	repo := filepath.Join(home, ".agentpack", "repo")
	if err := os.MkdirAll(repo, 0o755); err != nil {
		t.Fatal(err)
	}
	run := func(scope, cwd string) error {
		t.Helper()
		text := "version: 1\nprofiles: {default: {}}\ntargets: {codex: {mode: files, scope: " + scope + "}}\n"
		if err := os.WriteFile(filepath.Join(repo, "agentpack.yaml"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := plan.Prepare(plan.Services{
			Env: env.Env{Home: home, Cwd: cwd, Var: func(string) string { return "" }}, Git: noGit{},
			LastDeploy: func() ([]output.Key, error) { return nil, nil },
		}, plan.Request{Profile: "default", Target: plan.AllTargets})
		return err
	}
	if err := run("both", "/"); err == nil || !strings.Contains(err.Error(), "--project") {
		t.Errorf("Prepare for a target that writes into the project: got %v", err)
	}
	if err := run("user", "/"); err != nil {
		t.Errorf("Prepare for a target that writes into the user's directories: got %v", err)
	}
	if err := run("both", home); err != nil {
		t.Errorf("Prepare with a project: got %v", err)
	}
}
