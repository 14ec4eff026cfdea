// Package vfs is the one file tree that a WebAssembly module sees, mounted at "/" by wazero.
//
// It shows the granted directories at their paths on the host, and their ancestors as virtual directories that
// contain nothing else. NewMounts validates the open granted directories, New creates a tree of them, and
// sysfs.FSConfig.WithSysFSMount mounts it.
//
// The module controls every path and link target, and other processes may change the directories at any time. So no
// absolute path is opened: a path is first resolved, by a walk from the innermost granted directory through package
// beneath, to a place, which is an open directory and a name in it. Mounts and policy authorize the resolved place, and
// the operation then uses that directory handle, so a directory that is swapped between check and use has no effect.
// policy.go, linkpolicy.go and gitdir.go define what a module may not do, and explain why it cannot replace a mount
// point. Symbolic links are resolved in resolve.go; deny patterns are applied by hidden.go of package sandbox.
//
// The amount of data written is not limited, and devices, FIFOs and sockets are never opened.
package vfs

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"
	"sync/atomic"
	"syscall"

	"github.com/tetratelabs/wazero/experimental/sys"
	wsys "github.com/tetratelabs/wazero/sys"

	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/beneath"
)

// Modes of new files and directories, before the umask. WASI passes no mode. Config.FileMode can choose one for files.
const (
	FileMode = 0o644
	dirMode  = 0o755
)

// defaultMaxOpen is the default of Config.MaxOpen.
const defaultMaxOpen = 256

// Config configures a tree: what it shows, and to whom it reports. Its functions must be safe for concurrent use. The
// paths passed to OnError and Denied are absolute and at most 4096 bytes long, but chosen by the module: quote them, and
// bound how many are logged.
type Config struct {
	// Mounts are the granted directories; nil means none. They may be nested: the longest path takes precedence. A
	// mount whose directory does not exist is absent from the tree; if it is granted for writing, Mkdir creates it.
	Mounts *Mounts
	// WorkingDir makes the tree relative: it is the absolute path of the working directory of a program that has none itself. See
	// relative.go. Scan and OpenDirectory take absolute paths. Empty means that the tree is not relative.
	WorkingDir string
	// MaxOpen bounds the files and directories open at the same time; 0 or less means 256. Further ones fail with EMFILE,
	// and OnError is called with the limit.
	MaxOpen int
	// Charge is called with the number of directory entries that the host has read on behalf of a call; nil means that
	// nothing is charged. It may end the call by a panic.
	Charge func(entries int)
	// Context returns the context of the running call; nil means context.Background.
	Context func() context.Context
	// FileMode returns the permission bits of a new file, before the umask; nil means the constant FileMode.
	FileMode func() fs.FileMode
	// Changing is called before every change, with the path of the mount. Its error denies the change. nil means that no call is needed.
	Changing func(mount string) error
	// Reading is called with the path of a mount in which something was found, read or listed; nil means that no call is needed.
	Reading func(mount string)
	// Errno is called with an errno of WASI that wazero lacks, such as ENOSPC. The operation returns EIO instead. nil means that the module
	// gets EIO.
	Errno func(errno uint16)
	// OnError is called with errors for which the module gets a less specific errno, and with those that an admin can
	// remedy, such as a full disk; nil means that they are not reported.
	OnError func(op, path string, err error)
	// Denied is called for every refusal of something that is not granted; nil means that refusals are not reported.
	Denied func(op, path string)
	// Hidden reports whether a resolved absolute path does not exist for the module; nil hides nothing. With below set,
	// for a directory that is about to be moved, it also reports whether it hides any path below, existing or not.
	Hidden func(path string, below bool) bool
}

// FS is the file tree of one module instance. It is safe for concurrent use.
type FS struct {
	sys.UnimplementedFS

	config   Config
	listed   listings
	open     atomic.Int64 // number of open handles
	preopens atomic.Int64 // number of open handles of "/", which wazero opens itself
	altered  atomic.Bool  // whether the module has listed the preopened descriptor of "/"
}

var _ sys.FS = (*FS)(nil)

// New returns a tree. It accesses no file.
func New(c Config) *FS {
	if c.Mounts == nil {
		c.Mounts = &Mounts{}
	}
	if c.MaxOpen <= 0 {
		c.MaxOpen = defaultMaxOpen
	}
	if c.Charge == nil {
		c.Charge = func(int) {}
	}
	if c.Context == nil {
		c.Context = context.Background
	}
	if c.FileMode == nil {
		c.FileMode = func() fs.FileMode { return FileMode }
	}
	if c.Changing == nil {
		c.Changing = func(string) error { return nil }
	}
	if c.Reading == nil {
		c.Reading = func(string) {}
	}
	return &FS{config: c}
}

// Handles returns the number of files and directories that the module has open, without the preopened descriptor of "/".
func (f *FS) Handles() int { return int(f.open.Load() - f.preopens.Load()) }

// Reset prepares the tree for a call that must not observe earlier ones, and reports whether that is possible: whether nothing is open, and
// the preopened descriptor of "/" was not listed. wazero stores the position of that listing.
func (f *FS) Reset() bool {
	if f.Handles() != 0 || f.altered.Load() {
		return false
	}
	f.listed.reset()
	return true
}

// Stat implements sys.FS.
func (f *FS) Stat(name string) (wsys.Stat_t, sys.Errno) {
	name = f.inTree(name)
	st, err := f.stat(name, true)
	return st, f.fail("stat", name, err)
}

