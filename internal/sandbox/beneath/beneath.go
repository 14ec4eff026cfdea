// Package beneath opens and changes files below an open directory, by names that cannot leave it. Start with New.
//
// It is the trust boundary of the file system: names are chosen by modules, and other processes may replace directories by
// symbolic links between any two system calls. No such race makes an operation leave the directory. A Dir opens nothing by
// absolute path and needs no /proc, so it works in a confined process.
//
// The strict form of a Dir follows no symbolic link. The form that Following returns follows those that are relative and
// stay below the directory. In both forms, a name that leaves the directory fails with ErrEscapes.
//
// On Linux the kernel resolves a name atomically (openat2 with RESOLVE_BENEATH). Without that system call, on macOS and on
// Windows, a name is walked component by component, each opened without following links.
package beneath

import (
	"errors"
	"io/fs"
	"os"
	"runtime"
	"strings"
	"syscall"

	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/internal/seam"
)

// Errors of a lookup. They come wrapped in an *fs.PathError.
var (
	// ErrEscapes means that a name, or a symbolic link in it, leaves the directory.
	ErrEscapes = errors.New("path escapes from the directory")
	// ErrSpecial means that the file is a device, FIFO or socket, which are never opened.
	ErrSpecial = errors.New("neither a regular file nor a directory")
)

// Dir is an open directory. It is safe for concurrent use, except for Close. Names are relative and slash-separated,
// without empty components; "." is the directory itself.
type Dir struct {
	fd     int
	file   *os.File // argument of New, kept reachable so that fd stays open; nil if the Dir owns fd
	follow bool
}

// New returns the strict form of a directory that the caller has opened, on Linux possibly with O_PATH. The caller closes
// the file, after the last use of the Dir and of those that its Following returned.
func New(file *os.File) (*Dir, error) {
	d := &Dir{file: file}
	var st Stat
	err := Control(file, func(fd int) (err error) {
		d.fd = fd
		st, err = fstat(fd)
		return err
	})
	if err != nil {
		return nil, err
	}
	if !st.IsDir() {
		return nil, &fs.PathError{Op: "open", Path: file.Name(), Err: ErrNotDir}
	}
	return d, nil
}

// Following returns the form that follows relative symbolic links. It shares the descriptor of d and must not be closed.
func (d *Dir) Following() *Dir { return &Dir{fd: d.fd, file: d.file, follow: true} }

// Close closes the descriptor of a Dir from OpenDir; for a Dir from New it does nothing. It must be called once, after
// all other use.
func (d *Dir) Close() {
	if d.file == nil {
		closeFD(d.fd)
	}
}

// OpenDir opens a directory for lookups, in the same form as d.
func (d *Dir) OpenDir(name string) (*Dir, error) {
	fd, err := d.lookup(name, openDirFlags, 0, d.follow)
	runtime.KeepAlive(d)
	if err != nil {
		return nil, pathError("open", name, err)
	}
	return &Dir{fd: fd, follow: d.follow}, nil
}

// OpenStrict is OpenDir, but returns the strict form.
func (d *Dir) OpenStrict(name string) (*Dir, error) {
	opened, err := d.OpenDir(name)
	if opened != nil {
		opened.follow = false
	}
	return opened, err
}

// Open opens a regular file or a directory; it never blocks, and fails with ErrSpecial for a special file. The flags are
// those of package os; a new file gets the permissions perm. A symbolic link as the last component is followed in the
// form that follows links, unless flag has O_NOFOLLOW or O_EXCL; otherwise Open fails with ELOOP.
func (d *Dir) Open(name string, flag int, perm fs.FileMode) (*os.File, Stat, error) {
	flag |= openFlags
	follow := d.follow && flag&(noFollow|os.O_EXCL) == 0
	if !follow {
		flag |= noFollow
	}
	fd, err := d.lookup(name, flag, uint32(perm.Perm()), follow)
	runtime.KeepAlive(d)
	if err != nil {
		return nil, Stat{}, pathError("open", name, err)
	}
	st, err := fstat(fd)
	if err == nil && !st.Mode.IsRegular() && !st.IsDir() {
		err = ErrSpecial
	}
	if err == nil {
		err = setBlocking(fd, flag)
	}
	if err != nil {
		closeFD(fd)
		return nil, Stat{}, pathError("open", name, err)
	}
	return os.NewFile(uintptr(fd), name), st, nil
}

// Stat describes the directory itself.
func (d *Dir) Stat() (Stat, error) {
	st, err := fstat(d.fd)
	runtime.KeepAlive(d)
	return st, pathError("stat", ".", err)
}

// StatName describes a file. In the form that follows links, it describes the target of a symbolic link.
func (d *Dir) StatName(name string) (Stat, error) {
	if !d.follow {
		return d.Lstat(name)
	}
	st, err := d.statFollowing(name)
	runtime.KeepAlive(d)
	return st, pathError("stat", name, err)
}

// Lstat is like StatName, but does not follow a symbolic link as the last component.
func (d *Dir) Lstat(name string) (st Stat, err error) {
	if name == "." {
		return d.Stat()
	}
	err = d.at("lstat", name, func(fd int, leaf string) error {
		st, err = fstatat(fd, leaf)
		return err
	})
	return st, err
}

