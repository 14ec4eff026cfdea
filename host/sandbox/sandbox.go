// Package sandbox is what one plugin's module may touch: its files, its environment and the host
// operations. New makes a Box from a grant; the Box's FS, Env and Operate are what the engine wants.
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
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	experimentalsys "github.com/tetratelabs/wazero/experimental/sys"
	"golang.org/x/sys/unix"

	"github.com/bulkhead-mcp/bulkhead/host/config"
	"github.com/bulkhead-mcp/bulkhead/host/manifest"
	"github.com/bulkhead-mcp/bulkhead/host/sandbox/fetch"
	"github.com/bulkhead-mcp/bulkhead/host/sandbox/git"
	"github.com/bulkhead-mcp/bulkhead/host/sandbox/vfs"
	"github.com/bulkhead-mcp/bulkhead/host/visible"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// Config says what a Box holds.
type Config struct {
	Plugin string
	Grant  config.Grant
	Places config.Places
	// Messages lets log messages of calls through to the client; false: they are dropped.
	Messages bool
	// Zone is the local time zone as TZif data; empty means UTC.
	Zone []byte
	// Own are files and folders of the host's, absolute, which no grant of a folder around them means.
	Own []string
	// GitUser is what git knows of the user.
	GitUser git.User
	// Claimed gives those of the names that another plugin claims; nil: none are.
	Claimed func(abi.Claims) abi.Claims
	// Secret reads the value of a credential. Its error must not hold it.
	Secret func(*config.Credential) (string, error)
	Log    hclog.Logger // nil: no log
}

// Box is what one plugin's module may touch. It is safe for concurrent use.
type Box struct {
	config Config
	mounts []vfs.Mount
	hidden *hidden
	git    *git.Ops
	fetch  *fetch.Fetcher
	env    map[string]string

	flock       func(fd, how int) error // the system's own
	warnNoLocks sync.Once
}

// New resolves the granted folders and makes the plugin's state folder. Later changes of the links that
// lead to a granted folder do not move the grant.
func New(c Config) (*Box, error) {
	if c.Log == nil {
		c.Log = hclog.NewNullLogger()
	}
	b := &Box{config: c, flock: unix.Flock}
	state := ""
	for _, granted := range c.Grant.FS {
		if granted.State {
			// Nobody but the user has any business in what a plugin keeps.
			if err := os.MkdirAll(granted.Path, 0o700); err != nil {
				return nil, fmt.Errorf("state folder: %w", err)
			}
		}
		real, err := realPath(granted.Path)
		if err != nil {
			return nil, fmt.Errorf("granted folder %s: %w", granted.Path, err)
		}
		if granted.State {
			state = real
		}
		b.mount(vfs.Mount{Path: real, Write: granted.Access == manifest.ReadWrite})
	}
	var err error
	if b.git, err = b.newGit(); err != nil {
		return nil, err
	}
	if b.fetch, err = b.newFetch(); err != nil {
		return nil, err
	}
	if b.hidden, err = b.newHidden(); err != nil {
		return nil, err
	}
	b.env = b.environment(state)
	return b, nil
}

// Close releases what the operations hold. Calls must have ended.
func (b *Box) Close() { b.fetch.Close() }

// newHidden resolves the links to the host's own folders; those that are not there may yet come.
func (b *Box) newHidden() (*hidden, error) {
	var mounts, own []string
	for _, m := range b.mounts {
		mounts = append(mounts, m.Path)
	}
	for _, path := range b.config.Own {
		if real, err := realPath(path); err == nil {
			path = real
		}
		own = append(own, path)
	}
	return newHidden(mounts, b.config.Grant.Deny, own)
}

// mount adds a folder; of two names for one folder the wider access counts.
func (b *Box) mount(m vfs.Mount) {
	for i := range b.mounts {
		if b.mounts[i].Path == m.Path {
			b.mounts[i].Write = b.mounts[i].Write || m.Write
			return
		}
	}
	b.mounts = append(b.mounts, m)
}

// environment is what was granted, and what tells a module where it is. The latter cannot be overridden.
func (b *Box) environment(state string) map[string]string {
	env := maps.Clone(b.config.Grant.Env)
	if env == nil {
		env = map[string]string{}
	}
	env[manifest.EnvDirectory] = b.workingDirectory()
	env[manifest.EnvProject] = b.config.Places.Project
	env[manifest.EnvState] = state
	env[manifest.EnvZoneInfo] = encodeZone(b.config.Zone)
	env[manifest.EnvMemory] = strconv.FormatInt(b.config.Grant.Limits.Memory, 10)
	return env
}

// workingDirectory is the host's own if the module can see it, else the project; a module that sees
// neither begins at the root, where there is nothing but the way to its folders.
func (b *Box) workingDirectory() string {
	for _, dir := range []string{b.config.Places.Cwd, b.config.Places.Project} {
		for _, m := range b.mounts {
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
	tree, err := vfs.New(vfs.Config{
		Mounts:  b.mounts,
		MaxOpen: b.config.Grant.Limits.Files,
		Hidden:  b.hidden.hides,
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
	if err != nil {
		// Mounts are absolute, clean and unique by construction.
		panic(fmt.Errorf("file tree of plugin %q: %w", b.config.Plugin, err))
	}
	return tree
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

// realPath resolves the links in a path of which the end need not exist.
func realPath(path string) (string, error) {
	real, err := filepath.EvalSymlinks(path)
	if err == nil || !os.IsNotExist(err) {
		return real, err
	}
	parent := filepath.Dir(path)
	if parent == path {
		return path, nil
	}
	if _, lerr := os.Lstat(path); lerr == nil {
		return "", err // a link to nothing: what it will point to nobody knows
	}
	real, err = realPath(parent)
	if err != nil {
		return "", err
	}
	return filepath.Join(real, filepath.Base(path)), nil
}
