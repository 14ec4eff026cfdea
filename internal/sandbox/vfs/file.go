package vfs

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"sync/atomic"
	"syscall"

	"github.com/tetratelabs/wazero/experimental/sys"
	wsys "github.com/tetratelabs/wazero/sys"

	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/beneath"
)

// maxOpenTries bounds the retries of an open that lost a race, for example against a program that saves by renaming.
const maxOpenTries = 16

// OpenFile implements sys.FS. New files have the mode 0644, whatever perm says.
func (f *FS) OpenFile(name string, flag sys.Oflag, perm fs.FileMode) (sys.File, sys.Errno) {
	preopen := isPreopen(name, perm)
	if !preopen {
		name = f.inTree(name)
	}
	file, err := f.openFile(name, flag)
	if err != nil {
		return nil, f.fail("open", name, err)
	}
	if preopen {
		f.preopens.Add(1)
		file = &preopenedDir{File: file, fs: f}
	}
	return file, 0
}

// isPreopen reports whether wazero opens its preopened directory, with perm 0. It opens files for the module with perm 0600.
func isPreopen(name string, perm fs.FileMode) bool { return name == "." && perm == 0 }

func (f *FS) openFile(name string, flag sys.Oflag) (file sys.File, err error) {
	if f.open.Add(1) > int64(f.config.MaxOpen) {
		err = tooManyOpen(f.config.MaxOpen)
	} else {
		err = errChanged
		for try := 0; try < maxOpenTries && errors.Is(err, errChanged); try++ {
			file, err = f.tryOpen(name, flag)
		}
	}
	if err != nil {
		f.open.Add(-1)
		return nil, err
	}
	return file, nil
}

func (f *FS) tryOpen(name string, flag sys.Oflag) (sys.File, error) {
	exclusive := flag&sys.O_CREAT != 0 && flag&sys.O_EXCL != 0
	write := flag&(sys.O_RDWR|sys.O_WRONLY|sys.O_CREAT|sys.O_TRUNC) != 0
	if !write && flag&(sys.O_DIRECTORY|sys.O_APPEND) == 0 {
		if file, err, ok := f.fastOpen(name); ok {
			return file, err
		}
	}
	p, err := f.resolve(name, walkMode{follow: flag&sys.O_NOFOLLOW == 0 && !exclusive, write: write})
	if err != nil {
		return nil, err
	}
	defer p.close()
	if !p.isVirtual() && p.info == nil {
		if flag&sys.O_CREAT == 0 {
			return nil, sys.ENOENT
		}
		return f.create(p, flag)
	}
	switch {
	case exclusive:
		return nil, sys.EEXIST
	case p.isVirtual() || p.info.IsDir():
		if write {
			return nil, sys.EISDIR
		}
		return f.openDir(p)
	case p.info.IsLink():
		return nil, sys.ELOOP
	case p.dirOnly || flag&sys.O_DIRECTORY != 0:
		return nil, sys.ENOTDIR
	case !p.info.Mode.IsRegular():
		return nil, refusal{errno: sys.EPERM}
	}
	return f.openRegular(p, flag)
}

// create creates a file with O_EXCL, so that it opens neither an existing file nor the target of a symbolic link. If
// another process creates the file first, the next try opens that file.
func (f *FS) create(p *place, flag sys.Oflag) (sys.File, error) {
	if err := f.mayReplace(p); err != nil {
		return nil, err
	}
	if p.dirOnly {
		return nil, sys.EISDIR
	}
	var osFile *os.File
	var st beneath.Stat
	err := p.create(func() (err error) {
		osFile, st, err = p.dir.Open(p.name, osFlag(flag)|os.O_CREATE|os.O_EXCL, f.config.FileMode())
		return err
	}, func() error {
		return errors.Join(osFile.Close(), p.dir.Unlink(p.name))
	})
	if err != nil {
		if errors.Is(err, fs.ErrExist) && flag&sys.O_EXCL == 0 {
			err = errChanged
		}
		return nil, err
	}
	return f.newFile(osFile, p, st, flag)
}

func (f *FS) openRegular(p *place, flag sys.Oflag) (sys.File, error) {
	if flag&(sys.O_RDWR|sys.O_WRONLY|sys.O_TRUNC) != 0 {
		if err := f.mayChange(p); err != nil {
			return nil, err
		}
	}
	osFile, err := p.openSame(osFlag(flag))
	if err != nil {
		return nil, err
	}
	// Truncate only after the identity check: O_TRUNC would empty a file before it is known to be the authorized one.
	if flag&sys.O_TRUNC != 0 {
		if err := osFile.Truncate(0); err != nil {
			_ = osFile.Close()
			return nil, err
		}
	}
	return f.newFile(osFile, p, *p.info, flag)
}

// openSame opens the file or directory that p.info describes. If the name has been replaced since the check, by a
// symbolic link, a FIFO or a different file, it fails instead of opening what was not authorized.
func (p *place) openSame(flag int) (*os.File, error) {
	file, st, err := p.dir.Open(p.name, flag, 0)
	switch {
	case errors.Is(err, syscall.ELOOP):
		return nil, errChanged // replaced by a symbolic link
	case errors.Is(err, beneath.ErrSpecial):
		return nil, refusal{errno: sys.EPERM}
	case err != nil:
		return nil, err
	case st.FileID != p.info.FileID:
		_ = file.Close()
		return nil, errChanged
	}
	return file, nil
}

