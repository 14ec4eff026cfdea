package vfs

import (
	"io/fs"
	"strings"

	"github.com/tetratelabs/wazero/experimental/sys"
	wsys "github.com/tetratelabs/wazero/sys"
)

// RelativeFS is a tree for programs without a working directory of their own. The libraries of C and Rust assume the working directory
// "/", and pass the same path for "src" and "/src". So a path in a mount, or in an alias of one, is absolute, and any other path is
// relative to the working directory. A path that begins with "./" is always relative: wazero builds such paths for files in the opened
// directory ".".
//
// The preopened directory itself remains the root of the tree. A program that lists the preopened descriptor, instead of opening ".",
// lists the root.
type RelativeFS struct {
	*FS
	dir string
}

var _ sys.FS = (*RelativeFS)(nil)

// Relative returns f for programs whose working directory is dir, an absolute path.
func Relative(f *FS, dir string) *RelativeFS { return &RelativeFS{f, strings.TrimSuffix(dir, "/")} }

// path returns the path in the tree for a name that a program passed. wazero has cleaned the name, except for a prefix "./" and a final
// slash.
func (r *RelativeFS) path(name string) string {
	rest, relative := strings.CutPrefix(name, "./")
	switch {
	case rest == "." || rest == "":
		return r.dir + "/."
	case !relative && r.isAbsolute("/"+strings.TrimSuffix(rest, "/")):
		return "/" + rest
	}
	return r.dir + "/" + rest
}

func (r *RelativeFS) isAbsolute(p string) bool {
	return r.mounts.names(p) || r.dir != "" && inside(r.dir, p)
}

// names reports whether p is in a mount or an alias of one. A mount of the root does not count, since all paths are in it.
func (ms *Mounts) names(p string) bool {
	if m := ms.containing(p); m != nil && m.Path != "/" {
		return true
	}
	for alias := range ms.aliases {
		if inside(alias, p) {
			return true
		}
	}
	return false
}

// OpenFile implements sys.FS.
func (r *RelativeFS) OpenFile(name string, flag sys.Oflag, perm fs.FileMode) (sys.File, sys.Errno) {
	if isPreopen(name, perm) {
		return r.FS.OpenFile(name, flag, perm)
	}
	return r.FS.OpenFile(r.path(name), flag, perm)
}

// Stat implements sys.FS.
func (r *RelativeFS) Stat(name string) (wsys.Stat_t, sys.Errno) { return r.FS.Stat(r.path(name)) }

// Lstat implements sys.FS.
func (r *RelativeFS) Lstat(name string) (wsys.Stat_t, sys.Errno) { return r.FS.Lstat(r.path(name)) }

// Mkdir implements sys.FS.
func (r *RelativeFS) Mkdir(name string, perm fs.FileMode) sys.Errno {
	return r.FS.Mkdir(r.path(name), perm)
}

// Chmod implements sys.FS.
func (r *RelativeFS) Chmod(name string, perm fs.FileMode) sys.Errno {
	return r.FS.Chmod(r.path(name), perm)
}

// Rename implements sys.FS.
func (r *RelativeFS) Rename(from, to string) sys.Errno { return r.FS.Rename(r.path(from), r.path(to)) }

// Rmdir implements sys.FS.
func (r *RelativeFS) Rmdir(name string) sys.Errno { return r.FS.Rmdir(r.path(name)) }

// Unlink implements sys.FS.
func (r *RelativeFS) Unlink(name string) sys.Errno { return r.FS.Unlink(r.path(name)) }

// Link implements sys.FS.
func (r *RelativeFS) Link(from, to string) sys.Errno { return r.FS.Link(r.path(from), r.path(to)) }

// Symlink implements sys.FS. The target is stored as it is.
func (r *RelativeFS) Symlink(target, name string) sys.Errno {
	return r.FS.Symlink(target, r.path(name))
}

// Readlink implements sys.FS.
func (r *RelativeFS) Readlink(name string) (string, sys.Errno) { return r.FS.Readlink(r.path(name)) }

// Utimens implements sys.FS.
func (r *RelativeFS) Utimens(name string, atim, mtim int64) sys.Errno {
	return r.FS.Utimens(r.path(name), atim, mtim)
}
