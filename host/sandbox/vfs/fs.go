//go:build linux || darwin

// Package vfs is the one file tree that a WebAssembly module sees, mounted at "/" by wazero.
//
// It shows the granted directories at the paths they have on the host, and the directories above them as
// bare ones that hold nothing else. NewMounts takes the open granted directories, New makes a tree of them,
// sysfs.FSConfig.WithSysFSMount mounts it. Nothing here opens an absolute path. Every path is first led to a
// place without links, by a walk from the innermost granted directory, through package beneath; mounts and
// policy judge that place, and the operation then names a single component in its open directory. What a
// module may not do, and why a mount point cannot be swapped, is in policy.go, links.go and gitdir.go.
//
// It does not limit how much is written, and gives out no devices, FIFOs or sockets. It runs on Linux
// and macOS.
package vfs

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"sync/atomic"
	"syscall"

	"github.com/tetratelabs/wazero/experimental/sys"
	wsys "github.com/tetratelabs/wazero/sys"

	"github.com/bulkhead-mcp/bulkhead/host/sandbox/beneath"
)

// Modes of what is made here, under the process's umask: WASI passes none.
const (
	fileMode = 0o644
	dirMode  = 0o755
)

// defaultMaxOpen is what Config.MaxOpen means when it is 0.
const defaultMaxOpen = 256

// Config says what a tree shows and whom it tells. Its functions may be called from several goroutines.
// Paths that OnError and Denied get are absolute and of at most 4096 bytes, else the module's own words:
// quote them, and bound how many are logged.
type Config struct {
	// Mounts are the granted directories; nil: none. They may lie in each other: the longest path decides.
	// One that is not there is absent from the tree; if it may be written, Mkdir makes it.
	Mounts *Mounts
	// MaxOpen bounds the files and directories open at one time; 0 or less means 256. One more is refused with
	// EIO, since wazero has no EMFILE, and OnError learns of the bound.
	MaxOpen int
	// Charge learns of directory entries that the host goes through on a call's behalf; nil: nobody does. It
	// may end the call by a panic.
	Charge func(entries int)
	// OnError learns of errors that the module gets a vaguer number for, such as a full disk (EIO);
	// nil: nobody does.
	OnError func(op, path string, err error)
	// Denied learns of what was refused because it is not granted; nil: nobody does.
	Denied func(op, path string)
	// Hidden reports whether the module is to see nothing at a path, which is absolute and free of
	// links; nil hides nothing. With below set it is asked of a folder about to be moved, and answers
	// true also if it hides something further down in it, there now or not.
	Hidden func(path string, below bool) bool
}

// FS is one module instance's tree. It is safe for concurrent use.
type FS struct {
	sys.UnimplementedFS

	mounts  *Mounts
	policy  policy
	onError func(op, path string, err error)
	denied  func(op, path string)
	maxOpen int64
	charge  func(entries int)
	listed  listings
	open    atomic.Int64 // handles given out and not closed
	given   atomic.Int64 // of the descriptor that wazero opens by itself, when it is first used
	altered atomic.Bool  // that descriptor was listed
}

var _ sys.FS = (*FS)(nil)

// New makes a tree. It touches no file.
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
	return &FS{
		mounts: c.Mounts, policy: policy{hidden: c.Hidden}, onError: c.OnError, denied: c.Denied,
		maxOpen: int64(c.MaxOpen), charge: c.Charge,
	}
}

// Handles is how many files and directories the module has opened and not closed. The descriptor of "/" that
// every module begins with does not count.
func (f *FS) Handles() int { return int(f.open.Load() - f.given.Load()) }

// Altered reports whether the module has listed the descriptor of "/" that it began with. How far it came is
// kept by wazero, where a later call on the same instance would find it.
func (f *FS) Altered() bool { return f.altered.Load() }

