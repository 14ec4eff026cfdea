package contain_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/sdk/contain"
	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem"
)

func TestWithinAndBelow(t *testing.T) {
	cases := []struct {
		dir, path     string
		within, below bool
	}{
		{"/a", "/a", true, false},
		{"/a", "/a/b", true, true},
		{"/a", "/a/..b", true, true},
		{"/a", "/a/../b", false, false},
		{"/a", "/ab", false, false},
		{"/a/b", "/a", false, false},
		{"/", "/a", true, true},
		{"/", "/", true, false},
		{"/a", "b", false, false},
	}
	for _, test := range cases {
		if got := contain.Within(test.dir, test.path); got != test.within {
			t.Errorf("Within(%s, %s): got %t", test.dir, test.path, got)
		}
		if got := contain.Below(test.dir, test.path); got != test.below {
			t.Errorf("Below(%s, %s): got %t", test.dir, test.path, got)
		}
	}
}

// layOut creates a directory tree with symbolic links, and returns the path of the tree.
func layOut(t *testing.T) string {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"dir/sub", "outside"} {
		err = errors.Join(err, os.MkdirAll(filepath.Join(base, dir), 0o755))
	}
	for link, target := range map[string]string{
		"dir/in": "sub", "dir/abs": filepath.Join(base, "dir/sub"), "dir/out": "../outside", "dir/absout": filepath.Join(base, "outside"),
		"dir/outin": "../outside/back", "outside/back": "../dir/sub", "dir/loop": "loop", "dir/dangling": "nowhere",
		"dir/danglingout": "../nowhere", "dir/throughdangling": "nowhere/../out", "alias": "dir",
		"dir/aliased": filepath.Join(base, "alias/sub"),
	} {
		err = errors.Join(err, os.Symlink(target, filepath.Join(base, link)))
	}
	if err = errors.Join(err, os.WriteFile(filepath.Join(base, "dir/file"), nil, 0o644)); err != nil {
		t.Fatal(err)
	}
	return base
}

// watched is a file system. The test fails if a path outside of dir is accessed through it.
type watched struct {
	filesystem.OS
	t   *testing.T
	dir string
}

func (w watched) Lstat(path string) (fs.FileInfo, error) {
	if !contain.Within(w.dir, path) {
		w.t.Errorf("accessed %s, which is outside of dir", path)
	}
	return w.OS.Lstat(path)
}

func TestInside(t *testing.T) {
	const outside = "OUTSIDE"
	cases := []struct {
		path string // the path to resolve, relative to dir
		want string // expected target of Inside and InsideOnly, relative to dir; or OUTSIDE
		only string // expected target of InsideOnly, if it differs from want
	}{
		{"", ".", ""},
		{"sub", "sub", ""},
		{"file", "file", ""},
		{"in/x/y", "sub/x/y", ""},
		{"absent/x", "absent/x", ""},
		{"file/x", "file/x", ""},
		{"abs/x", "sub/x", ""},
		{"out", outside, ""},
		{"out/x", outside, ""},
		{"absout/x", outside, ""},
		{"danglingout", outside, ""},
		{"dangling/x", "nowhere/x", ""},
		{"throughdangling", outside, ""},
		{"outin/x", "sub/x", outside},
		{"aliased/x", "sub/x", outside},
		{"../outside", outside, ""},
	}
	base := layOut(t)
	dir := filepath.Join(base, "dir")
	relative := func(target contain.Target, err error) string {
		if errors.Is(err, contain.ErrOutside) {
			return outside
		}
		if err != nil {
			return err.Error()
		}
		below, err := filepath.Rel(dir, target.Path)
		if err != nil {
			return err.Error()
		}
		return below
	}
	var shared contain.Resolver
	for _, test := range cases {
		t.Run(test.path, func(t *testing.T) {
			path := dir + "/" + test.path
			for _, r := range []*contain.Resolver{{}, &shared} {
				if got := relative(r.Inside(dir, path)); got != test.want {
					t.Errorf("Inside: got %s, want %s", got, test.want)
				}
			}
			if test.only == "" {
				test.only = test.want
			}
			only := contain.Resolver{FS: watched{t: t, dir: dir}}
			if got := relative(only.InsideOnly(dir, path)); got != test.only {
				t.Errorf("InsideOnly: got %s, want %s", got, test.only)
			}
			alias := filepath.Join(base, "alias")
			if got := relative((&contain.Resolver{}).Inside(alias, alias+"/"+test.path)); got != test.want {
				t.Errorf("Inside through an alias: got %s, want %s", got, test.want)
			}
		})
	}
}

func TestTargetTellsDanglingFromAbsent(t *testing.T) {
	dir := filepath.Join(layOut(t), "dir")
	for path, want := range map[string]contain.Target{
		"sub":        {Path: "sub", Exists: true},
		"in":         {Path: "sub", Exists: true},
		"absent":     {Path: "absent"},
		"in/absent":  {Path: "sub/absent"},
		"dangling":   {Path: "nowhere", Dangling: true},
		"dangling/x": {Path: "nowhere/x", Dangling: true},
	} {
		got, err := (&contain.Resolver{}).Inside(dir, filepath.Join(dir, path))
		want.Path = filepath.Join(dir, want.Path)
		if (got.Info != nil) != want.Exists || got.Info != nil && !got.Info.IsDir() {
			t.Errorf("%s: described as %v", path, got.Info)
		}
		got.Info = nil
		if err != nil || got != want {
			t.Errorf("%s: got %+v, %v, want %+v", path, got, err, want)
		}
	}
}

func TestLoopIsAnError(t *testing.T) {
	dir := filepath.Join(layOut(t), "dir")
	target, err := (&contain.Resolver{}).Inside(dir, filepath.Join(dir, "loop/x"))
	if !errors.Is(err, syscall.ELOOP) || !target.Dangling {
		t.Errorf("got %+v, %v", target, err)
	}
}

// FuzzResolveAgreesWithSystem compares Resolve with filepath.EvalSymlinks for the paths that EvalSymlinks resolves.
func FuzzResolveAgreesWithSystem(f *testing.F) {
	f.Add("in/../sub", "sub")
	f.Add("a/b", "../sub/..")
	f.Fuzz(func(t *testing.T, path, target string) {
		base := layOut(t)
		if strings.ContainsRune(path+target, 0) || filepath.IsAbs(target) || len(path)+len(target) > 200 || os.Symlink(target, filepath.Join(base, "a")) != nil {
			t.Skip()
		}
		path = filepath.Join(base, path)
		want, err := filepath.EvalSymlinks(path)
		if err != nil {
			return
		}
		got, err := (&contain.Resolver{}).Resolve(path)
		if err != nil || got.Path != want || !got.Exists {
			t.Errorf("%s: got %+v, %v, want %s", path, got, err, want)
		}
	})
}

func ExampleResolver_Inside() {
	dir, _ := os.MkdirTemp("", "example")
	defer os.RemoveAll(dir)
	_ = os.Symlink("/etc", filepath.Join(dir, "link"))
	for _, name := range []string{"notes.md", "link/passwd"} {
		_, err := new(contain.Resolver).Inside(dir, filepath.Join(dir, name))
		fmt.Println(name, errors.Is(err, contain.ErrOutside))
	}
	// Output:
	// notes.md false
	// link/passwd true
}

func ExampleWithin() {
	fmt.Println(contain.Within("/project", "/project/src/main.go"), contain.Within("/project", "/project/../etc"))
	// Output: true false
}
