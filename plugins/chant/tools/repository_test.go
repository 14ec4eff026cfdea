package tools_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
	"github.com/bulkhead-mcp/bulkhead/sdk/sdktest"
)

func TestRepository(t *testing.T) {
	branches := map[string]string{"chant/2026-03-01-003-q7w": "---\nstatus: completed\n---\n# On the branch"}
	operate := func(host *sdktest.Host, root string) {
		host.Handle(abi.OpGitBranchExists, func(raw json.RawMessage) (any, error) {
			var p abi.GitBranch
			if err := json.Unmarshal(raw, &p); err != nil || p.Repo != root {
				return nil, &abi.HostError{Code: abi.HostDenied, Message: p.Repo}
			}
			return branches[p.Branch] != "", nil
		})
		host.Handle(abi.OpGitReadFile, func(raw json.RawMessage) (any, error) {
			var p abi.GitFile
			if err := json.Unmarshal(raw, &p); err != nil || p.Path != ".chant/specs/2026-03-01-003-q7w.md" {
				return abi.GitContent{}, err
			}
			return abi.GitContent{Content: []byte(branches[p.Branch]), Found: true}, nil
		})
		host.Handle(abi.OpGitFindCommit, func(raw json.RawMessage) (any, error) {
			var p abi.GitSearch
			if err := json.Unmarshal(raw, &p); err != nil || p.Text != "chant(2026-03-01-003-q7w)" {
				return abi.GitCommit{}, err
			}
			return abi.GitCommit{Hash: "9f3c2ab"}, nil
		})
	}
	t.Run("a spec in progress is taken from its branch", func(t *testing.T) {
		host, root := newHost(t, three())
		operate(host, root)
		got := call(t, host, "chant_spec_get", `{"id": "q7w"}`)
		if !strings.Contains(got, `"status": "completed"`) || !strings.Contains(got, `"title": "On the branch"`) {
			t.Error(got)
		}
	})
	t.Run("a commit that mentions the spec is found", func(t *testing.T) {
		host, root := newHost(t, three())
		operate(host, root)
		got := call(t, host, "chant_diagnose", `{"id": "q7w"}`)
		if !strings.Contains(got, "Found: 9f3c2ab") || !strings.Contains(got, "should be completed?") {
			t.Error(got)
		}
	})
	t.Run("a repository that is not granted has no branches and commits", func(t *testing.T) {
		host, _ := newHost(t, three())
		if got := call(t, host, "chant_spec_get", `{"id": "q7w"}`); !strings.Contains(got, `"status": "in_progress"`) {
			t.Error(got)
		}
		if got := call(t, host, "chant_diagnose", `{"id": "q7w"}`); !strings.Contains(got, "No matching commit found") {
			t.Error(got)
		}
	})
	t.Run("a Git error is reported", func(t *testing.T) {
		host, _ := newHost(t, three())
		host.Handle(abi.OpGitFindCommit, func(json.RawMessage) (any, error) { return nil, errors.New("object not found") })
		if got := call(t, host, "chant_diagnose", `{"id": "q7w"}`); !strings.Contains(got, "Cannot run git log") {
			t.Error(got)
		}
	})
	t.Run("a .chant in a subdirectory has no branches", func(t *testing.T) {
		host, root := newHost(t, nil)
		operate(host, root)
		below := filepath.Join(root, "sub")
		if err := os.MkdirAll(filepath.Join(below, ".chant", "specs"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(below, ".chant", "specs", "2026-03-01-003-q7w.md"), []byte("---\nstatus: in_progress\n---\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		t.Chdir(below)
		if got := call(t, host, "chant_spec_get", `{"id": "q7w"}`); !strings.Contains(got, `"status": "in_progress"`) {
			t.Error(got)
		}
	})
}
