package atomicfile_test

import (
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/sdk/atomicfile"
	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem"
	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem/faultfs"
	"github.com/bulkhead-mcp/bulkhead/sdk/internal/memfs"
)

var members = []atomicfile.Member{{Name: "one", Parts: [][]byte{[]byte("1"), []byte("1")}}, {Name: "two", Parts: [][]byte{[]byte("2")}}}

// nested are members in subdirectories.
var nested = []atomicfile.Member{{Name: "one", Parts: [][]byte{[]byte("11")}}, {Name: "sub/deep/x", Parts: [][]byte{[]byte("3")}}, {Name: "two", Parts: [][]byte{[]byte("2")}},
	{Name: "sub/y", Parts: [][]byte{[]byte("4")}}}

func TestCreateDirMakesPrivateDirectory(t *testing.T) {
	path := filepath.Join(t.TempDir(), "d")
	must(t, atomicfile.CreateDir(path, members, atomicfile.Options{Mode: 0o600}))
	info, err := os.Stat(path)
	must(t, err)
	file, err := os.Stat(filepath.Join(path, "one"))
	must(t, err)
	if info.Mode().Perm() != 0o700 || file.Mode().Perm() != 0o600 || content(t, filepath.Join(path, "one")) != "11" {
		t.Errorf("got %v, %v, %q", info.Mode(), file.Mode(), content(t, filepath.Join(path, "one")))
	}
	empty := filepath.Join(t.TempDir(), "empty") // rename would replace it
	must(t, os.Mkdir(empty, 0o755))
	for _, path := range []string{path, empty, filepath.Join(path, "one")} {
		if err := atomicfile.CreateDir(path, members, atomicfile.Options{}); !errors.Is(err, fs.ErrExist) {
			t.Errorf("%s: got %v", path, err)
		}
	}
}

func TestCreateDirWithSubdirectoriesIsAtomic(t *testing.T) {
	for _, mode := range faultfs.Modes {
		faultfs.Each(filesystem.OS{}, mode, func(f *faultfs.FS) {
			dir := t.TempDir()
			path := filepath.Join(dir, "d")
			err := atomicfile.CreateDir(path, nested, atomicfile.Options{FS: f, Mode: 0o600})
			if _, missing := os.Stat(path); missing == nil {
				if got := content(t, filepath.Join(path, "sub/deep/x")) + content(t, filepath.Join(path, "sub/y")); got != "34" {
					t.Errorf("%s at operation %d: got %s", mode, f.At, got)
				}
			} else if err == nil {
				t.Errorf("%s at operation %d succeeded without effect", mode, f.At)
			}
			must(t, atomicfile.Sweep(dir, 0, atomicfile.Options{}))
			if left := names(t, dir); len(left) > 1 || len(left) == 1 && left[0] != "d" {
				t.Errorf("%s at operation %d: Sweep left %q", mode, f.At, left)
			}
		})
	}
}

// TestCreateDirIsAtomic injects faults on a real disk, and power failures on a file system in memory.
func TestCreateDirIsAtomic(t *testing.T) {
	for _, mode := range faultfs.Modes {
		faultfs.Each(filesystem.OS{}, mode, func(f *faultfs.FS) {
			dir := t.TempDir()
			path := filepath.Join(dir, "d")
			err := atomicfile.CreateDir(path, members, atomicfile.Options{FS: f})
			if _, missing := os.Stat(path); missing == nil {
				if got := content(t, filepath.Join(path, "one")) + content(t, filepath.Join(path, "two")); got != "112" {
					t.Errorf("%s at operation %d: got %s", mode, f.At, got)
				}
			} else if err == nil {
				t.Errorf("%s at operation %d succeeded without effect", mode, f.At)
			}
			must(t, atomicfile.Sweep(dir, 0, atomicfile.Options{}))
			if left := names(t, dir); len(left) > 1 || len(left) == 1 && left[0] != "d" {
				t.Errorf("%s at operation %d: Sweep left %q", mode, f.At, left)
			}
		})
	}
	random := rand.New(rand.NewPCG(5, 6))
	made := 0
	whole := map[string]string{"/p/": "", "/p/q/": "", "/p/q/d/": "", "/p/q/d/one": "11", "/p/q/d/two": "2",
		"/p/q/d/sub/": "", "/p/q/d/sub/y": "4", "/p/q/d/sub/deep/": "", "/p/q/d/sub/deep/x": "3"}
	for range 20 {
		for at := 1; ; at++ {
			disk := memfs.New()
			f := &faultfs.FS{FS: disk, Mode: faultfs.KillAfter, At: at}
			err := atomicfile.MkdirAll("/p/q", atomicfile.Options{FS: f})
			if err == nil {
				err = atomicfile.CreateDir("/p/q/d", nested, atomicfile.Options{FS: f})
			}
			disk.LosePower(random.IntN)
			now := disk.Files()
			if err == nil {
				made++
			}
			if _, exists := now["/p/q/d/"]; err == nil || exists {
				for name := range now {
					if atomicfile.IsTemporary(filepath.Base(name), atomicfile.Options{}) {
						delete(now, name)
					}
				}
				if diff := cmp.Diff(whole, now); diff != "" {
					t.Fatalf("operation %d, %v (-want +got)\n%s", at, err, diff)
				}
			}
			if !f.Reached() {
				break
			}
		}
	}
	if made < 20 {
		t.Errorf("%d directories were made", made)
	}
}

// raced is a file system on which another program creates directories after Stat.
type raced struct{ filesystem.OS }

func (raced) Stat(path string) (fs.FileInfo, error) {
	if filepath.Base(path) == "made" {
		return nil, fs.ErrNotExist
	}
	return os.Stat(path)
}

func TestMkdirAllAcceptsDirectoryOfAnotherProgram(t *testing.T) {
	path := filepath.Join(t.TempDir(), "made")
	must(t, os.Mkdir(path, 0o755))
	must(t, atomicfile.MkdirAll(path, atomicfile.Options{FS: raced{}}))
}

func TestSweepIgnoresWhatAnotherProgramRemoved(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, ".atomicfile-1.tmp")
	must(t, os.WriteFile(path, nil, 0o644))
	entries, err := os.ReadDir(dir)
	must(t, err)
	must(t, os.Remove(path))
	must(t, atomicfile.SweepEntries(dir, entries, time.Hour, atomicfile.Options{}))
}

func TestMkdirAllRefusesFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	must(t, os.WriteFile(path, nil, 0o644))
	for _, path := range []string{path, filepath.Join(path, "d")} {
		if err := atomicfile.MkdirAll(path, atomicfile.Options{}); err == nil {
			t.Errorf("%s: no error", path)
		}
	}
}
