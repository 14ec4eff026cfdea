package vfs_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/tetratelabs/wazero/experimental/sys"

	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/vfs"
)

func TestRelative(t *testing.T) {
	top := t.TempDir()
	for _, file := range []string{"project/src/a", "project/a", "project/data/a", "data/a", "project/state/a"} {
		path := filepath.Join(top, file)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var list []vfs.Mount
	for path, dir := range map[string]string{"/work/project": "project", "/data": "data"} {
		handle, err := os.Open(filepath.Join(top, dir))
		if err != nil {
			t.Fatal(err)
		}
		defer handle.Close()
		m := vfs.Mount{Path: path, Dir: handle, Write: true}
		if dir == "data" {
			m.Aliases = []string{"/link/data"}
		}
		list = append(list, m)
	}
	mounts, err := vfs.NewMounts(list)
	if err != nil {
		t.Fatal(err)
	}
	project := vfs.New(vfs.Config{Mounts: mounts, WorkingDir: "/work/project"})
	read := func(fs sys.FS, name string) string {
		file, errno := fs.OpenFile(name, sys.O_RDONLY, 0o600)
		if errno != 0 {
			return errno.Error()
		}
		defer file.Close()
		buf := make([]byte, 100)
		n, errno := file.Read(buf)
		if errno != 0 {
			return errno.Error()
		}
		return string(buf[:n])
	}
	for name, want := range map[string]string{
		"a": "project/a", "src/a": "project/src/a", "./a": "project/a",
		"work/project/src/a": "project/src/a",
		"data/a":             "data/a",         // a mount, although the project has a directory of the name
		"./data/a":           "project/data/a", // in the opened directory "."
		"link/data/a":        "data/a",
		"link/a":             sys.ENOENT.Error(),
		"work/a":             sys.ENOENT.Error(), // not the virtual directory /work
		"database":           sys.ENOENT.Error(),
	} {
		if got := read(project, name); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
	in := vfs.New(vfs.Config{Mounts: mounts, WorkingDir: "/work/project/src"})
	if got := read(in, "a"); got != "project/src/a" {
		t.Errorf("in a subdirectory: got %q", got)
	}
	root := vfs.New(vfs.Config{Mounts: mounts, WorkingDir: "/"})
	if got := read(root, "work/project/a"); got != "project/a" {
		t.Errorf("in the root: got %q", got)
	}

	// All paths are in a mount of the root. Paths are relative to the working directory nevertheless.
	whole, err := os.Open(top)
	if err != nil {
		t.Fatal(err)
	}
	defer whole.Close()
	all, err := vfs.NewMounts([]vfs.Mount{{Path: "/", Dir: whole}})
	if err != nil {
		t.Fatal(err)
	}
	below := vfs.New(vfs.Config{Mounts: all, WorkingDir: "/project"})
	for name, want := range map[string]string{"a": "project/a", "data/a": "project/data/a", "project/a": "project/a"} {
		if got := read(below, name); got != want {
			t.Errorf("%s, with a mount of the root: got %q, want %q", name, got, want)
		}
	}

	for _, name := range []string{".", "./", "./.", "src", "src/", "work/project"} {
		dir, errno := project.OpenFile(name, sys.O_RDONLY|sys.O_DIRECTORY, 0o600)
		if errno != 0 {
			t.Fatalf("%s: %v", name, errno)
		}
		entries, errno := dir.Readdir(-1)
		if dir.Close(); errno != 0 || name[0] != 's' && len(entries) != 4 || name[0] == 's' && len(entries) != 1 {
			t.Errorf("%s: got %v, %v", name, entries, errno)
		}
	}
	preopen, errno := project.OpenFile(".", sys.O_RDONLY, 0)
	if errno != 0 || project.Handles() != 0 {
		t.Errorf("the preopened directory: %v, %d handles of the module", errno, project.Handles())
	}
	if entries, errno := preopen.Readdir(-1); errno != 0 || len(entries) != 3 { // data, link, work
		t.Errorf("the preopened directory lists %v, %v; want the root", entries, errno)
	}
	preopen.Close()
}

func TestRelativeChanges(t *testing.T) {
	top := t.TempDir()
	handle, err := os.Open(top)
	if err != nil {
		t.Fatal(err)
	}
	defer handle.Close()
	mounts, err := vfs.NewMounts([]vfs.Mount{{Path: "/w", Dir: handle, Write: true}})
	if err != nil {
		t.Fatal(err)
	}
	tree := vfs.New(vfs.Config{Mounts: mounts, WorkingDir: "/w"})
	for i, errno := range []sys.Errno{
		tree.Mkdir("d", 0o700), tree.Mkdir("w/e", 0o700), tree.Rename("d", "w/f"), tree.Symlink("f", "l"), tree.Chmod("f", 0o700),
		tree.Utimens("f", 0, 0), tree.Rmdir("w/e"),
	} {
		if errno != 0 {
			t.Errorf("change %d: %v", i, errno)
		}
	}
	if target, errno := tree.Readlink("w/l"); errno != 0 || target != "f" {
		t.Errorf("got the target %q, %v", target, errno)
	}
	if st, errno := tree.Lstat("l"); errno != 0 || st.Mode.IsDir() {
		t.Errorf("got the mode %v, %v", st.Mode, errno)
	}
	if st, errno := tree.Stat("l"); errno != 0 || !st.Mode.IsDir() {
		t.Errorf("got the mode %v, %v", st.Mode, errno)
	}
	file, errno := tree.OpenFile("f/x", sys.O_RDWR|sys.O_CREAT, 0o600)
	if errno != 0 {
		t.Fatal(errno)
	}
	file.Close()
	if errno := tree.Unlink("f/x"); errno != 0 {
		t.Error(errno)
	}
	if names, err := os.ReadDir(top); err != nil || len(names) != 2 {
		t.Errorf("got %v, %v, want f and l", names, err)
	}
}
