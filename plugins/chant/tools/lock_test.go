package tools_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/BurntSushi/toml"
	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// accesses returns the access that the manifest states for each tool, "read" or "write". The key is the name of the
// tool.
func accesses(t *testing.T) map[string]string {
	t.Helper()
	var manifest struct {
		Tools []struct{ Name, Access string }
	}
	if _, err := toml.DecodeFile(filepath.Join("..", "plugin.toml"), &manifest); err != nil {
		t.Fatal(err)
	}
	access := map[string]string{}
	for _, tool := range manifest.Tools {
		access[tool.Name] = tool.Access
	}
	return access
}

const everyArgument = `{"id": "a1b", "query": "x", "description": "x", "status": "failed"}`

func TestWritingToolsLockProject(t *testing.T) {
	for tool, access := range accesses(t) {
		t.Run(tool, func(t *testing.T) {
			host, root := newHost(t, three())
			call(t, host, tool, everyArgument)
			var names, folders []string
			if access == "write" {
				names, folders = []string{"specs " + filepath.Join(root, ".chant")}, []string{filepath.Join(root, ".chant")}
			}
			if diff := cmp.Diff(names, host.Locks()); diff != "" {
				t.Errorf("of a tool with access %s (-want +got)\n%s", access, diff)
			}
			if diff := cmp.Diff(folders, host.LockedFolders()); diff != "" {
				t.Errorf("directories, of a tool with access %s (-want +got)\n%s", access, diff)
			}
		})
	}
	t.Run("a symbolic link to .chant has the lock of its target", func(t *testing.T) {
		host, root := newHost(t, nil)
		elsewhere := filepath.Join(root, "shared")
		if err := os.MkdirAll(filepath.Join(elsewhere, "specs"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink("shared", filepath.Join(root, ".chant")); err != nil {
			t.Skipf("symbolic links are not supported: %v", err)
		}
		call(t, host, "chant_add", `{"description": "x"}`)
		if diff := cmp.Diff([]string{"specs " + elsewhere}, host.Locks()); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
		if diff := cmp.Diff([]string{elsewhere}, host.LockedFolders()); diff != "" {
			t.Errorf("directories (-want +got)\n%s", diff)
		}
	})
	t.Run("long paths have distinct locks", func(t *testing.T) {
		host, root := newHost(t, nil)
		for _, last := range []string{"a", "b"} {
			project := filepath.Join(root, strings.Repeat("long/", 60), last)
			if err := os.MkdirAll(filepath.Join(project, ".chant", "specs"), 0o755); err != nil {
				t.Fatal(err)
			}
			t.Chdir(project)
			if got := call(t, host, "chant_add", `{"description": "x"}`); !strings.HasPrefix(got, "Created spec: ") {
				t.Error(got)
			}
		}
		locks := host.Locks()
		if len(locks) != 2 || locks[0] == locks[1] || !strings.HasPrefix(locks[0], "specs ") {
			t.Errorf("got %q", locks)
		}
	})
	t.Run("a call with wrong arguments does not lock", func(t *testing.T) {
		host, _ := newHost(t, three())
		if got := call(t, host, "chant_cancel", `{}`); got != "! Missing required parameter: id" || len(host.Locks()) > 0 {
			t.Errorf("got %s, locks %q", got, host.Locks())
		}
	})
}

// TestToolsReadAfterLocking changes spec files while a call waits for the lock. The call must see the changed files.
func TestToolsReadAfterLocking(t *testing.T) {
	spec := func(status string) string { return "---\ntype: code\nstatus: " + status + "\n---\n# T" }
	// The test accepts the dates of two days, since it may run past midnight.
	day := func(days int) string { return time.Now().AddDate(0, 0, days).Format(time.DateOnly) }
	tests := map[string]struct{ concurrent, want string }{
		"chant_spec_update": {"completed", "Updated spec: a"},
		"chant_finalize":    {"in_progress", "Finalized spec: a"},
		"chant_resume":      {"failed", "Resumed spec 'a' - reset to pending"},
		"chant_cancel":      {"failed", "Cancelled spec: a"},
		"chant_archive":     {"completed", "Archived spec: a -> .chant/archive/a/a.md"},
		"chant_add":         {"pending", "-00b-"},
	}
	for tool, access := range accesses(t) {
		test, ok := tests[tool]
		if ok != (access == "write") {
			t.Errorf("%s has access %s; tested: %t", tool, access, ok)
		}
		if !ok {
			continue
		}
		t.Run(tool, func(t *testing.T) {
			// The spec is cancelled until the call has the lock. So a call that reads the spec before it has the lock
			// fails.
			host, root := newHost(t, map[string]string{"specs/a.md": spec("cancelled")})
			host.Handle(abi.OpLock, func(json.RawMessage) (any, error) {
				for _, id := range []string{"a", day(0) + "-00a-xyz", day(1) + "-00a-xyz"} {
					text := spec(test.concurrent) + "\n\nWritten meanwhile."
					if err := os.WriteFile(filepath.Join(root, ".chant", "specs", id+".md"), []byte(text), 0o644); err != nil {
						return nil, err
					}
				}
				return nil, nil
			})
			arguments := `{"id": "a", "description": "x", "output": "Mine."}`
			if got := call(t, host, tool, arguments); strings.HasPrefix(got, "! ") || !strings.Contains(got, test.want) {
				t.Errorf("got %s, want %s", got, test.want)
			}
			if tool != "chant_spec_update" {
				return
			}
			got, err := os.ReadFile(filepath.Join(root, ".chant", "specs", "a.md"))
			if err != nil || !strings.Contains(string(got), "Written meanwhile.\n\n## Output\n\nMine.") {
				t.Errorf("got %q, %v", got, err)
			}
		})
	}
}

func TestLockErrors(t *testing.T) {
	for code, want := range map[string]string{
		abi.HostUnavailable: "Cancelled spec: 2026-03-01-003-q7w",
		abi.HostFailed:      "! cannot lock the project: lock: no directory (failed)",
		abi.HostDenied:      "! cannot lock the project: lock: no directory (denied)", // the handler below also refuses the second request for the lock, which does not name the directory
	} {
		t.Run(code, func(t *testing.T) {
			host, _ := newHost(t, three())
			host.Handle(abi.OpLock, func(json.RawMessage) (any, error) {
				return nil, &abi.HostError{Code: code, Message: "no directory"}
			})
			if got := call(t, host, "chant_cancel", `{"id": "q7w"}`); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		})
	}
}

// TestWritesRemoveTemporaryFiles checks that a call with a lock removes all temporary files. A call without a lock must
// remove only the temporary files that are too old for a running call.
func TestWritesRemoveTemporaryFiles(t *testing.T) {
	for _, locks := range []bool{true, false} {
		t.Run(fmt.Sprint("locks ", locks), func(t *testing.T) {
			host, root := newHost(t, three())
			if !locks {
				host.Handle(abi.OpLock, func(json.RawMessage) (any, error) {
					return nil, &abi.HostError{Code: abi.HostUnavailable}
				})
			}
			young, old := filepath.Join(root, ".chant/specs/.chant-1.tmp"), filepath.Join(root, ".chant/specs/.chant-2.tmp")
			for path, age := range map[string]time.Duration{young: 0, old: 2 * time.Hour} {
				if err := os.WriteFile(path, nil, 0o644); err != nil {
					t.Fatal(err)
				}
				if err := os.Chtimes(path, time.Time{}, time.Now().Add(-age)); err != nil {
					t.Fatal(err)
				}
			}
			call(t, host, "chant_spec_list", `{}`)
			if _, err := os.Stat(old); err != nil {
				t.Errorf("the temporary file after a call that only reads: %v", err)
			}
			call(t, host, "chant_cancel", `{"id": "q7w"}`)
			if _, err := os.Stat(old); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("the old temporary file: %v", err)
			}
			if _, err := os.Stat(young); errors.Is(err, fs.ErrNotExist) != locks {
				t.Errorf("the young temporary file: %v", err)
			}
		})
	}
}
