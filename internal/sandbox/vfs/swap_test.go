//go:build linux || darwin

package vfs_test

import (
	"bytes"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/tetratelabs/wazero/experimental/sys"

	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/internal/seam"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/vfs"
)

// swapVariable passes the directory to a copy of the test that swaps files in it, as a second process.
const swapVariable = "BULKHEAD_TEST_SWAP"

// Another process replaces directories by symbolic links out of the grants, moves them into and out of each other, and
// restores them, between any two system calls of the tree. Nothing outside may be read, written, created, moved or removed.
func TestSwapsByOtherProcessDoNotEscape(t *testing.T) {
	if root := os.Getenv(swapVariable); root != "" {
		swapForever(root)
	}
	w, before := swapWorld(t)
	swapper := exec.Command(os.Args[0], "-test.run=^TestSwapsByOtherProcessDoNotEscape$")
	swapper.Env = append(os.Environ(), swapVariable+"="+w.root)
	stop, err := swapper.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := swapper.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = swapper.Process.Kill() }()
	tree := swapTree(t, w)
	random := rand.New(rand.NewPCG(1, uint64(time.Now().UnixNano())))
	done := 0
	for end := time.Now().Add(time.Duration(testenv.Count(500, 2000, 2000)) * time.Millisecond); time.Now().Before(end) || done < 200; {
		if anyOperation(t, w, tree, random) {
			done++
		}
	}
	_ = stop.Close()
	if err := swapper.Wait(); err != nil {
		t.Fatal(err)
	}
	unharmed(t, w, before)
}

// The test performs a single swap at each point between two system calls of an operation.
func TestSwapsBetweenSystemCallsDoNotEscape(t *testing.T) {
	w, before := swapWorld(t)
	tree := swapTree(t, w)
	seed := uint64(time.Now().UnixNano())
	random := rand.New(rand.NewPCG(2, seed))
	defer func() {
		seam.Before = nil
		if t.Failed() {
			t.Logf("seed %d", seed)
		}
	}()
	swapped, done := 0, 0
	rounds := testenv.Count(1000, 8000, 20_000)
	for range rounds {
		var undo func()
		swap, at := swaps[random.IntN(len(swaps))], random.IntN(24)
		seam.Before = func() {
			if at--; at == -1 {
				undo = swap(w)
			}
		}
		if anyOperation(t, w, tree, random) {
			done++
		}
		seam.Before = nil
		if undo != nil {
			undo()
			swapped++
		}
	}
	if swapped < rounds/4 || done < rounds/40 {
		t.Errorf("only %d swaps and %d operations of %d succeeded", swapped, done, rounds)
	}
	unharmed(t, w, before)
}

// swaps are functions that replace a file that an operation may be using, and return a function that restores the file.
var swaps = []func(w *world) (undo func()){
	replaced("w/s", "w/x", "$/out"), replaced("w/s", "w/x", "../out"), replaced("w/s", "w/x", ".git"),
	replaced("w/s/d", "w/y", "$/out/d"), replaced("w/s/d", "w/y", "../../out/d"), replaced("w/s/d", "w/y", "../.git/d"),
	replaced("w/s/d", "w/s/y", "e"), replaced("w/s/d/e", "w/z", "$/out/d/e"), replaced("w/s/d/e", "y", ""),
	replaced("w/s/d/f.txt", "w/z", "$/out/f.txt"), replaced("w/s/d/f.txt", "w/z", "../../.git/d/f.txt"),
	replaced("w/s/made-a", "w/z", "$/out"), replaced("w/s/d/made-a", "w/z", "$/out/d"), replaced("w/s/d/made-b", "w/z", "../../out/f.txt"),
}

// replaced renames a file and, unless target is empty, creates a symbolic link to target at the old name.
func replaced(name, away, target string) func(w *world) func() {
	return func(w *world) func() {
		if os.Rename(w.at(name), w.at(away)) != nil {
			return func() {}
		}
		if target != "" {
			_ = os.Symlink(strings.ReplaceAll(target, "$", w.root), w.at(name))
		}
		return func() {
			if target != "" {
				_ = os.Remove(w.at(name))
			}
			_ = os.Rename(w.at(away), w.at(name))
		}
	}
}

