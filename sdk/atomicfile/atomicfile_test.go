package atomicfile_test

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/bulkhead-mcp/bulkhead/sdk/atomicfile"
	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem"
	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem/faultfs"
	"github.com/bulkhead-mcp/bulkhead/sdk/internal/memfs"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// names returns the names of a directory's entries.
func names(t testing.TB, dir string) (all []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	must(t, err)
	for _, entry := range entries {
		all = append(all, entry.Name())
	}
	return all
}

func content(t testing.TB, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "(absent)"
	}
	must(t, err)
	return string(data)
}

func TestReplaceKeepsPermissionBits(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	must(t, os.WriteFile(path, []byte("old"), 0o600))
	must(t, os.Chmod(path, 0o640))
	must(t, atomicfile.Replace(path, []byte("new"), atomicfile.Options{Mode: 0o755}))
	info, err := os.Stat(path)
	must(t, err)
	if content(t, path) != "new" || info.Mode().Perm() != 0o640 {
		t.Errorf("got %q with mode %v", content(t, path), info.Mode())
	}
}

func TestReplaceMakesFileWithMode(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	must(t, atomicfile.Replace(path, nil, atomicfile.Options{Mode: 0o600}))
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("got %v, %v", info, err)
	}
}

func TestReplaceReplacesSymbolicLink(t *testing.T) {
	dir := t.TempDir()
	target, link := filepath.Join(dir, "target"), filepath.Join(dir, "link")
	must(t, os.WriteFile(target, []byte("target"), 0o644))
	must(t, os.Symlink("target", link))
	must(t, atomicfile.Replace(link, []byte("new"), atomicfile.Options{}))
	if info, err := os.Lstat(link); err != nil || !info.Mode().IsRegular() || content(t, target) != "target" {
		t.Errorf("got %v, %v; the target has %q", info, err, content(t, target))
	}
}

func TestCreateRefusesExistingFile(t *testing.T) {
	for _, noLinks := range []bool{false, true} {
		path := filepath.Join(t.TempDir(), "f")
		o := atomicfile.Options{FS: &faultfs.FS{FS: filesystem.OS{}, NoLinks: noLinks}}
		must(t, atomicfile.Create(path, []byte("first"), o))
		if err := atomicfile.Create(path, []byte("second"), o); !errors.Is(err, fs.ErrExist) {
			t.Errorf("no links %t: got %v", noLinks, err)
		}
		if got := names(t, filepath.Dir(path)); content(t, path) != "first" || len(got) != 1 {
			t.Errorf("no links %t: got %q in %q", noLinks, content(t, path), got)
		}
	}
}

func TestPatternHasToNameFiles(t *testing.T) {
	for _, pattern := range []string{"tmp", "*", "*.tmp", "a/*"} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%q: no panic", pattern)
				}
			}()
			_ = atomicfile.Replace(filepath.Join(t.TempDir(), "f"), nil, atomicfile.Options{Pattern: pattern})
		}()
	}
}

// calls are Replace and Create, each with an existing and with an absent file.
var calls = map[string]struct {
	do  func(path string, data []byte, o atomicfile.Options) error
	old string
}{
	"replace":     {atomicfile.Replace, "old content"},
	"replace new": {atomicfile.Replace, "(absent)"},
	"create":      {atomicfile.Create, "(absent)"},
}

