package vfs

import (
	"errors"
	"io/fs"
	"os"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/tetratelabs/wazero/experimental/sys"
)

// resolveStrictly has the kernel refuse every link, and what leads out of the folder, on the way to a file.
const resolveStrictly = unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS

// quick finds what is at a path, to look at or read it: in one step of the kernel's where the walk takes
// several for each component. It takes only paths on which there can be no doubt: below one mount, without
// "..", hidden names and links. Where ok is false nothing is said, and the walk has to answer. The file can
// be looked at, and not read.
func (f *FS) quick(name string) (at *place, file *os.File, err error, ok bool) {
	if f.noQuick.Load() {
		return nil, nil, nil, false
	}
	at, rel, ok := f.plain(name)
	if !ok {
		return nil, nil, nil, false
	}
	dir, err := unix.Open(at.mount.Path+"/.", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, nil, nil, false
	}
	defer func() { _ = unix.Close(dir) }()
	fd, err := unix.Openat2(dir, rel, &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: resolveStrictly})
	switch {
	case err == nil:
		file = os.NewFile(uintptr(fd), at.path)
	case errors.Is(err, unix.ENOENT):
		return nil, nil, sys.ENOENT, true
	case errors.Is(err, unix.ENOSYS), errors.Is(err, unix.EPERM):
		f.noQuick.Store(true) // a kernel before 5.6, or one that may not
		return nil, nil, nil, false
	default:
		return nil, nil, nil, false
	}
	if at.info, err = file.Stat(); err != nil || at.info.Mode()&fs.ModeSymlink != 0 {
		_ = file.Close()
		return nil, nil, nil, false
	}
	return at, file, nil, true
}

// reopen opens what file, which quick found, is of: the very same, whatever has come to its name.
func reopen(file *os.File) (*os.File, error) {
	return os.Open("/proc/self/fd/" + strconv.FormatUint(uint64(file.Fd()), 10))
}
