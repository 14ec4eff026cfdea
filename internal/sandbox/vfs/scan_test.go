//go:build linux || darwin

package vfs_test

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/tetratelabs/wazero/experimental/sys"
	wsys "github.com/tetratelabs/wazero/sys"
	"golang.org/x/sys/unix"

	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/beneath"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/internal/seam"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/vfs"
)

// shown is what a scan shows of an entry.
type shown struct {
	Path       string
	Kind       fs.FileMode
	Size, Time int64
	Linked     bool
	Unreadable bool
	Content    string // "-" if the entry has no content
}

func scanned(t testing.TB, tree *vfs.FS, dir string, o vfs.Scan) []shown {
	t.Helper()
	var out []shown
	errno := tree.Scan(dir, o, func(e *vfs.Scanned) bool {
		s := shown{Path: e.Dir + e.Name, Kind: e.Kind, Size: e.Stat.Size, Time: e.Stat.Mtime, Linked: e.Linked, Unreadable: e.Unreadable, Content: "-"}
		if e.IsRegular() {
			if content, err := e.Append(nil); err == nil {
				s.Content = string(content)
			}
		}
		out = append(out, s)
		return true
	})
	if errno != 0 {
		t.Fatalf("scan %s: %v", dir, errno)
	}
	return out
}

// walked returns the entries that a module finds by readdir, stat and open.
func walked(t testing.TB, tree *vfs.FS, dir, rel string, o vfs.Scan) []shown {
	t.Helper()
	var out []shown
	entries, errno := list(tree, path.Join(dir, rel))
	if errno != 0 {
		t.Fatalf("list %s/%s: %v", dir, rel, errno)
	}
	slices.SortFunc(entries, func(a, b sys.Dirent) int { return cmp.Compare(a.Name, b.Name) })
	for _, entry := range entries {
		if !utf8.ValidString(entry.Name) {
			continue
		}
		s := shown{Path: path.Join(rel, entry.Name), Content: "-"}
		at := path.Join(dir, s.Path)
		st, errno := tree.Lstat(at)
		if errno == 0 && st.Mode&fs.ModeSymlink != 0 && o.Follow {
			if target, errno := tree.Stat(at); errno == 0 && (target.Mode.IsDir() || target.Mode.IsRegular()) {
				st, s.Linked = target, true
			}
		}
		s.Kind, s.Size, s.Time = st.Mode.Type(), st.Size, st.Mtim
		if errno != 0 {
			s.Kind, s.Unreadable = entry.Type, true
		}
		if errno == 0 && st.Mode.IsRegular() {
			s.Content = contentOf(tree, at, st)
		}
		enter := errno == 0 && st.Mode.IsDir() && !s.Linked && strings.Count(s.Path, "/")+1 < o.Depth && (o.Enter == nil || o.Enter(entry.Name))
		if enter {
			if _, errno := list(tree, at); errno != 0 {
				s.Unreadable, enter = true, false
			}
		}
		out = append(out, s)
		if enter {
			out = append(out, walked(t, tree, dir, s.Path, o)...)
		}
	}
	return out
}

func list(tree *vfs.FS, dir string) ([]sys.Dirent, sys.Errno) {
	f, errno := tree.OpenFile(dir, sys.O_RDONLY|sys.O_DIRECTORY, 0o600)
	if errno != 0 {
		return nil, errno
	}
	defer f.Close()
	return f.Readdir(-1)
}

func contentOf(tree *vfs.FS, name string, st wsys.Stat_t) string {
	f, errno := tree.OpenFile(name, sys.O_RDONLY, 0o600)
	if errno != 0 {
		return "-"
	}
	defer f.Close()
	buf := make([]byte, st.Size+1)
	n, errno := f.Read(buf)
	if errno != 0 {
		return "-"
	}
	return string(buf[:n])
}

