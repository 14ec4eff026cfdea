// Package git performs the git operations of a module: it reads repositories, creates branches and commits, and
// reads remote repositories. Start with New; the operations are the methods of Ops.
//
// The package runs no program, and no hook, filter or replacement takes effect. It reads a few settings of the repository's
// configuration: its format, user.name, user.email, remote.….url, core.fileMode, core.ignoreCase, core.logAllRefUpdates, and those of
// Settings. Only Config.User reads the configuration of the user and of the system. Every file is opened below the
// handle of a granted directory. A repository that points outside of its directory, by a .git file, commondir, alternates or a symbolic
// link, is therefore refused, unless a .git file or alternates point into another granted directory. CommitBranch writes objects and one new
// reference; Add, Commit, CreateBranch and Reset also write the index, HEAD's branch and reflogs, under git's locks. Only ListRemote and Fetch use
// a network, and they write nothing.
//
// Repositories and remotes are untrusted. The sub-packages check everything that they read: objects reads the object database, refs the
// references, worktree the index and the working tree, remote the network protocol, gitconfig the configuration; repo finds the
// repository below a grant.
//
// The operations open nothing by absolute path and dial nothing, so they can run in a confined process. UserFiles.Read opens files by
// path, and remote.NewTransport dials: these functions are for the host process.
package git

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/bulkhead-mcp/bulkhead/internal/base/guard"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/internal/hosterror"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/remote"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/repo"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// defaultMaxFile is the default of Config.MaxFile, in bytes.
const defaultMaxFile = 8 << 20

// Config states what Ops may access, and how.
type Config struct {
	// Grants are the granted directories. Without grants, every operation on a repository is denied.
	Grants []Grant
	// User returns the user's and the system's configuration. Each operation that needs it calls User again, since the user may change it. If
	// User is nil, there is none.
	User func(context.Context) (UserConfig, error)
	// Used is called with the path of each grant that an operation uses, and whether the operation needs write access; nil means that no call is needed.
	Used func(_ context.Context, granted string, write bool)
	// Now returns the time for new commits; nil means time.Now.
	Now func() time.Time
	// Remotes are the https URLs of the granted remote repositories, or "*" for any. Without remotes, ListRemote and Fetch are denied.
	Remotes []string
	// Transport carries requests to remotes. It can be one from remote.NewTransport, or forward the requests to a process that has a network. If it
	// is nil, no remote can be reached.
	Transport http.RoundTripper
	// MaxFile is the size in bytes of the largest file that ReadFile and Fetch return; 0 means defaultMaxFile.
	MaxFile int64
	// Log receives messages about refusals and about panics of libraries; nil means that nothing is logged.
	Log hclog.Logger
}

// Ops are the operations of one plugin. They are safe for concurrent use. Each operation opens the repository again, so no state is kept
// between operations.
//
// A failed operation returns an *abi.HostError: HostInvalid if the request is malformed, HostDenied if it is not granted, HostFailed if the
// repository cannot be read. The only other error is that of a context that has ended. If the repository, branch, file or commit does
// not exist, the operation returns a result that states its absence, not an error.
type Ops struct {
	config  Config
	remotes *remote.Client
	log     hclog.Logger
}

// New returns the operations that c permits. It opens nothing.
func New(c Config) *Ops {
	c.MaxFile = cmp.Or(c.MaxFile, defaultMaxFile)
	if c.Log == nil {
		c.Log = hclog.NewNullLogger()
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Used == nil {
		c.Used = func(context.Context, string, bool) {}
	}
	remotes, err := remote.New(c.Remotes, c.Transport, c.MaxFile)
	if err != nil {
		c.Log.Error("git: a granted remote is malformed and is ignored", "error", err)
	}
	return &Ops{config: c, remotes: remotes, log: c.Log}
}

// user returns the effective configuration of the user for a repository.
func (o *Ops) user(ctx context.Context, r *repo.Repository) (User, error) {
	if o.config.User == nil {
		return User{}, nil
	}
	config, err := o.config.User(ctx)
	if err != nil {
		return User{}, err
	}
	return config.For(ctx, r)
}

// perform runs an operation on a repository or remote. It turns a panic of a library on untrusted input into an error, and maps other
// errors to those that Ops returns. If there is an error, the answer is the zero value.
func perform[A any](ctx context.Context, o *Ops, target string, f func() (A, error)) (answer A, err error) {
	defer func() {
		if fault := recover(); fault != nil {
			err = hosterror.Failed("%s: the repository is damaged: %v", target, guard.Recovered(o.log, "while reading a repository", fault, "repo", target))
		}
		if err != nil {
			var zero A
			answer = zero
		}
	}()
	if err := ctx.Err(); err != nil {
		return answer, err
	}
	answer, err = f()
	var host *abi.HostError
	switch {
	case err == nil:
	case ctx.Err() != nil:
		err = ctx.Err()
	case !errors.As(err, &host):
		noIdentity := errors.Is(err, errNoIdentity)
		err = hosterror.Failed("%s: %v", target, err)
		if noIdentity && errors.As(err, &host) {
			host.Reason = abi.ReasonNoIdentity
		}
	default:
		if err = host; host.Code == abi.HostDenied {
			o.log.Warn("git: denied", "repo", target, "error", host.Message)
		}
	}
	return answer, err
}
