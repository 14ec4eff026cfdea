//go:build unix

package store

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
	"github.com/bulkhead-mcp/bulkhead/sdk/derive"

	"github.com/google/go-cmp/cmp"
)

func TestSpecs(t *testing.T) {
	root := testenv.Tree(t, map[string]string{
		".chant/specs/b.md": "", ".chant/specs/a.md": "", ".chant/specs/sub/c.md": "", ".chant/specs/notes.txt": "",
		".chant/specs/a.md.tmp": "", ".chant/specs/.md": "", ".chant/specs/...md": "", ".chant/kept.md": "",
		"outside.md": "", "dir/d.md": "",
	})
	specs := filepath.Join(root, ".chant", "specs")
	symlink(t, filepath.Join(root, "outside.md"), filepath.Join(specs, "out.md"))
	symlink(t, filepath.Join("..", "kept.md"), filepath.Join(specs, "in.md"))
	symlink(t, "/unseen/file", filepath.Join(specs, "unseen.md"))
	symlink(t, "nowhere", filepath.Join(specs, "dangling.md"))
	symlink(t, filepath.Join(root, "dir"), filepath.Join(specs, "linked"))
	if err := syscall.Mkfifo(filepath.Join(specs, "pipe.md"), 0o600); err != nil {
		t.Logf("named pipes are not supported: %v", err)
	}
	got := map[string]string{}
	for file, err := range Specs(Dir{Root: root}, sizes) {
		if err != nil {
			t.Fatal(err)
		}
		if file.Err == nil && !file.Link && file.Value == nil {
			t.Errorf("%s: got no value", file.Path)
		}
		state := filepath.Base(file.Path)
		if file.Err != nil {
			state, _, _ = strings.Cut(file.Err.Error(), ":")
		}
		got[file.ID] = state
	}
	want := map[string]string{
		"a": "a.md", "b": "b.md", "c": "c.md", "in": "kept.md",
		"..": "the file name has no id", "pipe": "not a regular file", "dangling": "is a symbolic link that cannot be resolved",
		"out": "is a symbolic link that points outside the project's .chant directory", "unseen": "is a symbolic link that points outside the project's .chant directory",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestSpecsNamesDirectoriesThatAreTooDeep(t *testing.T) {
	listed := strings.Repeat("d/", maxDepth-1)
	root := testenv.Tree(t, map[string]string{".chant/specs/" + listed + "a.md": "", ".chant/specs/" + listed + "d/b.md": ""})
	got := map[string]error{}
	for file, err := range Specs(Dir{Root: root}, sizes) {
		if err != nil {
			t.Fatal(err)
		}
		got[strings.TrimPrefix(file.Path, root+"/.chant/specs/")] = file.Err
	}
	if err, named := got[listed+"d"]; len(got) != 2 || got[listed+"a.md"] != nil || !named || err == nil {
		t.Errorf("got %v", got)
	}
}

// sizes computes the size of a file as the value that depends on its content.
var sizes = derive.New(func(content []byte) size { return size{len(content)} })

type size struct{ bytes int }

func (s *size) Fields(c *derive.Codec) { c.Int(&s.bytes) }

func TestRead(t *testing.T) {
	root := testenv.Tree(t, map[string]string{"small": "hello", "empty": "", "full": strings.Repeat("x", 100), "dir/": ""})
	for name, want := range map[string]string{"small": "hello", "empty": "", "full": strings.Repeat("x", 100)} {
		if got, sum, err := Read(filepath.Join(root, name), 100); err != nil || got != want || sum != sumOf([]byte(want)) {
			t.Errorf("%s: got %q, %v", name, got, err)
		}
	}
	var large *TooLargeError
	if _, _, err := Read(filepath.Join(root, "full"), 99); !errors.As(err, &large) {
		t.Errorf("Read of a file that is too large: got the error %v", err)
	}
	if _, _, err := Read(filepath.Join(root, "dir"), 99); err == nil {
		t.Error("Read accepts a directory")
	}
}

func TestReadRefusesHugeFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "huge")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, 1<<40); err != nil {
		t.Skipf("sparse files are not supported: %v", err)
	}
	var large *TooLargeError
	if _, _, err := Read(path, 8<<20); !errors.As(err, &large) {
		t.Errorf("got %v", err)
	}
}

func TestArchived(t *testing.T) {
	root := testenv.Tree(t, map[string]string{
		".chant/archive/flat.md": "x", ".chant/archive/2026-01-27/grouped.md": "x",
		".chant/archive/a/b/nested.md": "x", ".chant/archive/notes.txt": "x",
		".chant/archive/a/interrupted.md": "", ".chant/archive/a/again.md": "", ".chant/archive/b/again.md": "x",
	})
	got, err := Dir{Root: root}.Archived()
	if err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string]bool{
		"flat": true, "grouped": true, "again": true, "interrupted": false, "nested": false, "notes": false, "notes.txt": false,
	} {
		if got.Has(id) != want {
			t.Errorf("%s: got %t, want %t", id, !want, want)
		}
	}
	if got, err := (Dir{Root: t.TempDir()}).Archived(); err != nil || len(got) != 0 {
		t.Errorf("Archived without an archive directory: got %v, %v", got, err)
	}
}
