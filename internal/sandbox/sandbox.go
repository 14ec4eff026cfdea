package sandbox

import (
	"cmp"
	"context"
	"encoding/base64"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	experimentalsys "github.com/tetratelabs/wazero/experimental/sys"

	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
	"github.com/bulkhead-mcp/bulkhead/internal/base/visible"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/vfs"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// Config is the effective grant of a Box. The Box runs in the module's process, which may be confined and can then open no
// path and reach no network: so directories are passed as open handles, and other operations as functions.
type Config struct {
	Plugin string
	// Mounts are the granted directories. State is the path of the plugin's state directory among them; empty means it
	// has none.
	Mounts []vfs.Mount
	State  string
	// Hidden defines which files the module does not see in the mounts.
	Hidden Hidden
	// Repos and Remotes are the granted repositories. Transport carries requests to remotes; nil means that none can be
	// reached.
	Repos     []git.Grant
	Remotes   []string
	Transport http.RoundTripper
	// Env is the granted environment, without the variables that the Box sets.
	Env map[string]string
	// Limits are the limits of the plugin. The Box enforces Files and passes Memory to the module; the engine enforces
	// the others.
	Limits manifest.Limits
	// Cwd and Project are the working directory and the project of the host. The first of the two that the module can see is
	// the module's working directory.
	Cwd, Project string
	// Relative makes the tree suitable for programs whose libraries have no working directory, so that relative paths and paths from
	// "/" are the same. See vfs.Config.WorkingDir.
	Relative bool
	// Messages forwards log messages of calls to the client; otherwise they are dropped.
	Messages bool
	// Zone is the local time zone as TZif data; empty means UTC.
	Zone []byte
	// GitUser returns the user's current git configuration; nil means that there is none.
	GitUser func(context.Context) (git.UserConfig, error)
	// Claimed returns the subset of the names that other plugins claim; nil means that no other plugin claims any.
	Claimed func(context.Context, abi.Claims) (abi.Claims, error)
	// Changing is called before a call changes a repository or a file, which may be in the directory State. Its error denies the change. nil means
	// that no call is needed.
	Changing func(_ context.Context, state bool) error
	// Asks are the kinds of grants that the manifest requests. They decide only what the plugin and the log are told about a refusal.
	Asks Asks
	// Lock performs the operation lock, as Locks.Lock does in the host process; nil means that nothing can be locked.
	Lock func(context.Context, abi.Lock) error
	// Fetch performs http/fetch; nil means that there is no network.
	Fetch func(context.Context, abi.HTTPRequest) (abi.HTTPResponse, error)
	// Call calls tools of other plugins, with the parameters of the operation tools/call. It is set only for the module that runs scripts of
	// clients, which is denied all other operations. For any other module, the operation does not exist.
	Call func(ctx context.Context, calls []byte) (results []byte, err error)
	// Derive returns the derived data of a file for fs/scan: an error that wraps ErrDerive if the derive function failed
	// on the content, and any other error to end the operation. nil means that the host has none, except digests.
	Derive func(ctx context.Context, kind Derivation, file DerivedFile) ([]byte, error)
	// Spend charges the call of an operation for work on a number of bytes, and may end it by a panic; nil means that
	// nothing is charged.
	Spend func(ctx context.Context, bytes int)
	Log   hclog.Logger // nil means that nothing is logged
}

// Hidden defines which files a module does not see in its directories.
type Hidden struct {
	Patterns []string // deny patterns of the admin, relative to each mount
	// Own are resolved absolute paths of the host's files and directories. A grant of an ancestor does not include them.
	Own []string
}

// Box enforces the grants of one plugin. It is safe for concurrent use.
type Box struct {
	config  Config
	granted string // the granted directories, for the log
	mounts  *vfs.Mounts
	hidden  *hidden
	git     *git.Ops
	env     map[string]string

	mountIndex map[string]int // by the path of a mount
	repoIndex  map[string]int // by the path of a repository
	early      uses           // of code of the module that has run outside of a call, when it was loaded
}

// New returns a Box; it opens nothing.
func New(c Config) (*Box, error) {
	if c.Log == nil {
		c.Log = hclog.NewNullLogger()
	}
	b := &Box{config: c, granted: directories(c.Mounts), mountIndex: map[string]int{}, repoIndex: map[string]int{}}
	for i, m := range c.Mounts {
		b.mountIndex[m.Path] = i
	}
	for i, r := range c.Repos {
		b.repoIndex[r.Repo] = len(c.Mounts) + i
	}
	var err error
	if b.mounts, err = vfs.NewMounts(c.Mounts); err != nil {
		return nil, err
	}
	var paths []string
	for _, m := range c.Mounts {
		paths = append(paths, m.Path)
	}
	if b.hidden, err = newHidden(paths, c.Hidden); err != nil {
		return nil, err
	}
	b.git = git.New(git.Config{Grants: c.Repos, User: c.GitUser, Remotes: c.Remotes, Transport: c.Transport, Used: b.useRepository, Log: c.Log})
	b.env = b.environment()
	return b, nil
}

// Asks are kinds of grants.
type Asks struct{ HTTP, Git, Remotes bool }

// maxListed bounds the directories that a log line lists.
const maxListed = 8

// directories describes granted directories.
func directories(mounts []vfs.Mount) string {
	var all []string
	for _, m := range mounts[:min(len(mounts), maxListed)] {
		access := " (r)"
		if m.Write {
			access = " (rw)"
		}
		all = append(all, visible.Text(bounded(m.Path))+access)
	}
	if more := len(mounts) - maxListed; more > 0 {
		all = append(all, fmt.Sprintf("and %d more", more))
	}
	return cmp.Or(strings.Join(all, ", "), "no directory")
}

// environment returns the granted environment and the variables that the Box sets. The latter take precedence.
func (b *Box) environment() map[string]string {
	env := maps.Clone(b.config.Env)
	if env == nil {
		env = map[string]string{}
	}
	env[manifest.EnvDirectory] = b.workingDirectory()
	env[manifest.EnvProject] = b.config.Project
	env[manifest.EnvState] = b.config.State
	env[manifest.EnvZoneInfo] = base64.StdEncoding.EncodeToString(b.config.Zone)
	env[manifest.EnvMemory] = strconv.FormatInt(b.config.Limits.Memory, 10)
	return env
}

// workingDirectory returns the host's working directory if the module can see it, otherwise the project, otherwise the
// virtual root.
func (b *Box) workingDirectory() string {
	for _, dir := range []string{b.config.Cwd, b.config.Project} {
		for _, m := range b.config.Mounts {
			if dir != "" && vfs.Inside(m.Path, dir) {
				return dir
			}
		}
	}
	return "/"
}

// Env returns the module's environment.
func (b *Box) Env() map[string]string { return b.env }

// Caller is the call that an instance runs. Fault receives errors that errno values do not describe completely; Errno receives
// those of WASI that wazero lacks; Spend charges for work on a number of bytes. It is an alias of the same type as engine.Caller, so that the engine need not import this package.
type Caller = interface {
	Context() context.Context
	Fault(err error)
	Errno(errno uint16)
	Spend(bytes int)
}

// FS returns the file tree of one instance.
func (b *Box) FS(caller Caller) experimentalsys.FS {
	dir := ""
	if b.config.Relative {
		dir = b.env[manifest.EnvDirectory]
	}
	return b.tree(caller, dir, new(denials))
}

// tree returns a file tree with the working directory dir, or one that is not relative if dir is empty. log bounds the refusals that are
// logged.
func (b *Box) tree(caller Caller, dir string, log *denials) *vfs.FS {
	return vfs.New(vfs.Config{
		Mounts:     b.mounts,
		WorkingDir: dir,
		MaxOpen:    b.config.Limits.Files,
		Hidden:     b.hidden.isHidden,
		Charge:     func(entries int) { caller.Spend(entries * entryCost) },
		Context:    caller.Context,
		FileMode:   func() fs.FileMode { return callOf(caller.Context()).fileMode() },
		Changing:   func(mount string) error { return b.changingFile(caller.Context(), mount) },
		Reading:    func(mount string) { b.use(caller.Context(), b.mountIndex[mount], false) },
		Errno:      caller.Errno,
		OnError: func(op, path string, err error) {
			caller.Fault(fmt.Errorf("%s %q: %w", op, bounded(path), usage.Cause(err)))
		},
		Denied: func(op, path string) {
			if record := callOf(caller.Context()).record; record != nil {
				record(Operation{Op: "file/" + op, Target: bounded(path), Code: abi.HostDenied})
			}
			if log.allow() {
				b.config.Log.Warn("denied", "op", op, "path", visible.Text(bounded(path)), "granted", b.granted)
			}
		},
	})
}

func (b *Box) changing(ctx context.Context, state bool) error {
	if b.config.Changing == nil {
		return nil
	}
	return b.config.Changing(ctx, state)
}

// changingFile is changing for a file of a mount.
func (b *Box) changingFile(ctx context.Context, mount string) error {
	if err := b.changing(ctx, mount == b.config.State); err != nil {
		return err
	}
	b.use(ctx, b.mountIndex[mount], true)
	return nil
}

// changingRepository is changing for an operation on a repository.
func (b *Box) changingRepository(ctx context.Context) error {
	if err := b.changing(ctx, false); err != nil {
		return &abi.HostError{Code: abi.HostDenied, Message: err.Error()}
	}
	return nil
}

// entryCost is the charge for reading one directory entry, in bytes.
const entryCost = 1 << 10

// Rate limit of the log: a module can provoke any number of refusals.
const (
	maxDenials   = 20 // maximum number of logged refusals of one instance, and of the locks of one worker, in each denialWindow
	denialWindow = 10 * time.Second
)

type denials struct {
	mu    sync.Mutex
	since time.Time
	n     int
}

func (d *denials) allow() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if now := time.Now(); now.Sub(d.since) > denialWindow {
		d.since, d.n = now, 0
	}
	d.n++
	return d.n <= maxDenials
}

// bounded truncates an untrusted string for a message.
func bounded(text string) string {
	const most = 300
	if len(text) > most {
		text = text[:most] + "…"
	}
	return strings.ToValidUTF8(text, "\uFFFD")
}
