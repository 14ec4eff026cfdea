package beneath

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/windows"

	"github.com/bulkhead-mcp/bulkhead/internal/base/ntfile"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/internal/seam"
)

// Flags of Open, besides those of package os.
const (
	// Directory makes Open fail unless the file is a directory.
	Directory = ntfile.Directory

	noFollow     = ntfile.NoFollow
	openFlags    = 0
	openDirFlags = ntfile.Directory
)

// ErrNotDir means that a file is not a directory, where the operation requires one.
const ErrNotDir = ntfile.ENOTDIR

// named replaces the error of a name that Windows would map to a different file.
func named(err error) error {
	if refused := ntfile.ErrName(""); errors.As(err, &refused) {
		return syscall.EINVAL
	}
	return err
}

func sysOpenat(dir int, name string, flag int, perm uint32) (int, error) {
	fd, err := ntfile.Open(dir, name, flag)
	if err == nil && flag&os.O_CREATE != 0 && perm&0o200 == 0 {
		err = ntfile.Chmod(fd, false)
	}
	return fd, named(err)
}

func closeFD(fd int) { _ = ntfile.Close(fd) }

func setBlocking(int, int) error { return nil }

func read(fd int, buf []byte) (int, error) {
	var n uint32
	err := windows.ReadFile(windows.Handle(fd), buf, &n, nil)
	return int(n), err
}

func readDirent(fd int, buf []byte, begun bool) (int, error) {
	data, err := ntfile.List(fd, buf, !begun)
	if err == io.EOF {
		return 0, nil
	}
	return len(data), err
}

// next decodes one entry; ok is false if the entry is to be left out.
func (l *Listing) next(int) (e Entry, ok bool, err error) {
	found, rest, ok := ntfile.NextEntry(l.left)
	if l.left = rest; !ok {
		return e, false, syscall.EIO
	}
	isDir, link, special := found.Kind()
	e.Name = found.Name
	switch {
	case e.Name == "" || e.Name == "." || e.Name == "..":
		return e, false, nil
	case link:
		e.Type = fs.ModeSymlink
	case special:
		e.Type = fs.ModeIrregular
	case isDir:
		e.Type = fs.ModeDir
	}
	return e, true, nil
}

// readlinkat returns the target in the form of paths in the file tree: with slashes, and with a slash before the drive.
func readlinkat(dir int, leaf string) (string, error) {
	target, err := ntfile.Readlink(dir, leaf)
	if err != nil {
		return "", named(err)
	}
	target = strings.ReplaceAll(target, `\`, "/")
	if strings.Contains(target, ":") && !strings.HasPrefix(target, "/") {
		target = "/" + target
	}
	if len(target) >= maxTarget {
		return "", syscall.ENAMETOOLONG
	}
	return target, nil
}

func mkdirat(dir int, leaf string, _ uint32) error { return named(ntfile.Mkdir(dir, leaf)) }

// symlinkat fails: most users of Windows may not create symbolic links, and a target has a different form than paths of the tree.
func symlinkat(string, int, string) error { return syscall.ENOTSUP }

func unlinkat(dir int, leaf string) error { return named(ntfile.Unlink(dir, leaf)) }

func rmdirat(dir int, leaf string) error { return named(ntfile.Rmdir(dir, leaf)) }

func renameat(from int, old string, to int, new string) error {
	return named(ntfile.Rename(from, old, to, new))
}

func linkat(from int, old string, to int, new string) error {
	return named(ntfile.Link(from, old, to, new))
}

func fchmod(fd int, perm uint32) error { return ntfile.Chmod(fd, perm&0o200 != 0) }

// born reports that the time of creation is not read on Windows.
func born(int, string) (int64, bool) { return 0, false }

// SetTimes sets the times of an open file, in nanoseconds since 1970, with a precision of 100 ns.
func SetTimes(file *os.File, atime, mtime int64) error {
	err := Control(file, func(fd int) error { return ntfile.SetTimes(fd, atime, mtime) })
	return pathError("utimens", file.Name(), err)
}

func fstat(fd int) (Stat, error) {
	seam.Call()
	info, err := ntfile.Stat(fd)
	return statOf(info), err
}

func fstatat(dir int, leaf string) (Stat, error) {
	seam.Call()
	info, err := ntfile.StatAt(dir, leaf)
	return statOf(info), named(err)
}

func statOf(info ntfile.Info) Stat {
	st := Stat{
		FileID: FileID{info.Volume, info.Index}, Nlink: info.Links, Size: info.Size,
		Atime: info.Atime, Mtime: info.Mtime, Ctime: info.Ctime, Mode: 0o666,
	}
	switch {
	case info.Link:
		st.Mode |= fs.ModeSymlink
	case info.Special:
		st.Mode |= fs.ModeIrregular
	case info.IsDir:
		st.Mode, st.Size = 0o777|fs.ModeDir, 0
	}
	if info.ReadOnly && !info.IsDir {
		st.Mode &^= 0o222
	}
	return st
}
