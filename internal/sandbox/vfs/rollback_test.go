//go:build linux || darwin

package vfs

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/tetratelabs/wazero/experimental/sys"
)

// placeAt resolves a path in a tree of one writable directory.
func placeAt(t *testing.T, root, name string) *place {
	t.Helper()
	p, err := New(Config{Mounts: MountsAt(t, Mount{Path: root, Write: true})}).resolve(filepath.Join(root, name), walkMode{write: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.close)
	return p
}

func TestMoveBackKeepsReusedName(t *testing.T) {
	root := t.TempDir()
	for _, name := range []string{"old", "new"} {
		if err := os.WriteFile(filepath.Join(root, name), []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	src, dst := placeAt(t, root, "old"), placeAt(t, root, "new")
	if err := moveBack(src, dst); err != sys.EEXIST {
		t.Errorf("got %v, want EEXIST", err)
	}
	if content, err := os.ReadFile(filepath.Join(root, "old")); string(content) != "old" {
		t.Errorf("the file that reused the name contains %q, %v", content, err)
	}
	if err := os.Remove(filepath.Join(root, "old")); err != nil {
		t.Fatal(err)
	}
	if err := moveBack(src, dst); err != nil {
		t.Error(err)
	}
	if content, err := os.ReadFile(filepath.Join(root, "old")); string(content) != "new" {
		t.Errorf("the file that was moved back contains %q, %v", content, err)
	}
}

// A part that completes a git directory, since another process made the other parts meanwhile, is removed again.
func TestPartOfGitDirectoryIsRolledBack(t *testing.T) {
	failed := errors.New("failed")
	for name, undone := range map[string]error{"removed": nil, "not removed": failed} {
		root := t.TempDir()
		undos := 0
		err := placeAt(t, root, "refs").create(func() error {
			for _, part := range []string{"HEAD", "objects", "refs"} {
				if err := os.Mkdir(filepath.Join(root, part), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			return nil
		}, func() error { undos++; return undone })
		if undone == nil {
			undone = errGitDirectory
		}
		if r, ok := errors.AsType[refusal](err); undos != 1 || err != undone && (!ok || r.why != undone) {
			t.Errorf("%s: got %v after %d roll backs", name, err, undos)
		}
	}
}

func TestMountIsCreatedOnce(t *testing.T) {
	dir := t.TempDir()
	m := &mount{Mount: Mount{Create: func(context.Context) (*os.File, error) { return os.Open(dir) }}}
	if err := m.create(t.Context()); err != nil {
		t.Error(err)
	}
	if err := m.create(t.Context()); !errors.Is(err, fs.ErrExist) {
		t.Errorf("again: got %v", err)
	}
}