// swapWorld creates the same files in writable and protected directories, and returns a snapshot of the protected ones.
func swapWorld(t *testing.T) (*world, []map[string]string) {
	t.Helper()
	w := newWorld(t)
	for name, content := range map[string]string{"w/s": "inside", "out": canary, "w/.git": "hook"} {
		for _, file := range []string{"/d/e/f.txt", "/d/f.txt", "/f.txt"} {
			w.put(name+file, content)
		}
	}
	return w, mayNotChange(t, w)
}

func swapTree(t *testing.T, w *world) *vfs.FS {
	t.Helper()
	return vfs.New(vfs.Config{Mounts: vfs.MountsAt(t, vfs.Mount{Path: w.at("w"), Write: true}, vfs.Mount{Path: w.at("ro")})})
}

func mayNotChange(t *testing.T, w *world) []map[string]string {
	t.Helper()
	return append(protected(t, w), snapshot(t, w.at("w/.git")))
}

func unharmed(t *testing.T, w *world, before []map[string]string) {
	t.Helper()
	if diff := cmp.Diff(before, mayNotChange(t, w)); diff != "" {
		t.Errorf("a file that no operation may write has changed (-before +after):\n%s", diff)
	}
	noLinkLeadsOut(t, w)
}

// made is the prefix of all names that operations of the tree create. Names that the other process creates do not have the prefix.
const made = "made-"

// anyOperation performs a random operation and reports whether it succeeded.
func anyOperation(t *testing.T, w *world, tree *vfs.FS, random *rand.Rand) bool {
	t.Helper()
	dirs := []string{"w/s", "w/s/d", "w/s/d/e", "w/x", "w/x/d", "w/s/d/e/../d"}
	dir := func() string { return w.in(dirs[random.IntN(len(dirs))]) }
	fresh := func() string { return dir() + "/" + made + string(rune('a'+random.IntN(4))) }
	switch random.IntN(12) {
	case 0:
		return tree.Mkdir(fresh(), 0) == 0
	case 1:
		return tree.Rename(fresh(), fresh()) == 0
	case 2:
		return tree.Link(dir()+"/f.txt", fresh()) == 0
	case 3:
		return tree.Symlink([]string{"f.txt", "../f.txt", "../../f.txt", "d/../f.txt"}[random.IntN(4)], fresh()) == 0
	case 4:
		return tree.Unlink(fresh()) == 0
	case 5:
		return tree.Rmdir(fresh()) == 0
	case 6:
		return tree.Chmod(dir()+"/f.txt", 0o600) == 0
	case 7:
		return tree.Utimens(dir()+"/f.txt", 1, 2) == 0
	case 8:
		file, errno := tree.OpenFile(dir(), sys.O_RDONLY, 0o600)
		if errno != 0 {
			return false
		}
		defer file.Close()
		entries, _ := file.Readdir(-1)
		for _, e := range entries {
			if e.Name == "canary.txt" {
				t.Fatal("a directory outside was listed")
			}
		}
		return len(entries) > 0
	case 9, 10:
		return scansInside(t, tree, dir(), random)
	}
	flag := []sys.Oflag{sys.O_RDONLY, sys.O_RDWR, sys.O_WRONLY | sys.O_CREAT | sys.O_TRUNC}[random.IntN(3)]
	name := dir() + "/f.txt"
	if flag&sys.O_CREAT != 0 {
		name = fresh()
	}
	file, errno := tree.OpenFile(name, flag, 0o600)
	if errno != 0 {
		return false
	}
	defer file.Close()
	buf := make([]byte, 256)
	n, _ := file.Pread(buf, 0)
	if bytes.Contains(buf[:n], []byte(canary)) {
		t.Fatal("a file outside was read")
	}
	if flag != sys.O_RDONLY {
		file.Write([]byte("changed"))
	}
	return true
}

// scansInside scans a directory and reports whether that succeeded.
func scansInside(t *testing.T, tree *vfs.FS, dir string, random *rand.Rand) bool {
	t.Helper()
	var buf []byte
	errno := tree.Scan(dir, vfs.Scan{Depth: 4, Follow: random.IntN(2) == 0}, func(e *vfs.Scanned) bool {
		if e.Name == "canary.txt" {
			t.Fatal("a directory outside was listed")
		}
		for try := 0; e.IsRegular() && try < 2; try++ {
			var err error
			if buf, err = e.Append(buf[:0]); bytes.Contains(buf, []byte(canary)) {
				t.Fatal("a file outside was read")
			}
			if err != nil {
				e.Refresh()
			}
		}
		return true
	})
	return errno == 0
}

