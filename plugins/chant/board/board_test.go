package board

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
	"github.com/bulkhead-mcp/bulkhead/plugins/chant/spec"
	"github.com/bulkhead-mcp/bulkhead/plugins/chant/store"
)

const today = "2026-03-01"

// files holds the contents of files. Each key is a path without .md: relative to .chant if the path begins with
// archive/, otherwise relative to .chant/specs.
type files map[string]string

// file returns the content of a spec file with the given status and the given further lines of YAML.
func file(status string, lines ...string) string {
	return "---\nstatus: " + status + "\n" + strings.Join(append(lines, "---", "# T", ""), "\n")
}

// withBody returns the content of a spec file with the given status and body.
func withBody(status, body string) string { return "---\nstatus: " + status + "\n---\n" + body }

func after(ids ...string) string { return "depends_on: [" + strings.Join(ids, ", ") + "]" }

func write(t *testing.T, root string, content files) {
	t.Helper()
	if err := os.MkdirAll(filepath.Join(root, ".chant", "specs"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range content {
		path := filepath.Join(root, ".chant", "specs", name+".md")
		if strings.HasPrefix(name, "archive/") {
			path = filepath.Join(root, ".chant", name+".md")
		}
		testenv.WriteFile(t, path, text)
	}
}

func mustLoad(t *testing.T, root string, git Git) *Board {
	t.Helper()
	board, err := Load(store.Dir{Root: root}, git)
	if err != nil {
		t.Fatal(err)
	}
	return board
}

func TestLoadReportsFilesThatCannotBeLoaded(t *testing.T) {
	root := t.TempDir()
	write(t, root, files{
		"good": file("pending"), "a-status": file("done"), "a-twice": file("pending", "labels: a", "labels: b"),
		"bytes": "\xff", "broken": "---\na: [\n---\n", "sub/good": file("failed"),
	})
	huge := filepath.Join(root, ".chant", "specs", "huge.md")
	if err := os.WriteFile(huge, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(huge, 50<<20); err != nil {
		t.Fatal(err)
	}
	board := mustLoad(t, root, nil)
	t.Run("they are not on the board", func(t *testing.T) {
		if diff := cmp.Diff([]string{"good pending*"}, statuses(board)); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
	})
	t.Run("each has its path, line and reason", func(t *testing.T) {
		var got []string
		for _, failed := range board.Errors {
			got = append(got, failed.Error())
		}
		want := []string{
			`.chant/specs/a-status.md:2: unknown status "done"`,
			`.chant/specs/a-twice.md:4: duplicate key "labels"`,
			`.chant/specs/broken.md:3: invalid YAML: did not find expected node content`,
			`.chant/specs/bytes.md:1: not valid UTF-8`,
			`.chant/specs/huge.md: larger than 4 MiB`,
			`.chant/specs/sub/good.md: duplicate id: already used by .chant/specs/good.md`,
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
	})
	t.Run("Find with the full id returns the reason", func(t *testing.T) {
		var failed *spec.LoadError
		if _, err := board.Find("huge", today); !errors.As(err, &failed) || failed.Reason != "larger than 4 MiB" {
			t.Errorf("got %v", err)
		}
		if _, err := board.Find("hug", today); !errors.As(err, &failed) || failed.Reason != "larger than 4 MiB" {
			t.Errorf("Find by the abbreviated id of a file above a limit: got the error %v", err)
		}
		if _, err := board.Find("byte", today); err == nil || err.Error() != "Spec not found: byte" {
			t.Errorf("Find by the abbreviated id of an invalid file: got the error %v", err)
		}
		if entry, err := board.Find("good", today); err != nil || entry.ID != "good" {
			t.Errorf("Find by an id that two files have: got %v, %v", entry, err)
		}
	})
}

func TestLoadRefusesSymbolicLinkToOutside(t *testing.T) {
	root := t.TempDir()
	write(t, root, files{"good": file("pending")})
	secret := filepath.Join(root, "secret.md")
	if err := os.WriteFile(secret, []byte("# Secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(secret, filepath.Join(root, ".chant", "specs", "out.md")); err != nil {
		t.Skipf("symbolic links are not supported: %v", err)
	}
	board := mustLoad(t, root, nil)
	if diff := cmp.Diff([]string{"good pending*"}, statuses(board)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if _, err := board.Find("out", today); err == nil || err.Error() != ".chant/specs/out.md: is a symbolic link that points outside the project's .chant directory" {
		t.Errorf("got %v", err)
	}
}

func TestLoadReportsUnreadableArchive(t *testing.T) {
	root := t.TempDir()
	write(t, root, files{"a": file("pending", after("old")), "b": file("pending")})
	if err := os.Symlink(root, filepath.Join(root, ".chant", "archive")); err != nil {
		t.Skipf("symbolic links are not supported: %v", err)
	}
	board := mustLoad(t, root, nil)
	if diff := cmp.Diff([]string{"a blocked", "b pending*"}, statuses(board)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if len(board.Errors) != 1 || board.Errors[0].Path != ".chant/archive" {
		t.Errorf("got errors %v, want one of the archive", board.Errors)
	}
}

func TestEmptyFileInArchiveMeetsNoDependency(t *testing.T) {
	root := t.TempDir()
	write(t, root, files{"archive/2026-02-03/old": "", "a": file("pending", after("old"))})
	if diff := cmp.Diff([]string{"a blocked"}, statuses(mustLoad(t, root, nil))); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	write(t, root, files{"archive/old": file("completed")})
	if diff := cmp.Diff([]string{"a pending*"}, statuses(mustLoad(t, root, nil))); diff != "" {
		t.Errorf("with another file that is not empty (-want +got)\n%s", diff)
	}
}

func TestLoadEnforcesLimits(t *testing.T) {
	root := t.TempDir()
	write(t, root, files{"a": file("pending"), "b": file("pending"), "c": file("pending")})
	for name, test := range map[string]struct {
		limits limits
		want   string
	}{
		"too many specs": {limits{specs: 2, bytes: 1 << 20}, "more than 2 specs"},
		"too many bytes": {limits{specs: 10, bytes: 2*summarySize + 100}, "too large to load"},
	} {
		t.Run(name, func(t *testing.T) {
			board, err := load(store.Dir{Root: root}, nil, test.limits)
			if err != nil {
				t.Fatal(err)
			}
			if len(board.Entries) != 2 || len(board.Errors) != 1 || !strings.Contains(board.Errors[0].Reason, test.want) {
				t.Errorf("the board has %d entries and the errors %v", len(board.Entries), board.Errors)
			}
		})
	}
}

func TestFind(t *testing.T) {
	t.Run("an archived spec is not found", func(t *testing.T) {
		root := t.TempDir()
		write(t, root, files{"archive/2026-02-03/2026-02-03-001-2mk": file("completed")})
		for _, text := range []string{"2026-02-03-001-2mk", "2mk"} {
			if _, err := mustLoad(t, root, nil).Find(text, today); err == nil || err.Error() != "Spec not found: "+text {
				t.Errorf("%s: got %v", text, err)
			}
		}
	})
	t.Run("an active spec is found beside an archived one", func(t *testing.T) {
		root := t.TempDir()
		write(t, root, files{"archive/2026-02-03/2026-02-03-001-2mk": file("completed"), "2026-02-09-004-2mk": file("pending")})
		entry, err := mustLoad(t, root, nil).Find("2mk", today)
		if err != nil || entry.ID != "2026-02-09-004-2mk" {
			t.Errorf("got %v, %v", entry, err)
		}
	})
}

// branches is a Git repository in memory: branch names map to paths, and paths map to file contents.
type branches map[string]map[string]string

func (b branches) BranchExists(branch string) (bool, error) {
	if branch == "broken" {
		return false, errors.New("no such object")
	}
	return b[branch] != nil, nil
}

func (b branches) ReadFile(branch, path string) ([]byte, bool, error) {
	content, found := b[branch][path]
	return []byte(content), found, nil
}

func TestBranchView(t *testing.T) {
	onBranch := func(status string) string { return withBody(status, "# On the branch") }
	tests := []struct {
		name string
		file string
		git  branches
		want string // the status and the title of the expected spec
	}{
		{"a pending spec is taken from its file", file("pending"), branches{"chant/a": {".chant/specs/a.md": onBranch("failed")}}, "pending T"},
		{"a spec in progress is taken from its branch", file("in_progress"), branches{"chant/a": {".chant/specs/a.md": onBranch("completed")}}, "completed On the branch"},
		{"the branch key names the branch", file("in_progress", "branch: feature/x"), branches{"feature/x": {".chant/specs/a.md": onBranch("in_progress")}, "chant/a": {}}, "in_progress On the branch"},
		{"without that branch it is taken from its file", file("in_progress"), branches{"main": {".chant/specs/a.md": onBranch("failed")}}, "in_progress T"},
		{"not on the branch: from its file", file("in_progress"), branches{"chant/a": {}}, "in_progress T"},
		{"the branch's version cannot be loaded: from its file", file("in_progress"), branches{"chant/a": {".chant/specs/a.md": file("done")}}, "in_progress T"},
		{"a Git error: from its file", file("in_progress", "branch: broken"), branches{}, "in_progress T"},
		{"the branch's version is blocked by its own dependencies", file("in_progress"), branches{"chant/a": {".chant/specs/a.md": file("pending", after("nowhere"))}}, "blocked T"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			root := t.TempDir()
			write(t, root, files{"a": test.file})
			entry := mustLoad(t, root, test.git).Entries[0]
			if got := fmt.Sprintf("%s %s", entry.Status, *entry.Title()); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func ExampleLoad() {
	root, _ := os.MkdirTemp("", "chant")
	defer os.RemoveAll(root)
	specs := filepath.Join(root, ".chant", "specs")
	os.MkdirAll(specs, 0o755)
	os.WriteFile(filepath.Join(specs, "2026-03-01-001-a1b.md"), []byte("# Store keys"), 0o600)
	os.WriteFile(filepath.Join(specs, "2026-03-01-002-k4z.md"), []byte("---\ndepends_on: [2026-03-01-001-a1b]\n---\n# Rotate keys"), 0o600)

	board, _ := Load(store.Dir{Root: root}, nil)
	for _, entry := range board.Entries {
		fmt.Println(entry.ID, entry.Status, board.Ready(entry))
	}
	// Output:
	// 2026-03-01-001-a1b pending true
	// 2026-03-01-002-k4z blocked false
}

// In the order of specs, a directory comes before the files beside it whose names begin with the directory's name. A
// symbolic link is ordered by its own path, not by the path of its target.
func TestFirstListedFileOfAnIDIsLoaded(t *testing.T) {
	root := t.TempDir()
	write(t, root, files{"sub/a": file("failed"), "sub-d/a": file("completed"), "z/target": file("failed"), "c/b": file("completed")})
	if err := os.Symlink("target.md", filepath.Join(root, ".chant", "specs", "z", "b.md")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("z/target.md", filepath.Join(root, ".chant", "specs", "b.md")); err != nil {
		t.Fatal(err)
	}
	board := mustLoad(t, root, nil)
	if diff := cmp.Diff([]string{"a failed", "b failed", "target failed"}, statuses(board)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
