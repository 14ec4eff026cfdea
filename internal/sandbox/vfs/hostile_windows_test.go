package vfs_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"unicode/utf16"

	"github.com/tetratelabs/wazero/experimental/sys"
	"golang.org/x/sys/windows"

	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/beneath"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/vfs"
)

// newTree returns a tree with a writable and a read-only directory, and the path of the first one.
func newTree(t *testing.T) (*vfs.FS, string) {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{`w\.git`, `w\sub`, "r"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{`w\.git\config`: "git", `w\a.txt`: "alpha", `w\.env`: "secret", `w\sub\b.txt`: "beta", `r\r.txt`: "read", "outside.txt": "outside"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var mounts []vfs.Mount
	for _, m := range []vfs.Mount{{Path: "/C:/w", Write: true}, {Path: "/C:/r"}} {
		opened, err := os.Open(filepath.Join(dir, m.Path[len("/C:/"):]))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = opened.Close() })
		m.Dir = opened
		mounts = append(mounts, m)
	}
	all, err := vfs.NewMounts(mounts)
	if err != nil {
		t.Fatal(err)
	}
	hidden := func(p string, _ bool) bool { return vfs.FoldName(p) == "/c:/w/.env" }
	return vfs.New(vfs.Config{Mounts: all, Hidden: hidden}), filepath.Join(dir, "w")
}

func TestTreeReadsAndWrites(t *testing.T) {
	tree, dir := newTree(t)
	f, errno := tree.OpenFile("C:/w/new.txt", sys.O_RDWR|sys.O_CREAT, 0o600)
	if errno != 0 {
		t.Fatal(errno)
	}
	if _, errno := f.Write([]byte("text")); errno != 0 {
		t.Error(errno)
	}
	if errno := f.Close(); errno != 0 {
		t.Error(errno)
	}
	if errno := tree.Mkdir("C:/w/e", 0o755); errno != 0 {
		t.Error("mkdir:", errno)
	}
	if errno := tree.Rename("C:/w/sub/b.txt", "C:/w/e/b.txt"); errno != 0 {
		t.Error("rename:", errno)
	}
	if text, err := os.ReadFile(filepath.Join(dir, `e\b.txt`)); err != nil || string(text) != "beta" {
		t.Errorf("the moved file contains %q, %v", text, err)
	}
	if errno := tree.Rmdir("C:/w/sub"); errno != 0 {
		t.Error("rmdir:", errno)
	}
	if errno := tree.Unlink("C:/w/e/b.txt"); errno != 0 {
		t.Error("unlink:", errno)
	}
	if _, errno := tree.Stat("C:/w/e/b.txt"); errno != sys.ENOENT {
		t.Error("a removed file:", errno)
	}
	if errno := tree.Rmdir("C:/w/e/none"); errno != sys.ENOENT {
		t.Error("rmdir of an absent directory:", errno)
	}
}

// A name that Windows maps to a protected, hidden or different file neither opens nor creates a file.
func TestTreeRefusesAliases(t *testing.T) {
	tree, dir := newTree(t)
	before := entries(t, dir)
	for _, name := range []string{
		"C:/w/.git/hooks", "C:/w/.GIT/hooks", "C:/w/.git./hooks", "C:/w/.git /hooks", "C:/w/GIT~1/hooks", "C:/w/.git::$INDEX_ALLOCATION/hooks",
		`C:/w/.git\hooks`, `C:/w/sub\..\.git\hooks`, "C:/w/x:stream", "C:/w/a.txt:stream", "C:/w/a.txt::$DATA", "C:/w/NUL", "C:/w/con.txt", "C:/w/COM1",
		"C:/w/a.txt.", "C:/w/a.txt ", "C:/w/BULKHE~1.TOM", "C:/w/.env", "C:/w/.ENV", "C:/w/.env.", "C:/w/.env::$DATA",
		"C:/r/new", "C:/r/R.TXT", "C:/w/../outside.txt", "C:/outside.txt", `C:/w/..\outside.txt`, `\C:\outside.txt`,
	} {
		if f, errno := tree.OpenFile(name, sys.O_RDWR|sys.O_CREAT, 0o600); errno == 0 {
			_ = f.Close()
			t.Errorf("%s was opened for writing", name)
		}
		if errno := tree.Mkdir(name, 0o755); errno == 0 {
			t.Errorf("%s was created", name)
		}
		if errno := tree.Rename("C:/w/a.txt", name); errno == 0 {
			t.Errorf("a file was moved to %s", name)
		}
	}
	for _, name := range []string{"C:/w/.ENV", "C:/w/.env.", "C:/w/.env::$DATA", "C:/w/a.txt:s", "C:/w/NUL", "C:/w/..", "C:/outside.txt", `C:/w/..\outside.txt`} {
		if f, errno := tree.OpenFile(name, sys.O_RDONLY|sys.O_NOFOLLOW, 0o600); errno == 0 && name != "C:/w/.." {
			_ = f.Close()
			t.Errorf("%s was opened for reading", name)
		}
	}
	if now := entries(t, dir); now != before {
		t.Errorf("the directory has changed; it contains\n%s, and contained before\n%s", now, before)
	}
}

