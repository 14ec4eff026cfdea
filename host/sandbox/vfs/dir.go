//go:build linux || darwin

package vfs

import (
	"hash/fnv"
	"io"
	"io/fs"
	"os"
	"path"
	"sync/atomic"

	"github.com/tetratelabs/wazero/experimental/sys"
	wsys "github.com/tetratelabs/wazero/sys"

	"github.com/bulkhead-mcp/bulkhead/host/sandbox/beneath"
)

func (f *FS) openDir(p *place) (sys.File, error) {
	if p.bare() {
		return &bareDir{fs: f, path: p.path}, nil
	}
	osFile, err := p.openSame(os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	return &dir{handle: newHandle(f, osFile, p.path, *p.info), list: beneath.List(osFile)}, nil
}

// dir is an open directory of a mount. It lists and tells its times; names in it are looked up by path.
type dir struct {
	handle
	sys.DirFile
	list *beneath.Listing
}

var _ sys.File = (*dir)(nil)

// Utimens implements sys.File.
func (h *dir) Utimens(atim, mtim int64) sys.Errno { return h.handle.Utimens(atim, mtim) }

// Seek goes back to the beginning, the only place a directory can be sought to.
func (h *dir) Seek(offset position, whence int) (int64, sys.Errno) {
	if offset != 0 || whence != io.SeekStart {
		return 0, sys.EINVAL
	}
	return 0, h.fail("seek", h.list.Rewind())
}

// Readdir lists the next n entries, without "." and "..", which wazero adds. A shorter answer than asked
// for means the end of the directory to wazero, so one of more entries than are held is read in smaller
// portions or not at all.
func (h *dir) Readdir(n int) ([]sys.Dirent, sys.Errno) {
	var names portion
	for n <= 0 || names.len() < n {
		want := chargeEach
		if n > 0 {
			want = min(want, n-names.len())
		}
		entries, err := h.list.Read(want)
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, h.fail("readdir", err)
		}
		h.fs.charge(len(entries))
		for _, e := range entries {
			if !h.fs.hidesEntry(path.Join(h.path, e.Name)) {
				names.add(e)
			}
		}
		if names.size() > maxListed {
			return nil, h.fail("readdir", errListings)
		}
	}
	if err := h.fs.listed.keep(&names, h.fs.charge); err != nil {
		return nil, h.fail("readdir", err)
	}
	return names.dirents(), 0
}

// hidesEntry reports whether a listing leaves out the entry at a path. What leads to a mount is shown.
func (f *FS) hidesEntry(p string) bool {
	return f.policy.hides(p) && !f.mounts.below(p) && f.mounts.at(p) == nil
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
	return d.fs.fail("utimens", d.path, refusal{errno: sys.EACCES})
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

// givenDir is the descriptor of "/" that every module begins with, which wazero opens when it is first used.
type givenDir struct {
	sys.File
	fs *FS
}

func (d *givenDir) Readdir(n int) ([]sys.Dirent, sys.Errno) {
	d.fs.altered.Store(true)
	return d.File.Readdir(n)
}
