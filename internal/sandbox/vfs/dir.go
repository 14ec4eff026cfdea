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

	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/beneath"
)

func (f *FS) openDir(p *place) (sys.File, error) {
	if p.isVirtual() {
		return &virtualDir{fs: f, path: p.path}, nil
	}
	osFile, err := p.openSame(os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	return &dir{handle: newHandle(f, osFile, p.path, *p.info), list: beneath.List(osFile)}, nil
}

// dir is an open directory of a mount. It serves listing and metadata only; wazero opens the files in it by their paths.
type dir struct {
	handle
	sys.DirFile
	list *beneath.Listing
}

var _ sys.File = (*dir)(nil)

// Seek goes back to the beginning, the only position that is supported for a directory.
func (h *dir) Seek(offset position, whence int) (int64, sys.Errno) {
	if offset != 0 || whence != io.SeekStart {
		return 0, sys.EINVAL
	}
	return 0, h.fail("seek", h.list.Rewind())
}

// Readdir returns the next n entries without "." and "..", which wazero adds. wazero interprets fewer than n entries as the end of
// the directory, so a listing that exceeds the memory limit is an error and not a partial result.
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
		h.fs.config.Charge(len(entries))
		for _, e := range entries {
			if !h.fs.hidesEntry(path.Join(h.path, e.Name)) {
				names.add(e)
			}
		}
		if names.size() > maxListed {
			return nil, h.fail("readdir", errListings)
		}
	}
	if err := h.fs.listed.keep(&names, h.fs.config.Charge); err != nil {
		return nil, h.fail("readdir", err)
	}
	return names.dirents(), 0
}

// hidesEntry reports whether listings leave out a path. Ancestors of mounts are listed.
func (f *FS) hidesEntry(p string) bool {
	return f.isHidden(p) && !f.config.Mounts.hasBelow(p) && f.config.Mounts.atAlias(p) == nil
}

// virtualDir is an open virtual directory above the mounts. It is not opened on the host.
type virtualDir struct {
	unimplemented
	sys.DirFile

	fs     *FS
	path   string
	names  []string // entries not yet listed; nil before the first Readdir
	closed atomic.Bool
}

// unimplemented is embedded at a greater depth than sys.DirFile, so that the methods of sys.DirFile take precedence.
type unimplemented struct{ sys.UnimplementedFile }

// virtualStat derives the inode number from the path, so that a virtual directory always has the same identity.
func virtualStat(p string) wsys.Stat_t {
	h := fnv.New64a()
	_, _ = h.Write([]byte(p)) // never fails
	return wsys.Stat_t{Ino: h.Sum64() | 1, Mode: fs.ModeDir | 0o555, Nlink: 1}
}

func (d *virtualDir) check() sys.Errno {
	if d.closed.Load() {
		return sys.EBADF
	}
	return 0
}

func (d *virtualDir) Dev() (uint64, sys.Errno)       { return 0, d.check() }
func (d *virtualDir) Ino() (wsys.Inode, sys.Errno)   { return virtualStat(d.path).Ino, d.check() }
func (d *virtualDir) Stat() (wsys.Stat_t, sys.Errno) { return virtualStat(d.path), d.check() }
func (d *virtualDir) Utimens(int64, int64) sys.Errno {
	return d.fs.fail("utimens", d.path, refusal{errno: sys.EACCES})
}

func (d *virtualDir) Seek(offset position, whence int) (int64, sys.Errno) {
	if offset != 0 || whence != io.SeekStart {
		return 0, sys.EINVAL
	}
	d.names = nil
	return 0, d.check()
}

func (d *virtualDir) Readdir(n int) ([]sys.Dirent, sys.Errno) {
	if errno := d.check(); errno != 0 {
		return nil, errno
	}
	if d.names == nil {
		d.names = append([]string{}, d.fs.config.Mounts.children(d.path)...)
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

func (d *virtualDir) Close() sys.Errno {
	if !d.closed.Swap(true) {
		d.fs.open.Add(-1)
	}
	return 0
}

// preopenedDir is the preopened descriptor of "/", which wazero opens when it is first used.
type preopenedDir struct {
	sys.File
	fs *FS
}

func (d *preopenedDir) Readdir(n int) ([]sys.Dirent, sys.Errno) {
	d.fs.altered.Store(true)
	return d.File.Readdir(n)
}
