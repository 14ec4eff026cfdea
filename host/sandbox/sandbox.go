// Package sandbox is what one plugin's module may touch: its files, its environment and the host
// operations. New makes a Box from open directories and functions; the Box's FS, Env and Operate are what the
// engine wants. Explain is for the host process: it resolves paths.
//
// Whatever a module asks for that was not granted is refused here or in the packages below (vfs for
// files, git for repositories), at the effect and not before it, and is logged.
package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	experimentalsys "github.com/tetratelabs/wazero/experimental/sys"
	"golang.org/x/sys/unix"

	"github.com/bulkhead-mcp/bulkhead/host/manifest"
	"github.com/bulkhead-mcp/bulkhead/host/sandbox/beneath"
	"github.com/bulkhead-mcp/bulkhead/host/sandbox/git"
	"github.com/bulkhead-mcp/bulkhead/host/sandbox/vfs"
	"github.com/bulkhead-mcp/bulkhead/host/visible"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// Config says what a Box holds. It is for the process that the module runs in, which may be one that can open
// no path and reach no network: what is granted comes as open directories, and what needs more as functions.
type Config struct {
	Plugin string
	// Mounts are the granted directories. State is the path of the one that is the plugin's state directory;
	// empty: it has none.
	Mounts []vfs.Mount
	State  string
	// Hidden is what the module does not see of them.
	Hidden Hidden
	// Repos and Remotes are the granted repositories, of which Transport reaches the remote ones; nil: none can
	// be.
	Repos     []git.Grant
	Remotes   []string
	Transport http.RoundTripper
	// Locks is the plugin's own directory of locks; nil: nothing can be locked by name.
	Locks *os.File
	// Env are the granted variables, without those that the Box sets.
	Env map[string]string
	// Limits are the plugin's; a Box heeds Files and tells the module Memory.
	Limits manifest.Limits
	// Cwd and Project are directories of the host's, of which the first that the module sees is where it begins.
	Cwd, Project string
	// Messages lets log messages of calls through to the client; false: they are dropped.
	Messages bool
	// Zone is the local time zone as TZif data; empty means UTC.
	Zone []byte
	// GitUser is what git knows of the user.
	GitUser git.User
	// Claimed gives those of the names that another plugin claims; nil: none are.
	Claimed func(context.Context, abi.Claims) (abi.Claims, error)
	// Changing is called before a call changes anything, but for what the functions above do; nil: it is not.
	Changing func(context.Context)
	// Fetch performs http/fetch; nil: there is no network.
	Fetch func(context.Context, abi.HTTPRequest) (abi.HTTPResponse, error)
	Log   hclog.Logger // nil: no log
}

// Hidden is what a module does not see of its directories.
type Hidden struct {
	Patterns []string // that the admin denied, relative to each mount
	// Own are files and directories of the host's, which no grant of a directory around them means. They are
	// absolute and free of links.
	Own []string
}

// Box is what one plugin's module may touch. It is safe for concurrent use.
type Box struct {
	config Config
	mounts *vfs.Mounts
	hidden *hidden
	git    *git.Ops
	locks  *beneath.Dir // nil: nothing can be locked by name
	env    map[string]string

	flock       func(fd, how int) error // the system's own
	warnNoLocks sync.Once
}

// New makes a Box. It opens nothing.
func New(c Config) (*Box, error) {
	if c.Log == nil {
		c.Log = hclog.NewNullLogger()
	}
	b := &Box{config: c, flock: unix.Flock}
	var err error
	if b.mounts, err = vfs.NewMounts(c.Mounts); err != nil {
		return nil, err
	}
	if b.hidden, err = newHidden(mountPaths(c.Mounts), c.Hidden); err != nil {
		return nil, err
	}
	if c.Locks != nil {
		if b.locks, err = beneath.New(c.Locks); err != nil {
			return nil, fmt.Errorf("directory of locks: %w", err)
		}
	}
	b.git = git.New(git.Config{Grants: c.Repos, User: c.GitUser, Remotes: c.Remotes, Transport: c.Transport, Log: c.Log})
	b.env = b.environment()
	return b, nil
}

