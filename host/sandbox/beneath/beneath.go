//go:build linux || darwin

// Package beneath works on files below an open directory, by names that never lead out of it.
//
// Start with New, which takes the descriptor of a directory. A Dir opens nothing by absolute path and
// needs no /proc, so it works in a process that can resolve neither. It comes in two forms. The strict
// form follows no symbolic link at all; the form that Following gives follows those that are relative and
// stay below the directory. In both forms a name that leads out is ErrEscapes.
//
// On Linux the kernel resolves names in one step (openat2); where that system call is missing, and on
// macOS, names are walked component by component, each opened without following links.
package beneath

import (
	"errors"
	"io/fs"
	"os"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/bulkhead-mcp/bulkhead/host/sandbox/internal/seam"
)

// Errors of a lookup. They come wrapped in an *fs.PathError.
var (
	// ErrEscapes says that a name, or a symbolic link on its way, leads out of the directory.
	ErrEscapes = errors.New("leads out of the directory")
	// ErrSpecial says that a name stands for a device, FIFO or socket, which are never opened.
	ErrSpecial = errors.New("neither a regular file nor a directory")
)

// Dir is an open directory. Its methods may be called from several goroutines, except for Close. Names
// are relative and slash-separated, without empty components; "." is the directory itself.
type Dir struct {
	fd     int
	file   *os.File // of New, kept from being collected; nil: fd belongs to this Dir
	follow bool
}

// New gives the strict form for a directory that was opened elsewhere, on Linux possibly with O_PATH. The
// file stays the caller's to close, after the last use of the Dir and of those that came from it.
func New(file *os.File) (*Dir, error) {
	conn, err := file.SyscallConn()
	if err != nil {
		return nil, err
	}
	d := &Dir{file: file}
	if err := conn.Control(func(fd uintptr) { d.fd = int(fd) }); err != nil {
		return nil, err
	}
	st, err := d.Stat()
	if err != nil {
		return nil, err
	}
	if !st.IsDir() {
		return nil, &fs.PathError{Op: "open", Path: file.Name(), Err: unix.ENOTDIR}
	}
	return d, nil
}

// Following gives the form that follows relative links, for the same descriptor. It is closed with d.
func (d *Dir) Following() *Dir { return &Dir{fd: d.fd, file: d.file, follow: true} }

// Close closes the descriptor, unless that came from New. It must be called once, after all other use.
func (d *Dir) Close() {
	if d.file == nil {
		_ = unix.Close(d.fd) // nothing was written through it
	}
}

// OpenDir opens a directory, to look names up in it. It keeps the form of d.
func (d *Dir) OpenDir(name string) (*Dir, error) {
	fd, err := d.lookup(name, openDirFlags, 0, d.follow)
	runtime.KeepAlive(d)
	if err != nil {
		return nil, pathError("open", name, err)
	}
	return &Dir{fd: fd, follow: d.follow}, nil
}

// Open opens a regular file or a directory, without waiting for whatever is there. The flags are those of
// package os; a file that it creates gets the permissions perm. A link in the last component is followed
// in the form that follows links, unless flag has O_NOFOLLOW or O_EXCL; else it is ELOOP.
func (d *Dir) Open(name string, flag int, perm fs.FileMode) (*os.File, Stat, error) {
	flag |= unix.O_NONBLOCK | unix.O_CLOEXEC | unix.O_NOCTTY
	follow := d.follow && flag&(unix.O_NOFOLLOW|unix.O_EXCL) == 0
	if !follow {
		flag |= unix.O_NOFOLLOW
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
		// The flag has no effect on what it is now known to be, but os would ask the poller about it.
		_, err = unix.FcntlInt(uintptr(fd), unix.F_SETFL, flag&(unix.O_APPEND|unix.O_SYNC))
	}
	if err != nil {
		_ = unix.Close(fd)
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

// StatName describes what a name stands for, in the form that follows links a link's target.
func (d *Dir) StatName(name string) (Stat, error) {
	if !d.follow {
		return d.Lstat(name)
	}
	st, err := d.statFollowing(name)
	runtime.KeepAlive(d)
	return st, pathError("stat", name, err)
}

// Lstat describes what a name stands for, a link in the last component as such.
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

// Readlink gives the target of a symbolic link.
func (d *Dir) Readlink(name string) (target string, err error) {
	err = d.at("readlink", name, func(fd int, leaf string) error {
		buf := make([]byte, maxTarget)
		n, err := retry(func() (int, error) { return unix.Readlinkat(fd, leaf, buf) })
		if err == nil && n == len(buf) {
			err = unix.ENAMETOOLONG
		}
		target = string(buf[:max(n, 0)])
		return err
	})
	return target, err
}

// Mkdir makes a directory with the permissions perm, under the umask.
func (d *Dir) Mkdir(name string, perm fs.FileMode) error {
	return d.at("mkdir", name, func(fd int, leaf string) error {
		return unix.Mkdirat(fd, leaf, uint32(perm.Perm()))
	})
}

// MkdirAll makes a directory and those above it that are missing. What is there and no directory is ENOTDIR.
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
			return pathError("mkdir", name, unix.ENOTDIR)
		}
	}
	return nil
}

