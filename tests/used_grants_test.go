//go:build unix

package tests

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestRecordsHaveUsedGrants has calls that use directories and a repository in different ways.
func TestRecordsHaveUsedGrants(t *testing.T) {
	t.Parallel()
	project, other, repo, log := newDir(t, map[string]string{"a.txt": "one"}), newDir(t, nil), newDir(t, nil), filepath.Join(newDir(t, nil), "audit.jsonl")
	if text, err := exec.CommandContext(t.Context(), "git", "-C", repo, "init", "-q").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	plugins := builtPlugins(t, "../plugins/filesystem", "../plugins/git", "testdata/guests/loaded")
	config := filepath.Join(newDir(t, nil), "bulkhead.toml")
	putFile(t, config, fmt.Sprintf(`
[audit]
file = %[1]q
[[plugins]]
path = %[2]q
fs = [{ path = %[5]q, access = "rw" }, { path = %[6]q, access = "r" }]
[[plugins]]
path = %[3]q
fs = []
git = [{ repo = %[7]q, access = "commit" }]
[[plugins]]
path = %[4]q
fs = [{ path = %[5]q, access = "rw" }]
`, log, filepath.Join(plugins, "filesystem"), filepath.Join(plugins, "git"), filepath.Join(plugins, "loaded"), project, other, repo))
	s := startServer(t, programCommand(t, "serve", "--config", config, "--project", project))
	s.ask(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`)
	s.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	calls := []struct{ tool, arguments, want string }{
		{"list_allowed_directories", `{}`, ""},
		{"read_text_file", jsonOf(t, map[string]string{"path": project + "/a.txt"}), "directory PROJECT r"},
		{"list_directory", jsonOf(t, map[string]string{"path": other}), "directory OTHER r"},
		{"get_file_info", jsonOf(t, map[string]string{"path": other}), "directory OTHER r"},
		{"write_file", jsonOf(t, map[string]string{"path": project + "/c.txt", "content": "x"}), "directory PROJECT rw"},
		{"git_status", jsonOf(t, map[string]string{"repo_path": repo}), "repository REPO r"},
		{"git_add", jsonOf(t, map[string]any{"repo_path": repo, "files": []string{"."}}), "repository REPO rw"},
		{"loaded", `{}`, "directory PROJECT r"},
	}
	var text string
	for _, c := range calls {
		text = s.mustCall(c.tool, c.arguments)
	}
	if !strings.HasPrefix(text, "one, <nil>, open ") || !strings.HasSuffix(text, "ermission denied") {
		t.Errorf("while it was loaded, the module had %s", text)
	}
	if _, err := os.Stat(filepath.Join(project, "b.txt")); !os.IsNotExist(err) {
		t.Errorf("a module has written while it was loaded: %v", err)
	}
	s.end()
	names := strings.NewReplacer(project, "PROJECT", other, "OTHER", repo, "REPO")
	for line := range strings.Lines(readFile(t, log)) {
		var record struct {
			Kind, Tool string
			Grants     []struct{ Kind, Path, Access string }
		}
		if err := json.Unmarshal([]byte(line), &record); err != nil {
			t.Fatal(err)
		}
		if record.Kind != "call" || record.Tool == "" {
			continue
		}
		var got []string
		for _, g := range record.Grants {
			got = append(got, g.Kind+" "+names.Replace(g.Path)+" "+g.Access)
		}
		if len(calls) == 0 || calls[0].tool != record.Tool {
			t.Fatalf("unexpected record %s", line)
		}
		if diff := cmp.Diff(calls[0].want, strings.Join(got, ", ")); diff != "" {
			t.Errorf("%s: (want -, got +)\n%s", calls[0].tool, diff)
		}
		calls = calls[1:]
	}
	if len(calls) > 0 {
		t.Errorf("%d calls have no record", len(calls))
	}
}
