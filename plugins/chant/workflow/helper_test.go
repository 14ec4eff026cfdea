package workflow_test

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
	"github.com/bulkhead-mcp/bulkhead/plugins/chant/store"
	"github.com/bulkhead-mcp/bulkhead/plugins/chant/workflow"
)

// east is a time zone whose date differs from UTC at the time of the tests.
var east = time.FixedZone("east", 10*3600)

// now is 2026-03-02 06:30 in the time zone east, which is 2026-03-01 20:30 UTC.
var now = time.Date(2026, 3, 2, 6, 30, 0, 0, east)

// files maps paths relative to .chant to file contents.
type files map[string]string

// newProject returns a new project with the given files.
func newProject(t *testing.T, content files) *workflow.Project {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	p := &workflow.Project{Dir: store.Dir{Root: root}, Now: now, Random: rand.Reader, Warn: func(string) {}, Debug: func(string) {}}
	if err := os.MkdirAll(filepath.Join(root, ".chant", "specs"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range content {
		put(t, p, name, text)
	}
	return p
}

func put(t *testing.T, p *workflow.Project, name, text string) {
	t.Helper()
	path := filepath.Join(p.Dir.Root, ".chant", name)
	testenv.WriteFile(t, path, text)
}

// get returns the content of a file; "" if the file does not exist.
func get(t *testing.T, p *workflow.Project, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(p.Dir.Root, ".chant", name))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return string(data)
}

// contents returns all files of the project's .chant directory.
func contents(t *testing.T, p *workflow.Project) files {
	t.Helper()
	all := files{}
	root := filepath.Join(p.Dir.Root, ".chant")
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, _ := filepath.Rel(root, path)
		all[filepath.ToSlash(name)] = get(t, p, name)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// spec returns the content of a spec file with the given status, body and further lines of YAML.
func spec(status, body string, lines ...string) string {
	yaml := strings.Join(append([]string{"type: code", "status: " + status}, lines...), "\n")
	return "---\n" + yaml + "\n---\n" + body
}

const openBox = "# T\n\n## Acceptance Criteria\n- [ ] a\n"

// answer returns text if err is nil, and otherwise the text of err with the prefix "! ".
func answer(text string, err error) string {
	if err != nil {
		return "! " + err.Error()
	}
	return text
}

// history is a repository without branches. The strings are commit messages, the newest first.
type history []string

func (history) BranchExists(string) (bool, error)             { return false, nil }
func (history) ReadFile(string, string) ([]byte, bool, error) { return nil, false, nil }
func (h history) FindCommit(text string) (hash string, err error) {
	for _, message := range h {
		if strings.Contains(message, text) {
			return "9f3c2ab", nil
		}
	}
	return "", nil
}

// broken is a repository in which the search for a commit fails.
type broken struct{ history }

func (broken) FindCommit(string) (string, error) { return "", errors.New("object not found") }
