//go:build unix

package files_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/plugins/aam/files"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/files/faults"
	"github.com/bulkhead-mcp/bulkhead/sdk/contain"
)

var disk = files.Disk{}

// tree creates files in a new directory, and returns the path of the directory. A name with a trailing slash creates a
// directory. Content that begins with -> creates a symbolic link to the target after the arrow, in which ROOT stands
// for the new directory.
func tree(t *testing.T, wanted map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range wanted {
		path := filepath.Join(root, name)
		err := os.MkdirAll(filepath.Dir(path), 0o755)
		target, isLink := strings.CutPrefix(text, "->")
		switch {
		case err != nil:
		case strings.HasSuffix(name, "/"):
			err = os.MkdirAll(path, 0o755)
		case isLink:
			err = os.Symlink(strings.ReplaceAll(target, "ROOT", root), path)
		default:
			err = os.WriteFile(path, []byte(text), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// list returns the paths of all entries below root. It does not follow symbolic links.
func list(t *testing.T, root string) []string {
	t.Helper()
	var names []string
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if path != root && err == nil {
			name, _ := filepath.Rel(root, path)
			names = append(names, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(names)
	return names
}

func TestRead(t *testing.T) {
	root := tree(t, map[string]string{"f": "12345", "l": "->f", "d/": ""})
	if err := syscall.Mkfifo(filepath.Join(root, "pipe"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"f", "l"} {
		if got, err := files.Read(disk, filepath.Join(root, name), 5); err != nil || string(got) != "12345" {
			t.Errorf("%s: got %q, %v", name, got, err)
		}
	}
	if _, err := files.Read(disk, filepath.Join(root, "f"), 4); !errors.Is(err, files.ErrTooLarge) {
		t.Errorf("Read of a file that is too large: got %v", err)
	}
	if _, err := files.Read(disk, filepath.Join(root, "none"), 4); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Read of a file that does not exist: got %v", err)
	}
	for _, name := range []string{"d", "pipe"} { // opening the pipe would block
		if _, err := files.Read(disk, filepath.Join(root, name), 4); err == nil || !strings.Contains(err.Error(), "not a regular file") {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// TestReplaceFails lets each write of Replace fail in turn. Afterwards the file has the old or the new content, and no
// temporary file is left.
func TestReplaceFails(t *testing.T) {
	for at := 1; ; at++ {
		root := tree(t, map[string]string{"f": "before"})
		path := filepath.Join(root, "f")
		system := faults.New(at, false)
		err := files.Replace(system, path, []byte("after"))
		want := "after"
		if err != nil && !strings.HasPrefix(err.Error(), "sync directory") {
			want = "before"
		}
		if got, _ := os.ReadFile(path); string(got) != want {
			t.Errorf("failure of write %d: error %v, and the file has the content %q", at, err, got)
		}
		if got := list(t, root); len(got) != 1 {
			t.Errorf("failure of write %d: temporary files %v are left", at, got)
		}
		if system.Count() < at {
			if at < 4 {
				t.Errorf("Replace made %d writes", at)
			}
			return
		}
	}
}

func TestReplace(t *testing.T) {
	root := tree(t, map[string]string{"target": "kept", "l": "->target"})
	if err := files.Replace(disk, filepath.Join(root, "l"), []byte("new")); err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(filepath.Join(root, "target")); string(got) != "kept" {
		t.Errorf("the target of a symbolic link has the content %q", got)
	}
	if name := filepath.Base(files.Temp(disk, "/a/b.yaml").Pattern); !files.IsTemp(name) || files.IsTemp("b.yaml") {
		t.Errorf("IsTemp returns a wrong result for the name %s or for b.yaml", name)
	}
}

func TestInside(t *testing.T) {
	root := tree(t, map[string]string{
		"p/d/f": "", "p/in": "->d/f", "p/up": "->d/../d", "p/abs": "->ROOT/p/d", "p/out": "->../secret", "p/far": "->/etc", "p/loop": "->loop",
		"p/hop": "->in", "secret": "", "p/back": "->../p/d", "p/dangling": "->none/x", "other": "->p",
	})
	tests := []struct{ path, want string }{ // path is relative to p; want is the expected result or, after "!", a substring of the expected error
		{"d/f", "d/f"}, {"in", "d/f"}, {"up/f", "d/f"}, {"abs/f", "d/f"}, {"hop", "d/f"}, {".", "."},
		{"none/x", "none/x"}, {"d/none", "d/none"}, {"dangling", "none/x"},
		{"out", "!resolves outside"}, {"far/passwd", "!resolves outside"}, {"back/f", "!resolves outside"}, {"loop", "!too many links"}, {"../secret", "!resolves outside"},
	}
	for _, test := range tests {
		got, err := files.Inside(disk, filepath.Join(root, "p"), filepath.Join(root, "p", test.path))
		if want, ok := strings.CutPrefix(test.want, "!"); ok {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: got %s, %v, want %q", test.path, got, err, want)
			}
		} else if err != nil || got != filepath.Join(root, "p", test.want) {
			t.Errorf("%s: got %s, %v, want %s", test.path, got, err, test.want)
		}
	}
	if got, err := files.ReadInside(disk, filepath.Join(root, "p"), filepath.Join(root, "p/in"), 10); err != nil || len(got) != 0 {
		t.Errorf("ReadInside of a file through symbolic links: got %q, %v", got, err)
	}
	if _, err := files.ReadInside(disk, filepath.Join(root, "p"), filepath.Join(root, "p/out"), 10); !errors.Is(err, contain.ErrOutside) {
		t.Errorf("ReadInside through a symbolic link out of the directory: got %v", err)
	}
	if got, err := files.Inside(disk, filepath.Join(root, "other"), filepath.Join(root, "other", "in")); err != nil || got != filepath.Join(root, "other/d/f") {
		t.Errorf("Inside of a directory that is a symbolic link: got %s, %v", got, err)
	}
}

func TestCopyTree(t *testing.T) {
	root := tree(t, map[string]string{"p/s/a": "A", "p/s/sub/run": "R", "p/s/l": "->../x", "p/x": "X", "p/bad/l": "->../../secret", "secret": "S", "p/loop/l": "->."})
	if err := os.Chmod(filepath.Join(root, "p/s/sub/run"), 0o755); err != nil {
		t.Fatal(err)
	}
	from := func(name string) string { return filepath.Join(root, "p", name) }
	to := filepath.Join(root, "to")
	if err := files.CopyTree(disk, from(""), from("s"), to); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"a", "l", "sub", "sub/run"}, list(t, to)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if got, err := os.Lstat(filepath.Join(to, "l")); err != nil || !got.Mode().IsRegular() {
		t.Errorf("the copy of a symbolic link is %v, %v", got, err)
	}
	if got, err := os.Stat(filepath.Join(to, "sub/run")); err != nil || got.Mode().Perm() != 0o755 {
		t.Errorf("the copy of an executable file has the mode %v, %v", got, err)
	}
	if err := files.CopyTree(disk, from(""), from("x"), filepath.Join(root, "one")); err != nil {
		t.Errorf("CopyTree of a file: %v", err)
	}
	if err := files.CopyTree(disk, from(""), from("bad"), filepath.Join(root, "2")); !errors.Is(err, contain.ErrOutside) {
		t.Errorf("CopyTree of a symbolic link out of the root: got %v", err)
	}
	if err := files.CopyTree(disk, from(""), from("loop"), filepath.Join(root, "3")); err == nil || !strings.Contains(err.Error(), "too many links") {
		t.Errorf("CopyTree of a directory into itself: got %v", err)
	}
	if err := files.CopyTree(disk, from(""), from("s"), to); !errors.Is(err, fs.ErrExist) {
		t.Errorf("CopyTree to the path of an existing directory: got %v", err)
	}
}

func TestRemoveAll(t *testing.T) {
	root := tree(t, map[string]string{"d/a/b": "", "d/l": "->../kept", "kept/f": ""})
	if err := files.RemoveAll(disk, filepath.Join(root, "d")); err != nil {
		t.Fatal(err)
	}
	if err := files.RemoveAll(disk, filepath.Join(root, "d")); err != nil {
		t.Errorf("RemoveAll of a path that does not exist: %v", err)
	}
	if diff := cmp.Diff([]string{"kept", "kept/f"}, list(t, root)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestModes(t *testing.T) {
	root := tree(t, map[string]string{"f": ""})
	asked := ""
	system := files.Disk{Modes: func(path string, set *fs.FileMode) (fs.FileMode, error) {
		asked = filepath.Base(path)
		if set != nil {
			asked += " " + set.String()
		}
		return 0o700, nil
	}}
	if mode, err := system.Mode(filepath.Join(root, "f")); err != nil || mode != 0o700 || asked != "f" {
		t.Errorf("got %v, %v, asked %s", mode, err, asked)
	}
	if err := system.SetMode(filepath.Join(root, "f"), 0o755); err != nil || asked != "f -rwxr-xr-x" {
		t.Errorf("got %v, asked %s", err, asked)
	}
}