// compareScan checks that a scan shows what a walk shows, and that a scan can be interrupted and resumed after any entry.
func compareScan(t *testing.T, tree *vfs.FS, dir string, o vfs.Scan) {
	t.Helper()
	want := walked(t, tree, dir, "", o)
	got := scanned(t, tree, dir, o)
	if diff := gocmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Fatalf("%s, %+v (-walk +scan):\n%s", dir, o, diff)
	}
	for i := range got {
		o.After = got[i].Path
		if diff := gocmp.Diff(want[i+1:], scanned(t, tree, dir, o), cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("%s, %+v (-walk +scan):\n%s", dir, o, diff)
		}
	}
}

func TestScanShowsWhatReaddirStatAndOpenShow(t *testing.T) {
	hides := func(c *vfs.Config) {
		c.Hidden = func(p string, _ bool) bool { return strings.Contains(p, "/deep") || path.Base(p) == "empty" }
	}
	for name, configure := range map[string][]func(*vfs.Config){"all": nil, "hidden": {hides}} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, configure...)
			w.put("p/later", "->../w")                   // the link is at the path of an absent mount
			w.put("p/deep/er/grant/inner/file.txt", "f") // the file is in a mount below a hidden directory
			w.put("w/\xff", "not UTF-8")
			for _, dir := range []string{"", "w", "p", "p/deep", "p/deep/er/grant", "ro", "w/dirlink", "w/empty/../dir"} {
				if name == "hidden" && dir == "w/empty/../dir" {
					continue
				}
				for depth := 1; depth <= 4; depth++ {
					compareScan(t, w.fs, w.in(dir), vfs.Scan{Depth: depth})
					compareScan(t, w.fs, w.in(dir), vfs.Scan{Depth: depth, Follow: true})
				}
			}
			omitted := 0
			scanned(t, w.fs, w.in("w"), vfs.Scan{Depth: 1, Omit: func() { omitted++ }})
			if omitted != 1 {
				t.Errorf("%d names were reported as left out, want 1", omitted)
			}
			compareScan(t, w.fs, "/", vfs.Scan{Depth: 32, Enter: func(name string) bool { return name != "dir" }})
		})
	}
	w := aliased(t)
	for _, dir := range []string{"", "home", "home/.codex", "home/deep"} {
		compareScan(t, w.fs, w.in(dir), vfs.Scan{Depth: 5, Follow: true})
	}
}

// TestScanOfGeneratedTrees compares trees with random mounts, hidden names and links.
func TestScanOfGeneratedTrees(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(3, seed))
	for range testenv.Count(10, 40, 40) {
		root, err := filepath.EvalSymlinks(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		w := &world{t: t, root: root}
		w.put("g/", "")
		dirs := []string{"g"}
		any := func() string { return dirs[random.IntN(len(dirs))] }
		for i := range 30 {
			name := any() + "/" + []string{"a", "b", "hidden", "z.txt", "B", "ä"}[random.IntN(6)]
			if _, err := os.Lstat(w.at(name)); err == nil {
				continue
			}
			switch random.IntN(5) {
			case 0, 1:
				w.put(name+"/", "")
				dirs = append(dirs, name)
			case 2, 3:
				w.put(name, strings.Repeat("x", random.IntN(100)))
			default:
				w.put(name, []string{"->$/" + any(), "->../a", "->a", "->b/a", "->$/out", "->" + fmt.Sprint(i)}[random.IntN(6)])
			}
		}
		mounts := []vfs.Mount{{Path: w.at("g"), Write: true}}
		for range random.IntN(4) {
			m := vfs.Mount{Path: w.at(any()), Write: random.IntN(2) == 0}
			if random.IntN(3) == 0 {
				m.Path += "/absent/deeper"
			}
			if random.IntN(3) == 0 {
				m.Aliases = []string{w.at(any() + "/alias"), w.at("elsewhere/" + fmt.Sprint(random.IntN(9)))}
			}
			if !slices.ContainsFunc(mounts, func(o vfs.Mount) bool { return o.Path == m.Path }) {
				mounts = append(mounts, m)
			}
		}
		tree := vfs.New(vfs.Config{Mounts: vfs.MountsAt(t, mounts...), Hidden: func(p string, _ bool) bool {
			return strings.HasPrefix(p, w.at("g")+"/") && strings.Contains(p[len(w.at("g")):], "/hidden") &&
				!slices.ContainsFunc(mounts[1:], func(m vfs.Mount) bool { return p == m.Path || strings.HasPrefix(p, m.Path+"/") })
		}})
		for _, follow := range []bool{false, true} {
			compareScan(t, tree, w.in(""), vfs.Scan{Depth: 12, Follow: follow})
			compareScan(t, tree, w.in("g"), vfs.Scan{Depth: 12, Follow: follow})
		}
	}
}