// Stat implements sys.FS.
func (f *FS) Stat(name string) (wsys.Stat_t, sys.Errno) {
	st, err := f.stat(name, true)
	return st, f.fail("stat", name, err)
}

// Lstat implements sys.FS.
func (f *FS) Lstat(name string) (wsys.Stat_t, sys.Errno) {
	st, err := f.stat(name, strings.HasSuffix(name, "/"))
	return st, f.fail("lstat", name, err)
}

func (f *FS) stat(name string, follow bool) (wsys.Stat_t, error) {
	if st, err, ok := f.quickStat(name); ok {
		return st, err
	}
	p, err := f.resolve(name, walkMode{follow: follow})
	if err != nil {
		return wsys.Stat_t{}, err
	}
	defer p.close()
	if err := p.exists(); err != nil {
		return wsys.Stat_t{}, err
	}
	if p.bare() {
		return bareStat(p.path), nil
	}
	return realStat(*p.info), nil
}

// change resolves a path that is about to be changed and asks may whether it can be.
func (f *FS) change(name string, follow bool, may func(*place) error) (*place, error) {
	p, err := f.resolve(name, walkMode{follow: follow, write: true})
	if err != nil {
		return nil, err
	}
	if err := may(p); err != nil {
		p.close()
		return nil, err
	}
	return p, nil
}

// present puts the question whether there is anything before the one whether it may change: what is
// not there is ENOENT in a read-only folder too.
func present(may func(*place) error) func(*place) error {
	return func(p *place) error {
		if err := p.exists(); err != nil {
			return err
		}
		return may(p)
	}
}

// Mkdir implements sys.FS. The mode is 0755, whatever perm says. It also makes a mount's own directory.
func (f *FS) Mkdir(name string, _ fs.FileMode) sys.Errno {
	return f.fail("mkdir", name, f.mkdir(name))
}

func (f *FS) mkdir(name string) error {
	// What is there already is said before what is allowed: making a whole path counts on that.
	p, err := f.change(name, false, func(p *place) error {
		if p.bare() || p.info != nil {
			return sys.EEXIST
		}
		return f.mayChange(p)
	})
	if err != nil {
		return err
	}
	defer p.close()
	if p.path == p.mount.Path && p.mount.dir() == nil {
		return p.mount.create()
	}
	return p.make(func() error { return p.dir.Mkdir(p.name, dirMode) }, func() error { return p.dir.Rmdir(p.name) })
}

// Chmod implements sys.FS. Only the permission bits are set. It follows links.
func (f *FS) Chmod(name string, perm fs.FileMode) sys.Errno {
	return f.fail("chmod", name, f.chmod(name, perm.Perm()))
}

func (f *FS) chmod(name string, perm fs.FileMode) error {
	p, err := f.change(name, true, present(f.mayChange))
	if err != nil {
		return err
	}
	defer p.close()
	return p.chmod(perm)
}

// chmod sets the mode through an open file: by its name, another could get it that just took its place.
func (p *place) chmod(perm fs.FileMode) error {
	return p.withOpen(func(file *os.File) error { return beneath.Chmod(file, perm) })
}

// withOpen opens p to change what is known of it, which a file that may only be written allows too.
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
	return f.fail("utimens", name, f.utimens(name, atim, mtim))
}

func (f *FS) utimens(name string, atim, mtim int64) error {
	p, err := f.change(name, true, present(f.mayChange))
	if err != nil {
		return err
	}
	defer p.close()
	return p.withOpen(func(file *os.File) error { return setTimes(file, atim, mtim) })
}

// Unlink implements sys.FS.
func (f *FS) Unlink(name string) sys.Errno {
	return f.fail("unlink", name, f.remove(name, false))
}

// Rmdir implements sys.FS.
func (f *FS) Rmdir(name string) sys.Errno {
	return f.fail("rmdir", name, f.remove(name, true))
}

func (f *FS) remove(name string, dir bool) error {
	p, err := f.change(name, false, present(f.mayReplace))
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
