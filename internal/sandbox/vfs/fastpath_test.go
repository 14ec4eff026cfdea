//go:build linux || darwin

package vfs_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero/experimental/sys"

	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/internal/seam"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/vfs"
)

// The fast path and the walk must return the same results. A path with a symbolic link, ".." or a hidden name always takes
// the walk, so the test adds ".." to force the walk.
func TestFastPathAgreesWithWalk(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{"w/a/b", "w/hidden/x", "w/nested/deep", "out"} {
		if err := os.MkdirAll(filepath.Join(dir, folder), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{"w/f", "w/a/f", "w/a/b/f", "w/hidden/x/f", "w/secret", "w/a/secret", "w/nested/f", "w/nested/deep/f", "out/f"} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(file), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for name, target := range map[string]string{
		"w/in": "a/b", "w/a/up": "../f", "w/abs": dir + "/w/a/f", "w/out": dir + "/out", "w/outfile": "../out/f",
		"w/loop": "loop", "w/tosecret": "secret", "w/dangling": "none",
	} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	config := vfs.Config{
		Mounts: vfs.MountsAt(t, vfs.Mount{Path: dir + "/w", Write: true}, vfs.Mount{Path: dir + "/w/nested"}),
		Hidden: func(path string, _ bool) bool {
			return strings.HasSuffix(path, "/secret") || strings.HasSuffix(path, "/hidden")
		},
	}
	tree := vfs.New(config)
	var names []string
	first := []string{"f", "a", "in", "abs", "out", "outfile", "loop", "tosecret", "dangling", "hidden", "secret", "nested", "none", ".", ".."}
	second := []string{"", "/", "/f", "/b", "/b/f", "/up", "/secret", "/x/f", "/deep/f", "/none", "/../f", "/./f", "//f"}
	for _, one := range first {
		for _, two := range second {
			names = append(names, "w/"+one+two)
		}
	}
	for _, name := range names {
		below := strings.TrimPrefix(dir, "/") + "/"
		if got, want := inspect(tree, below+name), inspect(tree, below+"w/../"+name); got != want {
			t.Errorf("%s: the fast path returns %s, the walk %s", name, got, want)
		}
	}
	for _, name := range []string{"w/out/f", "w/outfile", "w/../out/f", "out/f"} {
		if got := inspect(tree, strings.TrimPrefix(dir, "/")+"/"+name); strings.Contains(got, "out/f") {
			t.Errorf("%s gives access to a file that is not granted: %s", name, got)
		}
	}
}

// inspect returns the results of all reading operations on a path.
func inspect(tree *vfs.FS, path string) string {
	st, errno := tree.Stat(path)
	said := fmt.Sprintf("stat %d %v %d %v", st.Ino, st.Mode, st.Size, errno)
	st, errno = tree.Lstat(path)
	said += fmt.Sprintf(" lstat %d %v %d %v", st.Ino, st.Mode, st.Size, errno)
	file, errno := tree.OpenFile(path, sys.O_RDONLY, 0)
	if errno != 0 {
		return said + fmt.Sprintf(" open %v", errno)
	}
	defer file.Close()
	content := make([]byte, 100)
	n, errno := file.Read(content)
	return said + fmt.Sprintf(" read %q %v handles %d", content[:max(n, 0)], errno, tree.Handles())
}

func TestFastOpenReturnsStatOfOpenedFile(t *testing.T) {
	w := newWorld(t)
	file, errno := w.fs.OpenFile(w.in("w/dir/b.txt"), sys.O_RDONLY, 0)
	if errno != 0 {
		t.Fatal(errno)
	}
	defer file.Close()
	before, _ := file.Stat()
	if err := os.Rename(w.at("w/dir/b.txt"), w.at("w/dir/gone")); err != nil {
		t.Fatal(err)
	}
	if after, errno := file.Stat(); errno != 0 || after.Ino != before.Ino {
		t.Errorf("%v: inode %d, want %d", errno, after.Ino, before.Ino)
	}
}

func TestFastPathTakesFewerSystemCalls(t *testing.T) {
	defer func() { seam.Before = nil }()
	w := newWorld(t)
	for name, do := range map[string]func(path string) sys.Errno{
		"stat": func(path string) sys.Errno { _, errno := w.fs.Stat(w.in(path)); return errno },
		"open": func(path string) sys.Errno { return opens(path, sys.O_RDONLY)(w) },
	} {
		calls := map[string]int{}
		for _, path := range []string{"w/dir/b.txt", "w/../w/dir/b.txt"} {
			seam.Before = func() { calls[path]++ }
			errno := do(path)
			seam.Before = nil
			if errno != 0 {
				t.Fatal(errno)
			}
		}
		if fast, walk := calls["w/dir/b.txt"], calls["w/../w/dir/b.txt"]; fast == 0 || 2*fast > walk {
			t.Errorf("%s: %d system calls, and %d by the walk", name, fast, walk)
		}
	}
}