// TestEveryFaultLeavesOldOrNewContent makes each file system operation fail, and simulates a kill at each of them.
func TestEveryFaultLeavesOldOrNewContent(t *testing.T) {
	for name, call := range calls {
		for _, mode := range faultfs.Modes {
			for _, noLinks := range []bool{false, true} {
				t.Run(fmt.Sprint(name, ", ", mode, ", no links ", noLinks), func(t *testing.T) {
					olds := 0
					faultfs.Each(filesystem.OS{}, mode, func(f *faultfs.FS) {
						path := filepath.Join(t.TempDir(), "f")
						if call.old != "(absent)" {
							must(t, os.WriteFile(path, []byte(call.old), 0o644))
						}
						f.NoLinks = noLinks
						err := call.do(path, []byte("new content"), atomicfile.Options{FS: f})
						got := content(t, path)
						reserved := got == "" && noLinks && name == "create" && err != nil && mode != faultfs.Fail
						if got != call.old && got != "new content" && !reserved {
							t.Fatalf("operation %d, %v: got %q", f.At, err, got)
						}
						if err == nil && got != "new content" {
							t.Fatalf("operation %d succeeded, but left %q", f.At, got)
						}
						if got == call.old {
							olds++
						}
						if mode == faultfs.Fail && err != nil && f.Operations()[f.At-1][:6] != "remove" && len(names(t, filepath.Dir(path))) > 1 {
							t.Errorf("operation %d, %v: left %q", f.At, err, names(t, filepath.Dir(path)))
						}
						must(t, atomicfile.Sweep(filepath.Dir(path), 0, atomicfile.Options{}))
						if left := names(t, filepath.Dir(path)); len(left) > 1 || len(left) == 1 && left[0] != "f" {
							t.Errorf("operation %d: Sweep left %q", f.At, left)
						}
					})
					if olds < 2 {
						t.Errorf("only %d operations were early enough to leave the old content", olds)
					}
				})
			}
		}
	}
}

// TestAcknowledgedWriteSurvivesLossOfPower simulates a kill at each operation, and then the loss of all data that was not synced.
func TestAcknowledgedWriteSurvivesLossOfPower(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for name, call := range calls {
		for range 20 {
			var disk *memfs.FS
			for at := 1; ; at++ {
				disk = memfs.New()
				must(t, disk.Mkdir("/d", 0o755))
				if call.old != "(absent)" {
					must(t, atomicfile.Create("/d/f", []byte(call.old), atomicfile.Options{FS: disk}))
				}
				must(t, disk.SyncDir("/"))
				f := &faultfs.FS{FS: disk, Mode: faultfs.KillAfter, At: at}
				err := call.do("/d/f", []byte("new content"), atomicfile.Options{FS: f})
				disk.LosePower(random.IntN)
				got, exists := disk.Files()["/d/f"]
				if !exists {
					got = "(absent)"
				}
				if got != "new content" && (err == nil || got != call.old) {
					t.Fatalf("%s, operation %d, %v: got %q\n%q", name, at, err, got, f.Operations())
				}
				if f.Count() < at {
					break
				}
			}
		}
	}
}

func TestSweepLeavesYoungAndOtherFiles(t *testing.T) {
	dir := t.TempDir()
	o := atomicfile.Options{Pattern: ".p-*.tmp"}
	for _, name := range []string{".p-1.tmp", ".p-2.tmp", ".p-3.txt", "q"} {
		must(t, os.WriteFile(filepath.Join(dir, name), nil, 0o644))
	}
	old := time.Now().Add(-2 * time.Hour)
	for _, name := range []string{".p-1.tmp", ".p-3.txt", "q"} {
		must(t, os.Chtimes(filepath.Join(dir, name), old, old))
	}
	must(t, atomicfile.Sweep(dir, time.Hour, o))
	if got := strings.Join(names(t, dir), " "); got != ".p-2.tmp .p-3.txt q" {
		t.Errorf("left %s", got)
	}
	must(t, atomicfile.Sweep(filepath.Join(dir, "absent"), 0, o))
}

