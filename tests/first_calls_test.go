//go:build unix

package tests

import (
	"encoding/json"
	"slices"
	"testing"
)

// TestOfferedToolsWorkInEmptyRepository serves all plugins in a repository that is prepared for none, and calls each offered
// tool that reads and requires no arguments. Tools that cannot work there must not be offered.
func TestOfferedToolsWorkInEmptyRepository(t *testing.T) {
	t.Parallel()
	project := newDir(t, map[string]string{".git/HEAD": "ref: refs/heads/main\n"})
	s := startServer(t, programCommand(t, "serve", "--plugins", built.plugins(t), "--project", project))
	var answer struct {
		Result struct {
			Tools []struct {
				Name        string
				Annotations struct{ ReadOnlyHint bool }
				InputSchema struct{ Required []string }
			}
		}
	}
	if err := json.Unmarshal([]byte(s.ask(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)), &answer); err != nil {
		t.Fatal(err)
	}
	called := []string{}
	for _, tool := range answer.Result.Tools {
		if tool.Annotations.ReadOnlyHint && len(tool.InputSchema.Required) == 0 {
			s.mustCall(tool.Name, `{}`)
			called = append(called, tool.Name)
		}
	}
	want := []string{"aam_list", "aam_validate", "aam_config_get", "aam_registry_list", "aam_doctor", "list_allowed_directories", "read_graph"}
	if !slices.Equal(called, want) {
		t.Errorf("called %q, want %q", called, want)
	}
	for _, tool := range []string{"chant_status", "plan", "create_prompt", "openspec_list"} {
		s.wantUnknown(tool, "it cannot work yet: ", "run `bulkhead init --plugin ")
	}
	s.mustCall("openspec_init", `{}`)
	s.end()
}
