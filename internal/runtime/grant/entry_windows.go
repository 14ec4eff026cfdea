package grant

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/windows"

	"github.com/bulkhead-mcp/bulkhead/internal/base/ntfile"
)

const (
	handleFlags = ntfile.Directory
	holderFlags = ntfile.Directory
)

func idOf(info ntfile.Info) FileID { return FileID{Dev: info.Volume, Ino: info.Index} }

// rootOf returns the root directory of the volume with which an absolute path begins.
func rootOf(path string) string { return filepath.VolumeName(path) + `\` }

// openEntry opens the entry name of dir. A nil dir means that name is the root directory of a volume. openEntry reads the target of
// a symbolic link or junction, but does not open it.
func openEntry(dir *os.File, name string) (entry, error) {
	if dir == nil {
		fd, err := ntfile.OpenRoot(name)
		return opened(fd, name, err)
	}
	info, err := ntfile.StatAt(int(dir.Fd()), name)
	if err != nil {
		return entry{}, err
	}
	if info.Link {
		target, err := ntfile.Readlink(int(dir.Fd()), name)
		return entry{id: idOf(info), target: target}, err
	}
	if !info.IsDir {
		return entry{}, ntfile.ENOTDIR
	}
	fd, err := ntfile.Open(int(dir.Fd()), name, handleFlags)
	e, err := opened(fd, name, err)
	if err == nil && e.id != idOf(info) {
		_ = e.file.Close() // a failed close loses no data, since the handle wrote none
		return entry{}, ErrMoved
	}
	return e, err
}

func opened(fd int, name string, err error) (entry, error) {
	if err != nil {
		return entry{}, err
	}
	f := os.NewFile(uintptr(fd), name)
	info, err := ntfile.Stat(fd)
	if err != nil {
		_ = f.Close() // a failed close loses no data, since the handle wrote none
		return entry{}, err
	}
	return entry{id: idOf(info), file: f}, nil
}

// linkTarget returns the target of a symbolic link as an absolute path. text is the target as the link states it; dir is the
// resolved directory of the link. The target must be absolute because the caller cannot open "..".
func linkTarget(dir, text string) string {
	text = filepath.FromSlash(text)
	switch {
	case filepath.IsAbs(text):
		return filepath.Clean(text)
	case strings.HasPrefix(text, `\`):
		return filepath.Clean(filepath.VolumeName(dir) + text)
	}
	return filepath.Join(dir, text)
}

// canonicalName returns the name of an open entry as its directory lists it. Windows ignores the case of the name by which the entry
// was opened.
func canonicalName(e entry, name string) string {
	if e.file == nil {
		return name
	}
	buf := make([]uint16, windows.MAX_LONG_PATH)
	n, err := windows.GetFinalPathNameByHandle(windows.Handle(e.file.Fd()), &buf[0], uint32(len(buf)), 0)
	if err != nil || int(n) > len(buf) {
		return name
	}
	if base := filepath.Base(windows.UTF16ToString(buf[:n])); strings.EqualFold(base, name) {
		return base
	}
	return name
}

// identify returns the identity of the file at a path.
func identify(path string, follow bool) (FileID, error) {
	flags := uint32(windows.FILE_FLAG_BACKUP_SEMANTICS)
	if !follow {
		flags |= windows.FILE_FLAG_OPEN_REPARSE_POINT
	}
	name, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return FileID{}, err
	}
	const share = windows.FILE_SHARE_READ | windows.FILE_SHARE_WRITE | windows.FILE_SHARE_DELETE
	h, err := windows.CreateFile(name, windows.FILE_READ_ATTRIBUTES, share, nil, windows.OPEN_EXISTING, flags, 0)
	if errors.Is(err, windows.ERROR_PATH_NOT_FOUND) {
		err = syscall.ENOENT
	}
	if err != nil {
		return FileID{}, err
	}
	defer func() { _ = windows.CloseHandle(h) }() // a failed close loses no data, since the handle wrote none
	info, err := ntfile.Stat(int(h))
	return idOf(info), err
}

func identifyAt(dir *os.File, name string) (FileID, error) {
	info, err := ntfile.StatAt(int(dir.Fd()), name)
	return idOf(info), err
}

func identifyFile(f *os.File) (FileID, error) {
	info, err := ntfile.Stat(int(f.Fd()))
	return idOf(info), err
}

// openAt opens the file name beneath dir.
func openAt(dir *os.File, name string, flags int, _ uint32) (*os.File, error) {
	fd, err := ntfile.Open(int(dir.Fd()), name, flags)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), name), nil
}

func readLink(dir *os.File, name string) (string, error) {
	return ntfile.Readlink(int(dir.Fd()), name)
}

func mkdirAt(dir *os.File, name string, _ uint32) error { return ntfile.Mkdir(int(dir.Fd()), name) }

func unlinkAt(dir *os.File, name string) error { return ntfile.Unlink(int(dir.Fd()), name) }

func rmdirAt(dir *os.File, name string) error { return ntfile.Rmdir(int(dir.Fd()), name) }

func renameAt(from *os.File, name string, to *os.File, newName string) error {
	return ntfile.Rename(int(from.Fd()), name, int(to.Fd()), newName)
}

func renameNoReplace(from *os.File, name string, to *os.File, newName string) error {
	return ntfile.RenameNoReplace(int(from.Fd()), name, int(to.Fd()), newName)
}

func symlinkAt(string, *os.File, string) error { return errors.ErrUnsupported }

// sameMount reports whether a file can be renamed from directory a to directory b.
func sameMount(a, b *os.File) bool {
	one, err := identifyFile(a)
	other, err2 := identifyFile(b)
	return err == nil && err2 == nil && one.Dev == other.Dev
}

// holdDir opens a holder and locks it. Windows has no locks on directories, so the lock is a handle that excludes other handles.
func holdDir(parent *os.File, name string) (f *os.File, locked bool, err error) {
	f, err = openAt(parent, name, ntfile.Hold, 0)
	if err != nil {
		return nil, false, fmt.Errorf("%s: %w", name, err)
	}
	return f, true, nil
}

const errNotDir = ntfile.ENOTDIR

// removeHeld removes an empty locked holder. The open handle held prevents removal, so removeHeld closes it first.
func removeHeld(held, parent *os.File, name string) error {
	_ = held.Close() // a failed close loses no data, since the handle wrote none
	return rmdirAt(parent, name)
}