// osFlag translates flags for the open system call. Creation, truncation and append mode are handled by this package,
// after the identity check.
func osFlag(flag sys.Oflag) int {
	out := os.O_RDONLY
	switch {
	case flag&(sys.O_RDWR|sys.O_WRONLY) == sys.O_WRONLY:
		out = os.O_WRONLY
	case flag&(sys.O_RDWR|sys.O_TRUNC) != 0:
		out = os.O_RDWR
	}
	if flag&(sys.O_SYNC|sys.O_DSYNC|sys.O_RSYNC) != 0 {
		out |= os.O_SYNC
	}
	return out
}

// file is an open regular file.
type file struct {
	handle
	appends bool
}

var _ sys.File = (*file)(nil)

func (f *FS) newFile(osFile *os.File, p *place, st beneath.Stat, flag sys.Oflag) (sys.File, error) {
	out := &file{handle: newHandle(f, osFile, p.path, st)}
	out.changeable = flag&(sys.O_RDWR|sys.O_WRONLY|sys.O_TRUNC|sys.O_CREAT) != 0 && f.mayChange(p) == nil
	if flag&sys.O_APPEND != 0 {
		if err := setAppend(osFile, true); err != nil {
			_ = osFile.Close()
			return nil, err
		}
		out.appends = true
	}
	return out, nil
}

func (*file) IsDir() (bool, sys.Errno) { return false, 0 }

func (h *file) IsAppend() bool { return h.appends }

func (h *file) SetAppend(enable bool) sys.Errno {
	err := setAppend(h.os, enable)
	if err == nil {
		h.appends = enable
	}
	return h.fail("set append", err)
}

func (h *file) Read(buf []byte) (int, sys.Errno) {
	n, err := h.os.Read(buf)
	return n, h.fail("read", err)
}

func (h *file) Pread(buf []byte, off int64) (int, sys.Errno) {
	if off < 0 {
		return 0, sys.EINVAL
	}
	n, err := h.os.ReadAt(buf, off)
	return n, h.fail("read", err)
}

func (h *file) Write(buf []byte) (int, sys.Errno) {
	n, err := write(h.os, buf, h.appends)
	return n, h.fail("write", err)
}

func (h *file) Pwrite(buf []byte, off int64) (int, sys.Errno) {
	if off < 0 {
		return 0, sys.EINVAL
	}
	n, err := h.os.WriteAt(buf, off)
	return n, h.fail("write", err)
}

// position is an offset in a file, in bytes. Without the alias, go vet would report wazero's Seek as a wrong io.Seeker.
type position = int64

func (h *file) Seek(offset position, whence int) (int64, sys.Errno) {
	if whence < io.SeekStart || whence > io.SeekEnd {
		return 0, sys.EINVAL
	}
	n, err := h.os.Seek(offset, whence)
	return n, h.fail("seek", err)
}

func (h *file) Truncate(size int64) sys.Errno {
	if size < 0 {
		return sys.EINVAL
	}
	return h.fail("truncate", h.os.Truncate(size))
}

// handle is the common part of open files and directories of mounts.
type handle struct {
	sys.UnimplementedFile

	fs     *FS
	os     *os.File
	path   string // path by which the file was opened
	id     FileID
	closed atomic.Bool
	// changeable is set if changing the file was authorized when it was opened.
	changeable bool
}

func newHandle(f *FS, osFile *os.File, path string, st beneath.Stat) handle {
	return handle{fs: f, os: osFile, path: path, id: st.FileID}
}

// Utimens returns EACCES for a refusal, because on EPERM wazero would retry by path.
func (h *handle) Utimens(atim, mtim int64) sys.Errno {
	if !h.changeable && !h.mayChangeNow() {
		return h.fail("utimens", refusal{errno: sys.EACCES})
	}
	return h.fail("utimens", setTimes(h.os, atim, mtim))
}

// mayChangeNow authorizes a change of a file that was opened for reading, if its path still refers to it.
func (h *handle) mayChangeNow() bool {
	p, err := h.fs.change(h.path, false, ifExists(h.fs.mayChange))
	if err != nil {
		return false
	}
	defer p.close()
	return p.info != nil && p.info.FileID == h.id
}

// fail is FS.fail, with EBADF after Close: not all errors of os for a closed file are os.ErrClosed.
func (h *handle) fail(op string, err error) sys.Errno {
	if err != nil && h.closed.Load() {
		return sys.EBADF
	}
	return h.fs.fail(op, h.path, err)
}

func (h *handle) Dev() (uint64, sys.Errno)     { return h.id.Dev, 0 }
func (h *handle) Ino() (wsys.Inode, sys.Errno) { return h.id.Ino, 0 }

func (h *handle) Stat() (wsys.Stat_t, sys.Errno) {
	st, err := beneath.StatFile(h.os)
	if err != nil {
		return wsys.Stat_t{}, h.fail("stat", err)
	}
	return realStat(st), 0
}

func (h *handle) Sync() sys.Errno     { return h.fail("sync", h.os.Sync()) }
func (h *handle) Datasync() sys.Errno { return h.fail("sync", datasync(h.os)) }

// Close is idempotent.
func (h *handle) Close() sys.Errno {
	if h.closed.Swap(true) {
		return 0
	}
	h.fs.open.Add(-1)
	return h.fs.fail("close", h.path, h.os.Close())
}

// realStat converts a Stat for the module, without setuid, setgid and sticky bits.
func realStat(st beneath.Stat) wsys.Stat_t {
	return wsys.Stat_t{
		Dev: st.Dev, Ino: st.Ino, Mode: st.Mode & (fs.ModeType | fs.ModePerm), Nlink: st.Nlink, Size: st.Size,
		Atim: st.Atime, Mtim: st.Mtime, Ctim: st.Ctime,
	}
}
