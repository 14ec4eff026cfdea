//go:build linux || darwin

package vfs

import (
	"errors"
	"hash/fnv"
	"io"
	"io/fs"
	"os"
	"path"
	"sync/atomic"

	"github.com/tetratelabs/wazero/experimental/sys"
	wsys "github.com/tetratelabs/wazero/sys"
)

// maxDirents bounds the entries that one Readdir holds in memory. A shorter answer than asked for
// would mean the end of the folder, so a folder with more is read in smaller portions or not at all.
// Ordinary guests ask for some hundred.
const maxDirents = 1 << 16

func (f *FS) openDir(p *place) (sys.File, error) {
	if p.bare() {
		return &bareDir{fs: f, path: p.path}, nil
	}
	osFile, err := p.openSame(os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	return &dir{handle: newHandle(f, osFile, p.path, p.info), writable: f.mayChange(p) == nil}, nil
}

// dir is an open folder of a mount. It lists and tells its times; names in it are looked up by path.
type dir struct {
	handle
	sys.DirFile
	writable bool
}

var _ sys.File = (*dir)(nil)

// Seek goes back to the beginning, the only place a folder can be sought to.
func (h *dir) Seek(offset position, whence int) (int64, sys.Errno) {
	if offset != 0 || whence != io.SeekStart {
		return 0, sys.EINVAL
	}
	n, err := h.os.Seek(0, io.SeekStart)
	return n, h.fail("seek", err)
}

func (h *dir) Utimens(atim, mtim int64) sys.Errno {
	if !h.writable {
		return h.fail("utimens", refusal{sys.EACCES})
	}
	return h.fail("utimens", setTimes(h.os, atim, mtim))
}

// Readdir lists the next n entries, without "." and "..", which wazero adds.
func (h *dir) Readdir(n int) ([]sys.Dirent, sys.Errno) {
	want := n
	if n <= 0 || n > maxDirents {
		want = maxDirents + 1
	}
	var out []sys.Dirent
	for len(out) < want {
		entries, err := h.os.ReadDir(want - len(out))
		for _, e := range entries {
			if !h.fs.policy.hides(path.Join(h.path, e.Name())) {
				out = append(out, sys.Dirent{Name: e.Name(), Type: e.Type()})
			}
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, h.fail("readdir", err)
		}
	}
	if len(out) > maxDirents {
		return nil, sys.ERANGE
	}
	return out, 0
}

// bareDir is an open folder above the mounts. It has no counterpart on the host.
type bareDir struct {
	unimplemented
	sys.DirFile

	fs     *FS
	path   string
	names  []string // still to be listed; nil: not begun
	closed atomic.Bool
}

// unimplemented lies a level deeper than sys.DirFile, whose methods win over it.
type unimplemented struct{ sys.UnimplementedFile }

// bareStat is the same at all times, so that a folder stays the same file for the module.
func bareStat(p string) wsys.Stat_t {
	h := fnv.New64a()
	_, _ = h.Write([]byte(p)) // never fails
	return wsys.Stat_t{Ino: h.Sum64() | 1, Mode: fs.ModeDir | 0o555, Nlink: 1}
}

func (d *bareDir) check() sys.Errno {
	if d.closed.Load() {
		return sys.EBADF
	}
	return 0
}

func (d *bareDir) Dev() (uint64, sys.Errno)       { return 0, d.check() }
func (d *bareDir) Ino() (wsys.Inode, sys.Errno)   { return bareStat(d.path).Ino, d.check() }
func (d *bareDir) Stat() (wsys.Stat_t, sys.Errno) { return bareStat(d.path), d.check() }
func (d *bareDir) Utimens(int64, int64) sys.Errno {
	return d.fs.fail("utimens", d.path, refusal{sys.EACCES})
}

func (d *bareDir) Seek(offset position, whence int) (int64, sys.Errno) {
	if offset != 0 || whence != io.SeekStart {
		return 0, sys.EINVAL
	}
	d.names = nil
	return 0, d.check()
}

func (d *bareDir) Readdir(n int) ([]sys.Dirent, sys.Errno) {
	if errno := d.check(); errno != 0 {
		return nil, errno
	}
	if d.names == nil {
		d.names = append([]string{}, d.fs.mounts.children(d.path)...)
	}
	if n <= 0 || n > len(d.names) {
		n = len(d.names)
	}
	out := make([]sys.Dirent, n)
	for i, name := range d.names[:n] {
		out[i] = sys.Dirent{Name: name, Type: fs.ModeDir}
	}
	d.names = d.names[n:]
	return out, 0
}

func (d *bareDir) Close() sys.Errno {
	if !d.closed.Swap(true) {
		d.fs.open.Add(-1)
	}
	return 0
}