func mountPaths(mounts []vfs.Mount) []string {
	var paths []string
	for _, m := range mounts {
		paths = append(paths, m.Path)
	}
	return paths
}

// environment is what was granted, and what tells a module where it is. The latter cannot be overridden.
func (b *Box) environment() map[string]string {
	env := maps.Clone(b.config.Env)
	if env == nil {
		env = map[string]string{}
	}
	env[manifest.EnvDirectory] = b.workingDirectory()
	env[manifest.EnvProject] = b.config.Project
	env[manifest.EnvState] = b.config.State
	env[manifest.EnvZoneInfo] = encodeZone(b.config.Zone)
	env[manifest.EnvMemory] = strconv.FormatInt(b.config.Limits.Memory, 10)
	return env
}

// workingDirectory is the host's own if the module can see it, else the project; a module that sees
// neither begins at the root, where there is nothing but the way to its folders.
func (b *Box) workingDirectory() string {
	for _, dir := range []string{b.config.Cwd, b.config.Project} {
		for _, m := range b.config.Mounts {
			if dir != "" && inside(m.Path, dir) {
				return dir
			}
		}
	}
	return "/"
}

// Env is the module's environment.
func (b *Box) Env() map[string]string { return b.env }

// Caller knows the call that an instance runs: whose context it is, and who hears of errors that WASI has no
// number for. It is an alias, so that who runs instances need not know this package.
type Caller = interface {
	Context() context.Context
	Fault(err error)
}

// FS makes the file tree of one instance.
func (b *Box) FS(caller Caller) experimentalsys.FS { return b.tree(caller) }

func (b *Box) tree(caller Caller) *vfs.FS {
	var denials denials
	return vfs.New(vfs.Config{
		Mounts:   b.mounts,
		MaxOpen:  b.config.Limits.Files,
		Hidden:   b.hidden.hides,
		Charge:   charge(caller),
		Context:  caller.Context,
		Changing: func() { b.changing(caller.Context()) },
		OnError: func(op, path string, err error) {
			caller.Fault(fmt.Errorf("%s %q: %w", op, bounded(path), cause(err)))
		},
		Denied: func(op, path string) {
			if record := callOf(caller.Context()).record; record != nil {
				record(Operation{Op: "file/" + op, Target: bounded(path), Code: abi.HostDenied})
			}
			if denials.next() {
				b.config.Log.Warn("denied", "op", op, "path", visible.Text(bounded(path)))
			}
		},
	})
}

func (b *Box) changing(ctx context.Context) {
	if b.config.Changing != nil {
		b.config.Changing(ctx)
	}
}

// entryCost is what going through one entry of a directory is charged as, in bytes.
const entryCost = 1 << 10

// charge has a caller that can be charged pay for entries of directories.
func charge(caller Caller) func(entries int) {
	pays, ok := caller.(interface{ Spend(bytes int) })
	if !ok {
		return nil
	}
	return func(entries int) { pays.Spend(entries * entryCost) }
}

// cause leaves out what Go says of the operation and its path, which are named already.
func cause(err error) error {
	var path *fs.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &path):
		return path.Err
	case errors.As(err, &link):
		return link.Err
	}
	return err
}

// Of the refusals of one instance maxDenials are logged in each denialWindow: a module may try as often as
// it likes.
const (
	maxDenials   = 20
	denialWindow = 10 * time.Second
)

type denials struct {
	mu    sync.Mutex
	since time.Time
	n     int
}

func (d *denials) next() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if now := time.Now(); now.Sub(d.since) > denialWindow {
		d.since, d.n = now, 0
	}
	d.n++
	return d.n <= maxDenials
}

// bounded shortens a text that may be a module's own words.
func bounded(text string) string {
	const most = 300
	if len(text) > most {
		text = text[:most] + "…"
	}
	return strings.ToValidUTF8(text, "\uFFFD")
}
