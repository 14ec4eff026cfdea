package tools_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
	"github.com/bulkhead-mcp/bulkhead/sdk/contain"
	"github.com/bulkhead-mcp/bulkhead/sdk/sdktest"
)

func TestRepository(t *testing.T) {
	branches := map[string]string{"chant/2026-03-01-003-q7w": "---\nstatus: completed\n---\n# On the branch"}
	inRepository := func(path, root string) error {
		if !contain.Within(root, path) {
			return &abi.HostError{Code: abi.HostDenied, Message: path}
		}
		return nil
	}
	operate := func(host *sdktest.Host, root, at string) {
		host.Handle(abi.OpGitTopLevel, func(raw json.RawMessage) (any, error) {
			var p abi.GitPath
			err := cmp.Or(json.Unmarshal(raw, &p), inRepository(p.Path, root))
			return abi.GitTopLevel{TopLevel: root}, err
		})
		host.Handle(abi.OpGitBranchExists, func(raw json.RawMessage) (any, error) {
			var p abi.GitBranch
			if err := cmp.Or(json.Unmarshal(raw, &p), inRepository(p.Repo, root)); err != nil {
				return nil, err
			}
			return branches[p.Branch] != "", nil
		})
		host.Handle(abi.OpGitReadFile, func(raw json.RawMessage) (any, error) {
			var p abi.GitFile
			if err := json.Unmarshal(raw, &p); err != nil || p.Path != at+".chant/specs/2026-03-01-003-q7w.md" {
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
		operate(host, root, "")
		got := call(t, host, "chant_spec_get", `{"id": "q7w"}`)
		if !strings.Contains(got, `"status": "completed"`) || !strings.Contains(got, `"title": "On the branch"`) {
			t.Error(got)
		}
	})
	t.Run("a commit that mentions the spec is found", func(t *testing.T) {
		host, root := newHost(t, three())
		operate(host, root, "")
		got := call(t, host, "chant_diagnose", `{"id": "q7w"}`)
		if !strings.Contains(got, "Found: 9f3c2ab") || !strings.Contains(got, "should be completed?") {
			t.Error(got)
		}
	})
	t.Run("a repository that is not granted is not taken for one without branches and commits", func(t *testing.T) {
		host, _ := newHost(t, three())
		asked := 0
		host.Handle(abi.OpGitBranchExists, func(json.RawMessage) (any, error) {
			asked++
			return nil, &abi.HostError{Code: abi.HostDenied, Message: "linked to elsewhere"}
		})
		host.Handle(abi.OpGitFindCommit, func(json.RawMessage) (any, error) {
			return nil, &abi.HostError{Code: abi.HostDenied, Message: "linked to elsewhere"}
		})
		testenv.WriteFile(t, filepath.Join(".chant", "specs", "second.md"), "---\nstatus: in_progress\n---\n")
		for tool, arguments := range map[string]string{
			"chant_spec_list": `{}`, "chant_spec_get": `{"id": "q7w"}`, "chant_status": `{"brief": true}`, "chant_search": `{"query": "heading"}`, "chant_verify": `{"id": "q7w"}`,
		} {
			asked = 0
			result, err := host.CallTool(tool, arguments)
			if err != nil || len(result.Texts) != 2 || !strings.Contains(result.Texts[1], "2 specs in progress are shown from the files") || !strings.Contains(result.Texts[1], "linked to elsewhere") {
				t.Errorf("%s: got %+v, %v", tool, result, err)
			}
			if asked != 1 {
				t.Errorf("%s: asked %d times for a branch", tool, asked)
			}
		}
		if got := call(t, host, "chant_diagnose", `{"id": "a1b"}`); !strings.Contains(got, "Cannot run git log: ") || strings.Contains(got, "no commit") {
			t.Error(got)
		}
	})
	t.Run("a Git error is reported", func(t *testing.T) {
		host, _ := newHost(t, three())
		host.Handle(abi.OpGitFindCommit, func(json.RawMessage) (any, error) { return nil, errors.New("object not found") })
		if got := call(t, host, "chant_diagnose", `{"id": "q7w"}`); !strings.Contains(got, "Cannot run git log: git/find_commit: object not found") {
			t.Error(got)
		}
	})
	t.Run("a name that no branch can have is no branch", func(t *testing.T) {
		host, _ := newHost(t, three())
		host.Handle(abi.OpGitBranchExists, func(json.RawMessage) (any, error) {
			return nil, &abi.HostError{Code: abi.HostInvalid, Message: "branch"}
		})
		if got := call(t, host, "chant_spec_get", `{"id": "q7w"}`); !strings.Contains(got, `"status": "in_progress"`) {
			t.Error(got)
		}
	})
	t.Run("a .chant in a subdirectory of the repository", func(t *testing.T) {
		host, root := newHost(t, nil)
		operate(host, root, "sub/")
		below := filepath.Join(root, "sub")
		testenv.WriteFile(t, filepath.Join(below, ".chant", "specs", "2026-03-01-003-q7w.md"), "---\nstatus: in_progress\n---\n")
		t.Chdir(below)
		if got := call(t, host, "chant_spec_get", `{"id": "q7w"}`); !strings.Contains(got, `"title": "On the branch"`) {
			t.Error(got)
		}
		if got := call(t, host, "chant_diagnose", `{"id": "q7w"}`); !strings.Contains(got, "Found: 9f3c2ab") {
			t.Error(got)
		}
	})
}
