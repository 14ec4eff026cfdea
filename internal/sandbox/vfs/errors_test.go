//go:build linux || darwin

package vfs_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tetratelabs/wazero/experimental/sys"

	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/vfs"
)

func scans(p string) change {
	return func(w *world) sys.Errno {
		return w.fs.Scan(w.at(p), vfs.Scan{Depth: 3}, func(*vfs.Scanned) bool { return true })
	}
}

// TestPermissionsOfTheSystemAreReported has files that the grant includes, but that the system refuses.
func TestPermissionsOfTheSystemAreReported(t *testing.T) {
	if testenv.AsNobody(t) {
		return
	}
	for name, do := range map[string]change{
		"read a file":              opens("w/closed", sys.O_RDONLY),
		"write a file":             opens("w/closed", sys.O_WRONLY),
		"empty a file":             opens("w/closed", sys.O_RDWR|sys.O_TRUNC),
		"set times":                utimens("w/closed"),
		"list a directory":         opens("w/unlisted", sys.O_RDONLY),
		"scan a directory":         scans("w/unlisted"),
		"find in a directory":      opens("w/unlisted/f", sys.O_RDONLY),
		"make a file":              writes("w/fixed/new"),
		"make a directory":         mkdirs("w/fixed/new"),
		"make a link":              symlinks("x", "w/fixed/new"),
		"make a hard link":         links("w/a.txt", "w/fixed/new"),
		"make a part of git's":     mkdirs("w/fixed/refs"),
		"move a file in":           renames("w/a.txt", "w/fixed/new"),
		"move a file out":          renames("w/fixed/f", "w/new"),
		"move a directory of many": renames("w/unlisted", "w/dir/unlisted"),
		"move what cannot be read": renames("w/holds", "w/dir/holds"), // it may contain links that lead out from there
		"move unknown links":       renames("w/lists", "w/dir/lists"),
		"replace by a closed file": renames("w/closed", "w/a.txt"),
		"remove a file":            unlinks("w/fixed/f"),
		"remove a directory":       rmdirs("w/fixed/d"),
	} {
		w := newWorld(t)
		for path, content := range map[string]string{"w/closed": "x", "w/unlisted/f": "x", "w/fixed/f": "x", "w/fixed/d/": "", "w/holds/closed/f": "x", "w/lists/names/l": "->f"} {
			w.put(path, content)
		}
		for path, mode := range map[string]os.FileMode{"w/closed": 0, "w/unlisted": 0, "w/fixed": 0o555, "w/holds/closed": 0, "w/lists/names": 0o444} {
			if err := os.Chmod(w.at(path), mode); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { os.Chmod(w.at(path), 0o755) })
		}
		if errno := do(w); errno != sys.EACCES {
			t.Errorf("%s: got %v, want EACCES", name, errno)
		}
		if len(w.denied) > 0 {
			t.Errorf("%s: reported as refused by the grant: %q", name, w.denied)
		}
	}
}

// A scan says of a mount that the system does not let it list that it is unreadable: it is not empty.
func TestScanShowsThatMountIsUnreadable(t *testing.T) {
	if testenv.AsNobody(t) {
		return
	}
	w := newWorld(t)
	if err := os.Chmod(w.at("p/sub"), 0o111); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Chmod(w.at("p/sub"), 0o755) })
	found := false
	errno := w.fs.Scan(w.in("p"), vfs.Scan{Depth: 2}, func(e *vfs.Scanned) bool {
		found = found || e.Name == "sub" && e.Unreadable
		return true
	})
	if errno != 0 || !found {
		t.Errorf("unreadable: %t, %v", found, errno)
	}
}