// noLinkLeadsOut checks that no created symbolic link, at its final path, resolves to a path outside of the grants.
func noLinkLeadsOut(t *testing.T, w *world) {
	t.Helper()
	err := filepath.WalkDir(w.at("w"), func(p string, e fs.DirEntry, err error) error {
		if err != nil || e.Type()&fs.ModeSymlink == 0 || !strings.HasPrefix(e.Name(), made) {
			return err
		}
		target, err := os.Readlink(p)
		if leads := filepath.Join(filepath.Dir(p), target); !strings.HasPrefix(leads, w.at("w")+"/") {
			t.Errorf("the symbolic link %s with the target %s resolves to %s, outside of the grants", p, target, leads)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// swapForever is the second process. When its standard input is closed it restores all files and exits.
func swapForever(root string) {
	w, out := root+"/w", root+"/out"
	var ended atomic.Bool
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		ended.Store(true)
	}()
	for !ended.Load() {
		for _, target := range []string{out, "../out", ".git"} {
			_ = os.Rename(w+"/s", w+"/x")
			_ = os.Symlink(target, w+"/s")
			_ = os.Remove(w + "/s")
			_ = os.Rename(w+"/x", w+"/s")
			_ = os.Rename(w+"/s/d", w+"/y")
			_ = os.Symlink(strings.Replace(target, "../out", "../../out", 1)+"/d", w+"/s/d")
			_ = os.Remove(w + "/s/d")
			_ = os.Rename(w+"/y", w+"/s/d")
			_ = os.Rename(w+"/s/d/f.txt", w+"/z")
			_ = os.Symlink(out+"/f.txt", w+"/s/d/f.txt")
			_ = os.Remove(w + "/s/d/f.txt")
			_ = os.Rename(w+"/z", w+"/s/d/f.txt")
		}
	}
	os.Exit(0)
}

// A second plugin, in another process, acts between two system calls of an operation. Each plugin uses only its own grants.
// Together, they must not create a symbolic link out of the grants.
func TestTwoPluginsCannotCreateEscapingLink(t *testing.T) {
	link := func(target, name string) func(w *world) { return func(w *world) { w.put(name, "->"+target) } }
	move := func(from, to, unless string) func(w *world) {
		return func(w *world) {
			// The other plugin cannot move a directory that already contains the link.
			if _, err := os.Lstat(w.at(unless)); err != nil {
				_ = os.Rename(w.at(from), w.at(to))
			}
		}
	}
	for name, c := range map[string]struct {
		before func(w *world)
		do     change
		other  func(w *world)
	}{
		"a link is made in a directory that moves": {func(*world) {}, symlinks("../../f.txt", "w/s/d/made-l"), move("w/s/d", "w/moved", "w/s/d/made-l")},
		"a link is moved into one": {link("../../f.txt", "w/s/d/made-l"), renames("w/s/d/made-l", "w/s/d/e/made-l"),
			move("w/s/d/e", "w/moved", "w/s/d/e/made-l")},
		"a file becomes a link as it is moved": {func(*world) {}, renames("w/s/d/f.txt", "w/s/made-l"), func(w *world) {
			if os.Remove(w.at("w/s/d/f.txt")) == nil {
				w.put("w/s/d/f.txt", "->../../f.txt")
			}
		}},
		"a file becomes a link as it is hard-linked": {func(*world) {}, links("w/s/d/f.txt", "w/s/made-l"), func(w *world) {
			if os.Remove(w.at("w/s/d/f.txt")) == nil {
				w.put("w/s/d/f.txt", "->../../f.txt")
			}
		}},
		"a link comes to a directory as it is moved": {func(*world) {}, renames("w/s/d/e", "w/e"), func(w *world) {
			if _, err := os.Lstat(w.at("w/s/d/e")); err == nil {
				w.put("w/s/d/e/made-l", "->../../../f.txt")
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			defer func() { seam.Before = nil }()
			for at, reached := 0, true; reached; at++ {
				w, _ := swapWorld(t)
				w.fs = swapTree(t, w)
				c.before(w)
				calls := 0
				seam.Before = func() {
					if calls++; calls == at+1 {
						c.other(w)
					}
				}
				c.do(w)
				seam.Before = nil
				reached = calls > at
				noLinkLeadsOut(t, w)
			}
		})
	}
}
