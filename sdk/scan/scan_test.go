//go:build linux || darwin

package scan

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/vfs"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
	"github.com/bulkhead-mcp/bulkhead/sdk/internal/imports"
)

// tree returns a directory with files of every kind.
func tree(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	put := func(name, content string) {
		file := filepath.Join(dir, name)
		testenv.WriteFile(t, file, content)
	}
	for i := range 20 {
		put(fmt.Sprintf("many/%02d.md", i), strings.Repeat("x", i*37))
	}
	put("a.md", "a")
	put("B.md", "b")
	put("ä.md", "ä")
	put("a b/c.md", "c")
	put("a/z.md", "z")
	put("a-/y.md", "y")
	put("empty.md", "")
	put("big.md", strings.Repeat("big", 1<<20))
	put("node_modules/n.md", "n")
	put(strings.Repeat("deep/", 20)+"d.md", "d")
	put("unreadable.md", "u")
	put("closed/c.md", "c")
	put("not-\xff-utf8.md", "x")
	for name, target := range map[string]string{
		"link.md": "a.md", "linked": "many", "dangling.md": "none", "loop.md": "loop.md", "absolute.md": filepath.Join(dir, "a.md"),
		"to-fifo.md": "fifo.md", "many/up.md": "../a.md",
	} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	err = errors.Join(
		os.Mkdir(filepath.Join(dir, "empty"), 0o755), syscall.Mkfifo(filepath.Join(dir, "fifo.md"), 0o644),
		os.Chmod(filepath.Join(dir, "unreadable.md"), 0), os.Chmod(filepath.Join(dir, "closed"), 0))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(filepath.Join(dir, "closed"), 0o755) })
	return dir
}

// answerer returns a function that performs the operations of a host that grants dir.
func answerer(t *testing.T, dir string) func(request []byte) []byte {
	t.Helper()
	handle, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { handle.Close() })
	box, err := sandbox.New(sandbox.Config{Plugin: "p", Mounts: []vfs.Mount{{Path: dir, Dir: handle}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { imports.SetHost(nil) })
	return func(request []byte) []byte { return box.Operate(t.Context(), request) }
}

// serve installs a fake host that grants dir, until the test ends. It returns the number of operations so far.
func serve(t *testing.T, dir string) (operations *int) {
	t.Helper()
	answer := answerer(t, dir)
	operations = new(int)
	imports.SetHost(&imports.Host{Call: func(request []byte) []byte {
		*operations++
		return answer(request)
	}})
	return operations
}

func collect(t *testing.T, dir string, o Options) []Entry {
	t.Helper()
	var out []Entry
	for e, err := range Dir(dir, o) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, e)
	}
	return out
}

func TestHostAndOSScanAlike(t *testing.T) {
	dir := tree(t)
	for name, o := range map[string]Options{
		"names":          {},
		"a tree":         {Depth: 32},
		"content":        {Depth: 3, Match: []string{"*.md"}, Skip: []string{"node_*"}},
		"links":          {Depth: 3, Match: []string{"*.md"}, Follow: true},
		"digests":        {Depth: 32, Match: []string{"[a-z]*"}, Data: abi.ScanDataSHA256, Follow: true},
		"small answers":  {Depth: 32, Match: []string{"*"}, Max: 200},
		"single entries": {Depth: 32, Match: []string{"*"}, Max: 1, Follow: true},
		"small files":    {Depth: 2, Match: []string{"*"}, MaxFile: 100},
		"derived":        {Depth: 3, Match: []string{"*.md"}, Data: abi.ScanDataDerived},
	} {
		t.Run(name, func(t *testing.T) {
			want := collect(t, dir, o)
			operations := serve(t, dir)
			got := collect(t, dir, o)
			if diff := cmp.Diff(want, got, cmp.Comparer(bytes.Equal)); diff != "" {
				t.Errorf("(-os +host):\n%s", diff)
			}
			if *operations == 0 || o.Max == 1 && *operations != len(got) {
				t.Errorf("%d operations for %d entries", *operations, len(got))
			}
		})
	}
}

func TestDirContinuesByOSWhereTheHostFails(t *testing.T) {
	dir := tree(t)
	o := Options{Depth: 32, Match: []string{"*"}, Max: 300, Follow: true}
	want := collect(t, dir, o)
	for _, failing := range []int{1, 2, 9} {
		inner := answerer(t, dir)
		calls := 0
		imports.SetHost(&imports.Host{Call: func(request []byte) []byte {
			if calls++; calls >= failing {
				return []byte(`{"error":{"code":"failed","message":"too large"}}`)
			}
			return inner(request)
		}})
		if diff := cmp.Diff(want, collect(t, dir, o), cmp.Comparer(bytes.Equal)); diff != "" {
			t.Errorf("failing at %d (-os +both):\n%s", failing, diff)
		}
	}
}

func TestErrorsAreThoseOfOS(t *testing.T) {
	dir := tree(t)
	serve(t, dir)
	for name, want := range map[string]error{"none": fs.ErrNotExist, "a.md": syscall.ENOTDIR} {
		for _, err := range Dir(filepath.Join(dir, name), Options{}) {
			if !errors.Is(err, want) {
				t.Errorf("%s: got %v", name, err)
			}
		}
	}
	for name, o := range map[string]Options{
		"depth": {Depth: 33}, "pattern": {Match: []string{"["}}, "data": {Data: "x"}, "size": {MaxFile: 1 << 40}, "patterns": {Skip: make([]string, 17)},
	} {
		n := 0
		for _, err := range Dir(dir, o) {
			if n++; err == nil {
				t.Errorf("%s: got an entry", name)
			}
		}
		if n != 1 {
			t.Errorf("%s: %d items", name, n)
		}
	}
}

func TestStrictRefusesNamesThatAreNotUTF8(t *testing.T) {
	dir := tree(t)
	for _, host := range []bool{false, true} {
		if host {
			serve(t, dir)
		}
		for of, want := range map[string]error{".": ErrName, "many": nil} {
			var last error
			for _, err := range Dir(filepath.Join(dir, of), Options{Strict: true, Max: 200}) {
				last = err
			}
			if !errors.Is(last, want) {
				t.Errorf("host %t, %s: got %v, want %v", host, of, last, want)
			}
		}
	}
}

func TestLoopCanEndEarly(t *testing.T) {
	dir := tree(t)
	for _, host := range []bool{false, true} {
		if host {
			serve(t, dir)
		}
		n := 0
		for range Dir(dir, Options{Depth: 9}) {
			if n++; n == 5 {
				break
			}
		}
		if n != 5 {
			t.Errorf("got %d entries", n)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte("\x01\x00\x00\x00\x01\x00\x00\x00\x02\x00\x00\x00\x01\x00\x04\x00\x02\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00aab"))
	f.Fuzz(func(t *testing.T, answer []byte) {
		if len(answer) < abi.ScanHeader {
			return
		}
		size := 0
		_, _ = decode(answer, func(e Entry) error {
			size += abi.ScanEntry + len(e.Path) + len(e.Data)
			return nil
		})
		if size > len(answer) {
			t.Errorf("%d bytes of entries in %d", size, len(answer))
		}
	})
}