// Only its owner may change the mode and the times of a file. The file is one of the system, and gets the mode that it has.
func TestFileOfOtherUserIsNotChanged(t *testing.T) {
	if testenv.AsNobody(t) {
		return
	}
	file, err := filepath.EvalSymlinks("/etc/passwd")
	if err != nil {
		t.Skip(err)
	}
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	tree := vfs.New(vfs.Config{Mounts: vfs.MountsAt(t, vfs.Mount{Path: filepath.Dir(file), Write: true})})
	for name, errno := range map[string]sys.Errno{
		"mode":  tree.Chmod(file[1:], info.Mode().Perm()),
		"times": tree.Utimens(file[1:], info.ModTime().UnixNano(), info.ModTime().UnixNano()),
	} {
		if errno != sys.EPERM && errno != sys.EROFS {
			t.Errorf("%s: got %v, want EPERM", name, errno)
		}
	}
}

func TestAbsentMountThatHostCannotCreate(t *testing.T) {
	path := t.TempDir() + "/absent"
	mounts, err := vfs.NewMounts([]vfs.Mount{{Path: path, Write: true}})
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, func(c *vfs.Config) { c.Mounts = mounts })
	if errno := w.fs.Mkdir(path[1:], 0o755); errno == 0 {
		t.Error("the directory was created")
	}
	if len(w.errors) != 1 || !strings.Contains(w.errors[0].Error(), "the host cannot create it") {
		t.Errorf("reported %v", w.errors)
	}
}

func TestFlagsOfSystemCall(t *testing.T) {
	for flag, want := range map[sys.Oflag]int{
		sys.O_RDONLY: os.O_RDONLY, sys.O_WRONLY: os.O_WRONLY, sys.O_RDWR: os.O_RDWR, sys.O_RDONLY | sys.O_TRUNC: os.O_RDWR, sys.O_WRONLY | sys.O_TRUNC: os.O_WRONLY,
		sys.O_RDONLY | sys.O_CREAT | sys.O_EXCL | sys.O_APPEND | sys.O_NOFOLLOW: os.O_RDONLY, sys.O_WRONLY | sys.O_SYNC: os.O_WRONLY | os.O_SYNC,
		sys.O_WRONLY | sys.O_DSYNC: os.O_WRONLY | os.O_SYNC, sys.O_RDONLY | sys.O_RSYNC: os.O_SYNC,
	} {
		if got := vfs.OSFlag(flag); got != want {
			t.Errorf("%#x: got %#x, want %#x", flag, got, want)
		}
	}
}

func TestTreeWithoutMountsIsEmpty(t *testing.T) {
	tree := vfs.New(vfs.Config{})
	if _, errno := tree.Stat("etc"); errno != sys.ENOENT {
		t.Errorf("got %v, want ENOENT", errno)
	}
}