// Born returns the time at which a file was created, in nanoseconds since 1970; ok is false if the system does not tell. A symbolic link
// is not followed.
func (d *Dir) Born(name string) (nanoseconds int64, ok bool) {
	if name == "." {
		defer runtime.KeepAlive(d)
		return born(d.fd, "")
	}
	err := d.at("born", name, func(fd int, leaf string) error {
		nanoseconds, ok = born(fd, leaf)
		return nil
	})
	return nanoseconds, ok && err == nil
}

// Readlink returns the target of a symbolic link.
func (d *Dir) Readlink(name string) (target string, err error) {
	err = d.at("readlink", name, func(fd int, leaf string) error {
		target, err = readlinkat(fd, leaf)
		return err
	})
	return target, err
}

// Mkdir creates a directory with the permissions perm before the umask.
func (d *Dir) Mkdir(name string, perm fs.FileMode) error {
	return d.at("mkdir", name, func(fd int, leaf string) error {
		return mkdirat(fd, leaf, uint32(perm.Perm()))
	})
}

// MkdirAll creates a directory and its missing ancestors. It fails with ENOTDIR if a file on the path is not a directory.
func (d *Dir) MkdirAll(name string, perm fs.FileMode) error {
	for end := 0; end < len(name); {
		if next := strings.IndexByte(name[end+1:], '/'); next >= 0 {
			end += 1 + next
		} else {
			end = len(name)
		}
		err := d.Mkdir(name[:end], perm)
		if err == nil {
			continue
		}
		if !errors.Is(err, fs.ErrExist) {
			return err
		}
		st, err := d.StatName(name[:end])
		if err != nil {
			return err
		}
		if !st.IsDir() {
			return pathError("mkdir", name, ErrNotDir)
		}
	}
	return nil
}

// Symlink creates a symbolic link. The target is not checked.
func (d *Dir) Symlink(target, name string) error {
	return d.at("symlink", name, func(fd int, leaf string) error { return symlinkat(target, fd, leaf) })
}

// Unlink removes a file other than a directory.
func (d *Dir) Unlink(name string) error {
	return d.at("unlink", name, unlinkat)
}

// Rmdir removes an empty directory.
func (d *Dir) Rmdir(name string) error {
	return d.at("rmdir", name, rmdirat)
}

// Rename moves a file from one directory to another. If the name is a symbolic link, the link itself is moved.
func Rename(from *Dir, name string, to *Dir, other string) error {
	return from.at("rename", name, func(a int, old string) error {
		return to.at("rename", other, func(b int, new string) error { return renameat(a, old, b, new) })
	})
}

// Link creates a hard link. If the name is a symbolic link, the new name links to the link itself, if the system supports
// that.
func Link(from *Dir, name string, to *Dir, other string) error {
	return from.at("link", name, func(a int, old string) error {
		return to.at("link", other, func(b int, new string) error { return linkat(a, old, b, new) })
	})
}

// at runs do with the open parent directory of a name and the name's last component, for an *at system call. The component is
// not ".." and contains no slash, so the call cannot leave the parent directory.
func (d *Dir) at(op, name string, do func(fd int, leaf string) error) error {
	defer runtime.KeepAlive(d)
	fd, leaf := d.fd, name
	if slash := strings.LastIndexByte(name, '/'); slash >= 0 {
		var err error
		if fd, err = d.lookup(name[:slash], openDirFlags, 0, d.follow); err != nil {
			return pathError(op, name, err)
		}
		defer closeFD(fd)
		leaf = name[slash+1:]
	}
	err := checkLeaf(leaf)
	if err == nil {
		_, err = retry(func() (int, error) { return 0, do(fd, leaf) })
	}
	return pathError(op, name, err)
}

// checkLeaf refuses a component that an *at system call would not look up in its directory.
func checkLeaf(leaf string) error {
	switch leaf {
	case "", ".":
		return syscall.EINVAL
	case "..":
		return ErrEscapes
	}
	return nil
}

// lookup opens a name. A symbolic link as the last component is followed if follow is true, and symbolic links as other
// components if d follows links.
func (d *Dir) lookup(name string, flag int, perm uint32, follow bool) (int, error) {
	if !follow {
		flag |= noFollow
	}
	if name == "." {
		return openat(d.fd, name, flag, perm)
	}
	if !follow && strings.IndexByte(name, '/') < 0 {
		if err := checkLeaf(name); err != nil {
			return -1, err
		}
		return openat(d.fd, name, flag, perm)
	}
	if name == "" || name[0] == '/' {
		return -1, syscall.EINVAL
	}
	return d.resolve(name, flag, perm, follow)
}

func openat(dir int, name string, flag int, perm uint32) (int, error) {
	return retry(func() (int, error) { return sysOpenat(dir, name, flag, perm) })
}

// retry repeats a system call that was interrupted by a signal.
func retry(call func() (int, error)) (int, error) {
	for {
		seam.Call()
		n, err := call()
		if err != syscall.EINTR {
			return n, err
		}
	}
}

// pathError wraps an error in an *fs.PathError, unless it is one already.
func pathError(op, name string, err error) error {
	switch err.(type) {
	case nil:
		return nil
	case *fs.PathError:
		return err
	}
	return &fs.PathError{Op: op, Path: name, Err: err}
}
