package faultfs_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem"
	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem/faultfs"
)

// write creates a file with two writes, and then creates a directory.
func write(fsys filesystem.FS, dir string) error {
	file, err := fsys.Create(filepath.Join(dir, "f"), 0o644)
	if err != nil {
		return err
	}
	_, first := file.Write([]byte("1234"))
	_, second := file.Write([]byte("5678"))
	return errors.Join(first, second, file.Close(), fsys.Mkdir(filepath.Join(dir, "d"), 0o755))
}

func TestModesAtSecondOperation(t *testing.T) {
	cases := map[faultfs.Mode]struct {
		content string
		dir     bool // whether the directory must exist afterwards
	}{
		faultfs.Nothing:    {"12345678", true},
		faultfs.Fail:       {"125678", true},
		faultfs.FailAll:    {"1256", false},
		faultfs.Full:       {"1256", false},
		faultfs.KillBefore: {"", false},
		faultfs.KillDuring: {"12", false},
		faultfs.KillAfter:  {"1234", false},
	}
	if want := len(faultfs.Modes) + 1; len(cases) != want {
		t.Fatalf("%d modes are tested, want %d", len(cases), want)
	}
	for mode, want := range cases {
		t.Run(string(mode), func(t *testing.T) {
			dir := t.TempDir()
			f := &faultfs.FS{FS: filesystem.OS{}, Mode: mode, At: 2}
			err := write(f, dir)
			if (err == nil) != (mode == faultfs.Nothing) || err != nil && !errors.Is(err, faultfs.ErrInjected) && !errors.Is(err, syscall.ENOSPC) {
				t.Errorf("got %v", err)
			}
			content, err := os.ReadFile(filepath.Join(dir, "f"))
			_, missing := os.Stat(filepath.Join(dir, "d"))
			if err != nil || string(content) != want.content || (missing == nil) != want.dir {
				t.Errorf("got %q, %v, directory: %v", content, err, missing)
			}
		})
	}
}

func TestOperationsAreNamed(t *testing.T) {
	f := &faultfs.FS{FS: filesystem.OS{}, NoLinks: true}
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	if err := write(f, dir); err != nil {
		t.Fatal(err)
	}
	if err := f.Link(at("f"), at("g")); !errors.Is(err, syscall.ENOTSUP) {
		t.Errorf("link: got %v", err)
	}
	if err := errors.Join(f.CopyMode(at("f"), at("d")), f.Rename(at("f"), at("g")), f.SyncDir(dir), f.Remove(at("g"))); err != nil {
		t.Fatal(err)
	}
	_ = f.Remove(at("absent"))
	want := []string{"create " + at("f"), "write " + at("f"), "write " + at("f"), "mkdir " + at("d"), "link " + at("g"),
		"chmod " + at("d"), "rename " + at("g"), "sync directory " + dir, "remove " + at("g")}
	if got := f.Operations(); !slices.Equal(got, want) {
		t.Errorf("got\n%q, want\n%q", got, want)
	}
}

func ExampleEach() {
	faultfs.Each(filesystem.OS{}, faultfs.Fail, func(f *faultfs.FS) {
		dir, _ := os.MkdirTemp("", "example")
		defer os.RemoveAll(dir)
		fmt.Println(f.At, f.Mkdir(filepath.Join(dir, "d"), 0o755) == nil)
	})
	// Output:
	// 1 false
	// 2 true
}
