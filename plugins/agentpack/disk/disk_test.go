package disk_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/disk"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/fault"
	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem"
)

func TestRead(t *testing.T) {
	root := testenv.Tree(t, map[string]string{"a": "12345", "empty": "", "link": "-> a", "folder/x": ""})
	for path, want := range map[string]string{"a": "12345", "empty": "", "link": "12345"} {
		if got, err := disk.Read(filepath.Join(root, path), 5); err != nil || string(got) != want {
			t.Errorf("%s: got %q, %v", path, got, err)
		}
	}
	if _, err := disk.Read(filepath.Join(root, "a"), 4); err == nil || !strings.Contains(err.Error(), "more than 4 bytes") {
		t.Errorf("Read of a file with one byte too many: got %v", err)
	}
	if _, err := disk.Read(filepath.Join(root, "folder"), 5); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("Read of a directory: got %v", err)
	}
	for _, path := range []string{"none", "a/b"} {
		if _, err := disk.Read(filepath.Join(root, path), 5); !filesystem.IsAbsent(err) {
			t.Errorf("%s: got %v", path, err)
		}
	}
}

func TestSumFile(t *testing.T) {
	root := testenv.Tree(t, map[string]string{"a": "a", "folder/x": ""})
	const want = "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb"
	if got, err := disk.SumFile(filepath.Join(root, "a")); got != want || err != nil {
		t.Errorf("got %s, %v", got, err)
	}
	if _, err := disk.SumFile(filepath.Join(root, "folder")); err == nil || filesystem.IsAbsent(err) {
		t.Errorf("a directory: got %v", err)
	}
	if _, err := disk.SumFile(filepath.Join(root, "none")); !filesystem.IsAbsent(err) {
		t.Errorf("SumFile of a path without a file: got %v", err)
	}
}

func TestListFiles(t *testing.T) {
	// ListFiles omits directories with this name only below its root, not in the path of the root.
	root := filepath.Join(testenv.Tree(t, map[string]string{
		".agentpack/tree/b.txt":           "",
		".agentpack/tree/a/deep.md":       "",
		".agentpack/tree/a/.git/config":   "",
		".agentpack/tree/.agentpack/m":    "",
		".agentpack/tree/.gitignore":      "",
		".agentpack/tree/sub/.GIT/config": "",
		".agentpack/tree/link":            "-> b.txt",
		".agentpack/tree/folder":          "-> a",
		".agentpack/tree/empty/":          "",
		".agentpack/tree/x.agentpack/own": "",
	}), ".agentpack", "tree")
	got, err := disk.ListFiles(root)
	want := []disk.Entry{{Path: ".gitignore"}, {Path: "a/deep.md"}, {Path: "b.txt"}, {Path: "folder", Link: true}, {Path: "link", Link: true}, {Path: "x.agentpack/own"}}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got)\n%s", err, diff)
	}
	if _, err := disk.ListFiles(filepath.Join(root, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("nothing: got %v", err)
	}
	deep := filepath.Join(root, strings.Repeat("d/", 66))
	if err := os.MkdirAll(deep, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := disk.ListFiles(root); err == nil || !strings.Contains(err.Error(), "nested more than") {
		t.Errorf("ListFiles of directories that are nested too deep: got %v", err)
	}
}

func TestRequireInside(t *testing.T) {
	base := testenv.Tree(t, map[string]string{
		"root/file": "", "root/in": "-> file", "root/sub/x": "", "root/back": "-> sub", "root/out": "-> ../elsewhere",
		"root/up": "-> ..", "root/loop": "-> loop", "root/dangling": "-> nothing", "root/away": "-> ../nothing",
		"root/abs": "-> /etc", "root/round": "-> ../root/sub", "elsewhere/y": "", "alias": "-> root", "rootless/z": "",
	})
	tests := []struct {
		root, path string
		inside     bool
	}{
		{"root", "root/file", true},
		{"root", "root/new/deep/file", true},
		{"root", "root/in", true},
		{"root", "root/back/new", true},
		{"root", "root/round/x", true},
		{"root", "root/dangling", true},
		{"alias", "alias/file", true},
		{"alias/sub", "alias/sub/x", true},
		{"none", "none/new", true},
		{"root", "root", false},
		{"root", "rootless/z", false},
		{"root", "elsewhere/y", false},
		{"root", "root/out", false},
		{"root", "root/out/y", false},
		{"root", "root/out/new", false},
		{"root", "root/up/elsewhere/y", false},
		{"root", "root/away", false},
		{"root", "root/abs/passwd", false},
		{"root", "root/loop", false},
		{"root", "root/loop/x", false},
		{"root/sub", "root/back", false},
	}
	for _, test := range tests {
		err := disk.RequireInside(filepath.Join(base, test.root), filepath.Join(base, test.path))
		if (err == nil) != test.inside {
			t.Errorf("RequireInside of %s in %s: got %v", test.path, test.root, err)
		}
		if err != nil && fault.Of(err).Code != fault.IOInvalidPath {
			t.Errorf("RequireInside of %s in %s: got the code %s", test.path, test.root, fault.Of(err).Code)
		}
	}
}

// TestBoundCachesNoVerdicts checks that the result of a Bound for a path does not depend on the paths before.
func TestBoundCachesNoVerdicts(t *testing.T) {
	root := testenv.Tree(t, map[string]string{"sub/x": "", "back": "-> sub", "out": "-> ..", "sub/up": "-> ../.."})
	bound, err := disk.NewBound(root)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		for path, inside := range map[string]bool{"sub/x": true, "back/x": true, "back/up/y": false, "out/z": false, "sub/up": false, "sub/new/deep": true} {
			if err := bound.RequireInside(filepath.Join(root, path)); (err == nil) != inside {
				t.Errorf("%s: got %v", path, err)
			}
		}
	}
}

func TestStat(t *testing.T) {
	root := testenv.Tree(t, map[string]string{"a": "", "b/": "", "to": "-> b", "nowhere": "-> x"})
	for path, want := range map[string]disk.Kind{"a": disk.File, "b": disk.Directory, "to": disk.Directory, "nowhere": disk.Absent, "c": disk.Absent, "a/b": disk.Absent} {
		if got, err := disk.Stat(filepath.Join(root, path)); got != want || err != nil {
			t.Errorf("%s: got %d, %v", path, got, err)
		}
	}
}

// FuzzRequireInside creates each path that RequireInside accepts, and checks that the system resolves it to a path
// inside the root.
func FuzzRequireInside(f *testing.F) {
	for _, seed := range []string{"a", "out/x", "back/../y", "up/root/a", "a/../../elsewhere", "in/.."} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, path string) {
		if strings.ContainsRune(path, 0) || len(path) > 100 {
			return
		}
		base := testenv.Tree(t, map[string]string{"root/sub/": "", "root/out": "-> ../elsewhere", "root/back": "-> sub", "root/up": "-> ..", "elsewhere/": ""})
		root := filepath.Join(base, "root")
		at := root + string(filepath.Separator) + path
		if disk.RequireInside(root, filepath.Clean(at)) != nil || os.MkdirAll(filepath.Clean(at), 0o755) != nil {
			return
		}
		real, err := filepath.EvalSymlinks(filepath.Clean(at))
		if err != nil || !strings.HasPrefix(real, root+string(filepath.Separator)) {
			t.Errorf("%q resolves to %q, %v", path, real, err)
		}
	})
}