// Lstat implements sys.FS.
func (f *FS) Lstat(name string) (wsys.Stat_t, sys.Errno) {
	name = f.inTree(name)
	st, err := f.stat(name, strings.HasSuffix(name, "/"))
	return st, f.fail("lstat", name, err)
}

func (f *FS) stat(name string, follow bool) (wsys.Stat_t, error) {
	if st, err, ok := f.fastStat(name); ok {
		return st, err
	}
	p, err := f.resolve(name, walkMode{follow: follow})
	if err != nil {
		return wsys.Stat_t{}, err
	}
	defer p.close()
	if err := p.checkExists(); err != nil {
		return wsys.Stat_t{}, err
	}
	if p.isVirtual() {
		return virtualStat(p.path), nil
	}
	return realStat(*p.info), nil
}

// Born returns the time at which a file or directory was created, in nanoseconds since 1970; ok is false if the file is absent, is not
// granted, or the system does not tell. It follows links.
func (f *FS) Born(name string) (nanoseconds int64, ok bool) {
	p, err := f.resolve(f.inTree(name), walkMode{follow: true})
	if err != nil {
		return 0, false
	}
	defer p.close()
	if p.checkExists() != nil || p.isVirtual() {
		return 0, false
	}
	return p.dir.Born(p.name)
}

// change resolves a path that is about to be changed, and authorizes the change by the function check.
func (f *FS) change(name string, follow bool, check func(*place) error) (*place, error) {
	p, err := f.resolve(name, walkMode{follow: follow, write: true})
	if err != nil {
		return nil, err
	}
	if err := check(p); err != nil {
		p.close()
		return nil, err
	}
	return p, nil
}

// ifExists returns ENOENT for an absent file before check can refuse it, so that an absent file is ENOENT in a read-only
// directory too.
func ifExists(check func(*place) error) func(*place) error {
	return func(p *place) error {
		if err := p.checkExists(); err != nil {
			return err
		}
		return check(p)
	}
}

// Mkdir implements sys.FS. It ignores the requested mode and uses 0755. It also creates the directory of an absent mount.
func (f *FS) Mkdir(name string, _ fs.FileMode) sys.Errno {
	name = f.inTree(name)
	return f.fail("mkdir", name, f.mkdir(name))
}

func (f *FS) mkdir(name string) error {
	// EEXIST takes precedence over a refusal: mkdir -p relies on that.
	p, err := f.change(name, false, func(p *place) error {
		if p.isVirtual() || p.info != nil {
			return sys.EEXIST
		}
		return f.mayChange(p)
	})
	if err != nil {
		return err
	}
	defer p.close()
	if p.path == p.mount.Path && p.mount.dir() == nil {
		return p.mount.create(f.config.Context())
	}
	return p.create(func() error { return p.dir.Mkdir(p.name, dirMode) }, func() error { return p.dir.Rmdir(p.name) })
}

// Chmod implements sys.FS. Only the permission bits are set. It follows links.
func (f *FS) Chmod(name string, perm fs.FileMode) sys.Errno {
	name = f.inTree(name)
	return f.fail("chmod", name, f.chmod(name, perm.Perm()))
}

func (f *FS) chmod(name string, perm fs.FileMode) error {
	p, err := f.change(name, true, ifExists(f.mayChange))
	if err != nil {
		return err
	}
	defer p.close()
	return p.chmod(perm)
}

// chmod sets the mode through an open file: set by name, it could apply to a file that replaces this one concurrently.
func (p *place) chmod(perm fs.FileMode) error {
	return p.withOpen(func(file *os.File) error { return beneath.Chmod(file, perm) })
}

// withOpen opens p and runs do, which changes metadata. A file that cannot be read, but written, is opened for writing.
func (p *place) withOpen(do func(*os.File) error) error {
	file, err := p.openSame(os.O_RDONLY)
	if errors.Is(err, syscall.EACCES) && p.info.Mode.IsRegular() {
		file, err = p.openSame(os.O_WRONLY)
	}
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }() // nothing was written to it
	return do(file)
}

// Utimens implements sys.FS.
func (f *FS) Utimens(name string, atim, mtim int64) sys.Errno {
	name = f.inTree(name)
	return f.fail("utimens", name, f.utimens(name, atim, mtim))
}

func (f *FS) utimens(name string, atim, mtim int64) error {
	p, err := f.change(name, true, ifExists(f.mayChange))
	if err != nil {
		return err
	}
	defer p.close()
	return p.withOpen(func(file *os.File) error { return setTimes(file, atim, mtim) })
}

// Unlink implements sys.FS.
func (f *FS) Unlink(name string) sys.Errno {
	name = f.inTree(name)
	return f.fail("unlink", name, f.remove(name, false))
}

// Rmdir implements sys.FS.
func (f *FS) Rmdir(name string) sys.Errno {
	name = f.inTree(name)
	return f.fail("rmdir", name, f.remove(name, true))
}

func (f *FS) remove(name string, dir bool) error {
	p, err := f.change(name, false, ifExists(f.mayReplace))
	if err != nil {
		return err
	}
	defer p.close()
	switch {
	case dir && !p.info.IsDir():
		return sys.ENOTDIR
	case !dir && p.info.IsDir():
		return sys.EISDIR
	}
	if dir {
		return p.dir.Rmdir(p.name)
	}
	return p.dir.Unlink(p.name)
}