func TestWritesSweepOlderFiles(t *testing.T) {
	for where, temp := range map[string]string{"the file's directory": "", "another directory": t.TempDir()} {
		dir := t.TempDir()
		swept := cmp.Or(temp, dir)
		for name, age := range map[string]time.Duration{".p-1.tmp": 2 * time.Hour, ".p-2.tmp": 0, "q": 2 * time.Hour} {
			must(t, os.WriteFile(filepath.Join(swept, name), nil, 0o644))
			must(t, os.Chtimes(filepath.Join(swept, name), time.Time{}, time.Now().Add(-age)))
		}
		o := atomicfile.Options{Pattern: ".p-*.tmp", TempDir: temp}
		must(t, atomicfile.Replace(filepath.Join(dir, "f"), nil, o))
		if got := strings.Join(names(t, swept), " "); !strings.HasPrefix(got, ".p-1.tmp .p-2.tmp ") {
			t.Errorf("%s: left %s", where, got)
		}
		o.SweepAge = atomicfile.LongestWrite
		must(t, atomicfile.Replace(filepath.Join(dir, "f"), nil, o))
		if got := strings.Join(names(t, swept), " "); !strings.HasPrefix(got, ".p-2.tmp ") || !strings.HasSuffix(got, "q") {
			t.Errorf("%s: left %s", where, got)
		}
	}
}

// unlisted is a file system whose directories cannot be read.
type unlisted struct{ filesystem.OS }

func (unlisted) ReadDir(string) ([]fs.DirEntry, error) { return nil, fs.ErrPermission }

func TestWritesWhereNothingCanBeSwept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	must(t, atomicfile.Replace(path, []byte("x"), atomicfile.Options{FS: unlisted{}, SweepAge: time.Hour}))
	if content(t, path) != "x" {
		t.Error("the file is not written")
	}
}

func TestFileStepByStep(t *testing.T) {
	dir := t.TempDir()
	file, err := atomicfile.New(filepath.Join(dir, "f"), atomicfile.Options{})
	must(t, err)
	for _, part := range []string{"one ", "two"} {
		_, err := file.Write([]byte(part))
		must(t, err)
	}
	must(t, file.Sync())
	if got := content(t, file.Name()); got != "one two" {
		t.Errorf("the temporary file has %q", got)
	}
	must(t, file.Create())
	must(t, file.Discard())
	if got := content(t, filepath.Join(dir, "f")); got != "one two" {
		t.Errorf("the file has %q", got)
	}
}

func TestFailedWriteCannotBeCommitted(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	file, err := atomicfile.New(path, atomicfile.Options{FS: &faultfs.FS{FS: filesystem.OS{}, Mode: faultfs.Full, At: 2}})
	must(t, err)
	if _, err := file.Write([]byte("x")); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("Write: got %v", err)
	}
	for range 2 {
		if err := file.Sync(); !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("Sync: got %v", err)
		}
	}
	if err := file.Replace(); !errors.Is(err, syscall.ENOSPC) || content(t, path) != "(absent)" {
		t.Errorf("got %v, and the file has %q", err, content(t, path))
	}
}

func ExampleReplace() {
	dir, _ := os.MkdirTemp("", "example")
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "settings.json")
	if err := atomicfile.Replace(path, []byte("{}\n"), atomicfile.Options{Mode: 0o600}); err != nil {
		fmt.Println(err)
	}
	data, _ := os.ReadFile(path)
	fmt.Print(string(data))
	// Output: {}
}

func ExampleCreate() {
	dir, _ := os.MkdirTemp("", "example")
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "claim")
	for _, owner := range []string{"first", "second"} {
		err := atomicfile.Create(path, []byte(owner), atomicfile.Options{})
		fmt.Println(owner, errors.Is(err, fs.ErrExist))
	}
	// Output:
	// first false
	// second true
}

// TestCreateReservesNothingForLostTemporaryFile simulates that another caller's Sweep removes the temporary file. If Create then reserved the
// name, the Create of that other caller would fail too.
func TestCreateReservesNothingForLostTemporaryFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	fsys := &faultfs.FS{FS: filesystem.OS{}}
	file, err := atomicfile.New(path, atomicfile.Options{FS: fsys})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(file.Name()); err != nil {
		t.Fatal(err)
	}
	if err := file.Create(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	if slices.Contains(fsys.Operations(), "create "+path) {
		t.Errorf("the name was reserved: %v", fsys.Operations())
	}
}