func TestScanRefusesPathsAsOpenDoes(t *testing.T) {
	w := newWorld(t)
	for _, dir := range []string{"out", "w/dir-out", "w/a.txt", "w/none", "w/loop", "w/a.txt/", "workshop", "absent", "p/evil", "w/rel-out"} {
		_, want := list(w.fs, w.in(dir))
		if got := w.fs.Scan(w.in(dir), vfs.Scan{Depth: 1}, func(*vfs.Scanned) bool { return true }); got == 0 || got != want {
			t.Errorf("%s: got %v, want %v", dir, got, want)
		}
	}
}

// The test changes a file, or replaces it by a link, at every point between two system calls of a scan.
func TestScanReadsOnlyTheFileThatItDescribes(t *testing.T) {
	defer func() { seam.Before = nil }()
	for name, change := range map[string]func(w *world){
		"a link out":   func(w *world) { os.Remove(w.at("w/dir/b.txt")); w.put("w/dir/b.txt", "->$/out/canary.txt") },
		"a hard link":  func(w *world) { os.Remove(w.at("w/dir/b.txt")); os.Link(w.at("ro/r.txt"), w.at("w/dir/b.txt")) },
		"a FIFO":       func(w *world) { os.Remove(w.at("w/dir/b.txt")); mkfifo(w.at("w/dir/b.txt")) },
		"a directory":  func(w *world) { os.Remove(w.at("w/dir/b.txt")); w.put("w/dir/b.txt/canary.txt", canary) },
		"removed":      func(w *world) { os.Remove(w.at("w/dir/b.txt")) },
		"longer":       func(w *world) { w.put("w/dir/b.txt", "b2") },
		"its parent":   func(w *world) { os.Rename(w.at("w/dir"), w.at("w/moved")); w.put("w/dir", "->$/out") },
		"its parent 2": func(w *world) { os.Rename(w.at("w/dir"), w.at("moved")); w.put("w/dir", "->$/out") },
	} {
		t.Run(name, func(t *testing.T) {
			for at, reached := 0, true; reached; at++ {
				w := newWorld(t)
				calls := 0
				seam.Before = func() {
					if calls++; calls == at+1 {
						change(w)
					}
				}
				w.fs.Scan(w.in("w/dir"), vfs.Scan{Depth: 2, Follow: true}, func(e *vfs.Scanned) bool {
					if e.Name == "canary.txt" && e.Dir == "" {
						t.Errorf("change before system call %d: a directory outside was listed", at)
					}
					if !e.IsRegular() {
						return true
					}
					content, err := e.Append(nil)
					if err == nil && (e.Stat.Size != int64(len(content)) || string(content) == canary && e.Dir == "") {
						t.Errorf("change before system call %d: got the content %q for a file described with size %d", at, content, e.Stat.Size)
					}
					if err != nil && !vfs.IsChanged(err) && !errors.Is(err, beneath.ErrEscapes) {
						t.Errorf("change before system call %d: got the error %v, want one that reports the change", at, err)
					}
					return true
				})
				seam.Before = nil
				reached = calls > at
			}
		})
	}
}

func mkfifo(name string) { _ = unix.Mkfifo(name, 0o600) }