func TestMountIsDirectory(t *testing.T) {
	w := newWorld(t)
	file, err := os.Open(w.at("w/a.txt"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := vfs.NewMounts([]vfs.Mount{{Path: w.at("w/a.txt"), Dir: file}}); err == nil {
		t.Error("a file is mounted")
	}
	dir, err := os.Open(w.at("w/dir"))
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	if err := w.mounts.Created(w.at("w/dir"), dir); err == nil {
		t.Error("a directory in a mount is created as a mount")
	}
	if err := w.mounts.Created(w.at("absent"), file); err == nil {
		t.Error("a file is the directory of a mount")
	}
	if err := w.mounts.Created(w.at("absent"), dir); err != nil {
		t.Error(err)
	}
	if got, errno := w.read("absent/b.txt"); got != "b" || errno != 0 {
		t.Errorf("in the mount that was created: got %q, %v", got, errno)
	}
}

func TestOpenedDirectoryExists(t *testing.T) {
	w := newWorld(t)
	for name, want := range map[string]sys.Errno{
		"w/dir": 0, "w/dirlink": 0, "w/new": sys.ENOENT, "w/a.txt": sys.ENOTDIR, "w/a.txt/": sys.ENOTDIR, "ro/d": sys.EACCES, "ro/new": sys.EACCES, "out": sys.EACCES, "w/.git": sys.EACCES,
	} {
		file, errno := w.fs.OpenDirectory(w.at(name))
		if errno == 0 {
			if info, err := file.Stat(); err != nil || !info.IsDir() {
				t.Errorf("%s: got %v, %v", name, info, err)
			}
			file.Close()
		}
		if errno != want {
			t.Errorf("%s: got %v, want %v", name, errno, want)
		}
	}
}

func TestDirectoryBelowAbsentMountIsNotCreated(t *testing.T) {
	w := newWorld(t)
	if errno := w.fs.Mkdir(w.in("absent/sub"), 0o755); errno != sys.ENOENT {
		t.Errorf("got %v, want ENOENT", errno)
	}
	if _, err := os.Lstat(w.at("absent")); err == nil {
		t.Error("the mount was created")
	}
}

// A name that ends in a slash names a directory, which no link is.
func TestLinksHaveNoTrailingSlash(t *testing.T) {
	w := newWorld(t)
	for name, do := range map[string]change{"a hard link": links("w/a.txt", "w/new/"), "a symbolic link": symlinks("a.txt", "w/new/")} {
		if errno := do(w); errno != sys.ENOENT {
			t.Errorf("%s: got %v, want ENOENT", name, errno)
		}
		if _, err := os.Lstat(w.at("w/new")); err == nil {
			t.Errorf("%s was created", name)
		}
	}
}

func TestTimesOfClosedFileAreBadDescriptor(t *testing.T) {
	w := newWorld(t)
	f := w.mustOpen("ro/r.txt", sys.O_RDONLY)
	if errno := f.Utimens(0, 0); errno != sys.EACCES {
		t.Errorf("got %v, want EACCES", errno)
	}
	if errno := f.Close(); errno != 0 {
		t.Fatal(errno)
	}
	if errno := f.Utimens(0, 0); errno != sys.EBADF {
		t.Errorf("of a closed file: got %v, want EBADF", errno)
	}
}

func TestErrorOfCreatingMountIsReported(t *testing.T) {
	path := t.TempDir() + "/absent"
	mounts, err := vfs.NewMounts([]vfs.Mount{{Path: path, Write: true, Create: func(context.Context) (*os.File, error) { return nil, syscall.ENOSPC }}})
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, func(c *vfs.Config) { c.Mounts = mounts })
	if errno := w.fs.Mkdir(path[1:], 0o755); errno != sys.EIO || len(w.errors) != 1 || !errors.Is(w.errors[0], syscall.ENOSPC) {
		t.Errorf("got %v, reported %v", errno, w.errors)
	}
}

func TestReadlinkIsForLinks(t *testing.T) {
	w := newWorld(t)
	for name, want := range map[string]sys.Errno{
		"w/link": 0, "w/abs-out": 0, "w/dangling": 0, "w/a.txt": sys.EINVAL, "w/dir": sys.EINVAL, "": sys.EINVAL, "w": sys.EINVAL,
		"w/absent": sys.ENOENT, "out/absent": sys.ENOENT, "w/dir-out/x": sys.EACCES, "w/link/": sys.ENOTDIR, "p/evil": sys.EACCES,
	} {
		if target, errno := w.fs.Readlink(w.in(name)); errno != want || (target == "") != (want != 0) {
			t.Errorf("%s: got %q, %v; want %v", name, target, errno, want)
		}
	}
}

// The target of a link is a path like any other.
func TestInvalidTargetIsReported(t *testing.T) {
	w := newWorld(t)
	w.put("w/invalid", "->a\xff")
	if _, errno := w.read("w/invalid"); errno != sys.EINVAL {
		t.Errorf("got %v, want EINVAL", errno)
	}
	if target, errno := w.fs.Readlink(w.in("w/invalid")); errno != 0 || target != "a\xff" {
		t.Errorf("readlink: got %q, %v", target, errno)
	}
}

func TestBornIsKnownOfGrantedFilesOnly(t *testing.T) {
	w := newWorld(t, func(c *vfs.Config) { c.Hidden = func(p string, _ bool) bool { return strings.HasSuffix(p, "/b.txt") } })
	now := time.Now().UnixNano()
	for name, want := range map[string]bool{
		"w/a.txt": true, "w/link": true, "w/dir": true, "w": true, "ro/r.txt": true, "": false, "w/a.txt/": false, "w/absent": false,
		"w/dir/b.txt": false, "w/abs-out": false, "out/canary.txt": false, "absent": false,
	} {
		born, ok := w.fs.Born(w.in(name))
		if _, err := os.Stat(w.at(name)); want && !ok && err == nil {
			t.Skipf("the file system does not tell when %s was created", name)
		}
		if ok != want || ok && (born > now || born < now-int64(time.Hour)) || !ok && born != 0 {
			t.Errorf("%s: got %d, %t; want %t", name, born, ok, want)
		}
	}
}

// What a module puts at the path of an absent ancestor of a mount would choose the directory that is granted at the next start.
func TestAbsentAncestorOfMountIsNotReplaced(t *testing.T) {
	for name, do := range map[string]change{
		"a link": symlinks("dir", "w/later"), "a file": writes("w/later"), "a moved link": renames("w/link", "w/later"), "a moved directory": renames("w/dir", "w/later"),
	} {
		w := newWorld(t)
		w.fs = vfs.New(vfs.Config{Mounts: vfs.MountsAt(t, vfs.Mount{Path: w.at("w"), Write: true}, vfs.Mount{Path: w.at("w/later/mount"), Write: true})})
		if errno := do(w); errno != sys.EPERM {
			t.Errorf("%s: got %v, want EPERM", name, errno)
		}
		if _, err := os.Lstat(w.at("w/later")); err == nil {
			t.Errorf("%s was put there", name)
		}
	}
}

// A directory that appears at the path of an absent mount has the access of that mount, not of the mount around it.
func TestDirectoryAtAbsentMountHasItsAccess(t *testing.T) {
	w := newWorld(t)
	w.put("p/later/f", "f")
	w.put("p/git/f", "f")
	for name, c := range map[string]struct {
		mount vfs.Mount
		want  sys.Errno
	}{
		"p/later": {vfs.Mount{Path: w.at("p/later")}, sys.EACCES},
		"p/git":   {vfs.Mount{Path: w.at("p/git"), Write: true, InGit: true}, sys.EPERM},
	} {
		outer, err := os.Open(w.at("p"))
		if err != nil {
			t.Fatal(err)
		}
		defer outer.Close()
		mounts, err := vfs.NewMounts([]vfs.Mount{{Path: w.at("p"), Write: true, Dir: outer}, c.mount})
		if err != nil {
			t.Fatal(err)
		}
		w.fs = vfs.New(vfs.Config{Mounts: mounts})
		if got, errno := w.read(name + "/f"); got != "f" || errno != 0 {
			t.Errorf("%s: read %q, %v", name, got, errno)
		}
		for change, do := range map[string]change{
			"write a file": writes(name + "/f"), "make one": writes(name + "/new"), "set its mode": chmods(name), "make a directory": mkdirs(name + "/new"),
		} {
			if errno := do(w); errno != c.want {
				t.Errorf("%s: %s: got %v, want %v", name, change, errno, c.want)
			}
		}
	}
}

// A target that ends in a slash is a directory, and so is what the link stands for at the end of a path.
func TestTargetWithTrailingSlashIsDirectory(t *testing.T) {
	w := newWorld(t)
	w.put("w/tofile", "->a.txt/")
	w.put("w/todir", "->dir/")
	w.put("w/tonew", "->new/")
	w.put("w/todot", "->a.txt/.")
	for name, want := range map[string]sys.Errno{"w/tofile": sys.ENOTDIR, "w/todot": sys.ENOTDIR, "w/todir": 0, "w/todir/b.txt": 0} {
		if _, errno := w.fs.Stat(w.in(name)); errno != want {
			t.Errorf("%s: got %v, want %v", name, errno, want)
		}
	}
	if errno := w.write("w/tonew", "x"); errno != sys.EISDIR {
		t.Errorf("a new file through a link to a directory: got %v", errno)
	}
}