// Symlink makes a symbolic link. The target is not looked at.
func (d *Dir) Symlink(target, name string) error {
	return d.at("symlink", name, func(fd int, leaf string) error { return unix.Symlinkat(target, fd, leaf) })
}

// Unlink removes a name that is none of a directory.
func (d *Dir) Unlink(name string) error {
	return d.at("unlink", name, func(fd int, leaf string) error { return unix.Unlinkat(fd, leaf, 0) })
}

// Rmdir removes an empty directory.
func (d *Dir) Rmdir(name string) error {
	return d.at("rmdir", name, func(fd int, leaf string) error { return unix.Unlinkat(fd, leaf, unix.AT_REMOVEDIR) })
}

// Rename moves what a name in one directory stands for to a name in another, a link as such.
func Rename(from *Dir, name string, to *Dir, other string) error {
	return from.at("rename", name, func(a int, old string) error {
		return to.at("rename", other, func(b int, new string) error { return unix.Renameat(a, old, b, new) })
	})
}

// Link gives a file a second name. A symbolic link is linked itself, where the system can do that.
func Link(from *Dir, name string, to *Dir, other string) error {
	return from.at("link", name, func(a int, old string) error {
		return to.at("link", other, func(b int, new string) error { return unix.Linkat(a, old, b, new, 0) })
	})
}

// at runs do on the directory that holds a name, and the name's last component. What do does there can
// neither leave that directory nor follow a link.
func (d *Dir) at(op, name string, do func(fd int, leaf string) error) error {
	defer runtime.KeepAlive(d)
	fd, leaf := d.fd, name
	if slash := strings.LastIndexByte(name, '/'); slash >= 0 {
		var err error
		if fd, err = d.lookup(name[:slash], openDirFlags, 0, d.follow); err != nil {
			return pathError(op, name, err)
		}
		defer func() { _ = unix.Close(fd) }() // nothing was written through it
		leaf = name[slash+1:]
	}
	err := checkLeaf(leaf)
	for err == nil {
		seam.Call()
		if err = do(fd, leaf); err != unix.EINTR {
			break
		}
		err = nil
	}
	return pathError(op, name, err)
}

// checkLeaf demands a name that *at system calls look up in their directory and nowhere else.
func checkLeaf(leaf string) error {
	switch leaf {
	case "", ".":
		return unix.EINVAL
	case "..":
		return ErrEscapes
	}
	return nil
}

// lookup opens what a name stands for. follow says whether a link in the last component is followed; those
// before it are followed in the form that does so.
func (d *Dir) lookup(name string, flag int, perm uint32, follow bool) (int, error) {
	if !follow {
		flag |= unix.O_NOFOLLOW
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
		return -1, unix.EINVAL
	}
	return d.resolve(name, flag, perm, follow)
}

func openat(dir int, name string, flag int, perm uint32) (int, error) {
	return retry(func() (int, error) { return unix.Openat(dir, name, flag|unix.O_CLOEXEC, perm) })
}

// retry repeats a system call that a signal interrupted.
func retry(call func() (int, error)) (int, error) {
	for {
		seam.Call()
		n, err := call()
		if err != unix.EINTR {
			return n, err
		}
	}
}

// pathError names the operation and what it was for; an error that does so already stays.
func pathError(op, name string, err error) error {
	switch err.(type) {
	case nil:
		return nil
	case *fs.PathError:
		return err
	}
	return &fs.PathError{Op: op, Path: name, Err: err}
}

// OpenPath opens a directory by its path, for New. It is the one function here that takes a path, for the
// process that grants directories. Links on the way are followed; what is at the path itself must be no link.
func OpenPath(path string) (*os.File, error) {
	return os.OpenFile(path, openDirFlags|unix.O_NOFOLLOW, 0)
}
