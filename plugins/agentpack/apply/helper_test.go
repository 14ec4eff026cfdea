package apply_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/apply"
	"github.com/bulkhead-mcp/bulkhead/sdk/digest"
)

// TestMain has temporary directories created in memory if the system supports that, because the tests of this package
// create hundreds of them.
func TestMain(m *testing.M) {
	testenv.UseMemory()
	os.Exit(m.Run())
}

// look returns the content and mode of each file below the directory root. The keys are paths.
func look(t testing.TB, root string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || path == root {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		name := strings.TrimPrefix(path, root+"/")
		switch {
		case entry.IsDir():
			found[name+"/"] = ""
		case info.Mode()&fs.ModeSymlink != 0:
			target, err := os.Readlink(path)
			found[name] = "-> " + target
			return err
		default:
			content, err := os.ReadFile(path)
			found[name] = fmt.Sprintf("%o %s", info.Mode().Perm(), content)
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func sum(content string) string { return digest.Hex([]byte(content)) }

// same fails the test unless the files below root equal want.
func same(t testing.TB, root string, want map[string]string) {
	t.Helper()
	if diff := cmp.Diff(want, look(t, root)); diff != "" {
		t.Errorf("files below the root (-want +got): %s", diff)
	}
}

// noJournal fails the test if the journal's directory contains a file.
func noJournal(t testing.TB, a apply.Applier) {
	t.Helper()
	if entries, err := os.ReadDir(a.Dir); err == nil && len(entries) > 0 {
		t.Errorf("files are left in the journal's directory: %v", entries)
	}
}
