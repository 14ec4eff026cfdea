package store

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem"
	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem/faultfs"
)

// paths returns the project in a directory, and the paths of a spec and of its place in the archive.
func paths(root string) (d Dir, from, to string) {
	d = Dir{Root: root}
	return d, d.Spec("a"), filepath.Join(d.Archive(), "day", "a.md")
}

const (
	specA    = ".chant/specs/a.md"
	archived = ".chant/archive/day/a.md"
)

func TestMove(t *testing.T) {
	tests := []struct {
		name   string
		files  map[string]string
		before string
		want   error
		left   map[string]string
	}{
		{"into a new directory", map[string]string{specA: "x"}, "x", nil, map[string]string{archived: "x"}},
		{"an existing file is not replaced", map[string]string{specA: "x", archived: "y"}, "x", fs.ErrExist, map[string]string{specA: "x", archived: "y"}},
		{"an empty file left by an earlier version is replaced", map[string]string{specA: "x", archived: ""}, "x", nil, map[string]string{archived: "x"}},
		{"a copy left by an earlier version", map[string]string{specA: "x", archived: "x"}, "x", nil, map[string]string{archived: "x"}},
		{"a changed file is not moved", map[string]string{specA: "z"}, "x", ErrChanged, map[string]string{specA: "z"}},
		{"a changed file beside an empty one is not moved", map[string]string{specA: "z", archived: ""}, "x", ErrChanged, map[string]string{specA: "z", archived: ""}},
		{"a removed file is not moved", map[string]string{".chant/specs/b.md": "x"}, "x", ErrChanged, map[string]string{".chant/specs/b.md": "x"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			root := testenv.Tree(t, test.files)
			d, from, to := paths(root)
			if err := d.Move(from, to, sumOf([]byte(test.before))); !errors.Is(err, test.want) {
				t.Errorf("got %v, want %v", err, test.want)
			}
			checkTree(t, root, test.left)
			if _, err := os.Lstat(filepath.Join(d.path(), journalDir)); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("the directory of the journal is left: %v", err)
			}
		})
	}
}

func TestMoveThroughSymbolicLinks(t *testing.T) {
	root := testenv.Tree(t, map[string]string{".chant/kept/a.md": "x", ".chant/old/b.md": "y"})
	d, from, to := paths(root)
	if err := errors.Join(os.Symlink("kept", d.specs()), os.Symlink("old", d.Archive())); err != nil {
		t.Fatal(err)
	}
	if err := d.Move(from, to, sumOf([]byte("x"))); err != nil {
		t.Fatal(err)
	}
	checkFile(t, filepath.Join(root, ".chant/old/day/a.md"), "x")
}

// TestInterruptedMove ends the process at each operation. The file is never at both paths, and the next call that writes leaves nothing of
// the interrupted one.
func TestInterruptedMove(t *testing.T) {
	for _, mode := range faultfs.Modes {
		faultfs.Each(filesystem.OS{}, mode, func(f *faultfs.FS) {
			root := testenv.Tree(t, map[string]string{specA: "x"})
			d, from, to := paths(root)
			_ = d.move(from, to, sumOf([]byte("x")), f)
			_, atFrom := os.Lstat(from)
			_, atTo := os.Lstat(to)
			if (atFrom == nil) == (atTo == nil) {
				t.Errorf("the file is at its old path: %v; at the new one: %v", atFrom == nil, atTo == nil)
			}
			if err := d.Recover(time.Hour); err != nil {
				t.Errorf("a recovery while another call may run: %v", err)
			}
			if err := d.Recover(0); err != nil {
				t.Errorf("the recovery: %v", err)
			}
			left := map[string]string{specA: "x"}
			if _, err := os.Lstat(to); err == nil {
				left = map[string]string{archived: "x"}
			}
			checkTree(t, root, left)
			if _, err := os.Lstat(from); err == nil {
				if err := d.Move(from, to, sumOf([]byte("x"))); err != nil {
					t.Errorf("the Move after the interrupted one: %v", err)
				}
			}
			checkTree(t, root, map[string]string{archived: "x"})
			if t.Failed() {
				t.Fatalf("%s, operations %v", mode, f.Operations())
			}
		})
	}
}

func TestMoveKeepsConcurrentChange(t *testing.T) {
	root := testenv.Tree(t, map[string]string{specA: "x"})
	d, from, to := paths(root)
	_ = d.move(from, to, sumOf([]byte("x")), &faultfs.FS{FS: filesystem.OS{}, Before: func(operation, path string) {
		if operation == "rename" && filepath.Base(path) == "a.md" {
			if err := errors.Join(os.Remove(from), os.WriteFile(from, []byte("theirs"), 0o600)); err != nil { // as an editor saves
				t.Error(err)
			}
		}
	}})
	if err := d.Recover(0); err != nil {
		t.Fatal(err)
	}
	checkTree(t, root, map[string]string{archived: "theirs"})
}