// Short names, which the system generates, do not open protected or hidden files.
func TestTreeRefusesShortNames(t *testing.T) {
	tree, dir := newTree(t)
	for _, name := range []string{".git", ".env"} {
		long, err := windows.UTF16PtrFromString(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		buf := make([]uint16, windows.MAX_LONG_PATH)
		n, err := windows.GetShortPathName(long, &buf[0], uint32(len(buf)))
		if err != nil {
			t.Fatal(err)
		}
		short := filepath.Base(windows.UTF16ToString(buf[:n]))
		if short == name {
			t.Skip("the file system generates no short names")
		}
		if _, errno := tree.Stat("C:/w/" + short); errno == 0 {
			t.Errorf("%s is found as %s", name, short)
		}
	}
}

// FoldName maps names that the system treats as equal to the same form.
func TestFoldNameAgreesWithSystem(t *testing.T) {
	upcase := windows.NewLazySystemDLL("ntdll.dll").NewProc("RtlUpcaseUnicodeChar")
	for c := rune(1); c <= 0xffff; c++ {
		if utf16.IsSurrogate(c) {
			continue
		}
		result, _, _ := upcase.Call(uintptr(c))
		if upper := rune(uint16(result)); vfs.FoldName(string(c)) != vfs.FoldName(string(upper)) {
			t.Errorf("the system treats %U and %U as equal, but FoldName does not", c, upper)
		}
	}
}

func entries(t *testing.T, dir string) (list string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		list += path + "\n"
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// A junction or symbolic link is not followed out of a directory. The test is left out where the system refuses to create one.
func TestLinkDoesNotLeaveTree(t *testing.T) {
	tree, dir := newTree(t)
	if err := os.Symlink(filepath.Dir(dir), filepath.Join(dir, "link")); err != nil {
		t.Skip("the system refuses to create symbolic links:", err)
	}
	if f, errno := tree.OpenFile("C:/w/link/outside.txt", sys.O_RDONLY, 0o600); errno == 0 {
		_ = f.Close()
		t.Error("a symbolic link was followed")
	}
}

func TestListingShowsEntries(t *testing.T) {
	_, dir := newTree(t)
	for i := range 300 {
		if err := os.WriteFile(filepath.Join(dir, "sub", "file-with-a-long-name-"+string(rune('a'+i%26))+string(rune('a'+i/26))), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	f, err := os.Open(filepath.Join(dir, "sub"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	list := beneath.List(f)
	for range 2 {
		n := 0
		for {
			found, err := list.Read(7)
			if err != nil {
				break
			}
			n += len(found)
		}
		if n != 301 {
			t.Errorf("%d entries are listed, want 301", n)
		}
		if err := list.Rewind(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestNotADirectory(t *testing.T) {
	_, dir := newTree(t)
	f, err := os.Open(filepath.Join(dir, "a.txt"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := beneath.New(f); !errors.Is(err, beneath.ErrNotDir) {
		t.Error(err)
	}
}
