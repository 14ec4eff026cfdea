// Package git performs the git operations of a module: it reads repositories, creates a branch with one commit, and
// reads remote repositories. Start with New; the operations are the methods of Ops.
//
// No program is run, and no hook, filter or replacement takes effect. A few settings of the repository's configuration
// are read (its format, user.name, user.email, remote.….url, core.fileMode, core.ignoreCase). The user's configuration
// is read only by Config.User, and that of the system is ignored. Every file is opened below the handle of the granted
// directory, so a repository that points out of it (by a .git file, commondir, alternates or a symbolic link) is
// refused. Only CommitBranch writes: objects and one new reference. Only ListRemote and Fetch use a network, and they
// write nothing.
//
// Repositories and remotes are untrusted. The sub-packages check everything that they read: objects (the object
// database), refs, worktree (index and working tree), remote (the protocol), repo (discovery of a repository below a
// grant) and gitconfig.
//
// The operations open nothing by absolute path and dial nothing, so they can run in a confined process. ReadUser and
// TopLevel open files by path, and NewTransport dials: they are for the host process.
package git

import (
	"context"
	"errors"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/internal/hosterror"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/remote"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// DefaultMaxFile is the default of Config.MaxFile, in bytes.
const DefaultMaxFile = 8 << 20

// Config configures Ops: what they may access.
type Config struct {
	// Grants are the granted directories; without any, every operation on a repository is denied.
	Grants []Grant
	// User returns the default author of commits, and the user's own ignore file. It is called by each operation that
	// needs them, since the user may change them; nil means that there are none.
	User func(context.Context) (User, error)
	// Now is the clock for commits; nil means time.Now.
	Now func() time.Time
	// Remotes are the https URLs of the remote repositories that are granted, or "*" for any; without any,
	// ListRemote and Fetch are denied.
	Remotes []string
	// Transport carries requests to remotes, such as one from NewTransport, or one that forwards them to a process that
	// has a network. nil means that no remote can be reached.
	Transport http.RoundTripper
	// MaxFile is the largest file that ReadFile and Fetch return, in bytes; 0 means DefaultMaxFile.
	MaxFile int64
	// Log receives refusals and panics of libraries; nil means that nothing is logged.
	Log hclog.Logger
}

// Ops are the operations of one plugin. They keep no state: each opens the repository again, and they are safe for
// concurrent use.
//
// An operation fails with an *abi.HostError: HostInvalid for a malformed request, HostDenied for one that is not granted,
// HostFailed for a repository that cannot be read. The only other error is that of a context that has ended. For an
// absent repository, branch, file or commit an operation returns a result without it, not an error.
type Ops struct {
	config  Config
	remotes *remote.Client
	log     hclog.Logger
}

// New prepares the operations; it opens nothing.
func New(c Config) *Ops {
	if c.MaxFile == 0 {
		c.MaxFile = DefaultMaxFile
	}
	if c.Log == nil {
		c.Log = hclog.NewNullLogger()
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	remotes, err := remote.New(remote.Config{Remotes: c.Remotes, Transport: c.Transport, MaxFile: c.MaxFile})
	if err != nil {
		c.Log.Error("git: a malformed granted remote is ignored", "error", err)
	}
	return &Ops{config: c, remotes: remotes, log: c.Log}
}

func (o *Ops) user(ctx context.Context) (User, error) {
	if o.config.User == nil {
		return User{}, nil
	}
	return o.config.User(ctx)
}

// perform runs an operation on a repository or remote. It turns a panic of a library on untrusted input into an error,
// and maps errors to those of Ops. On an error the answer is the zero value.
func perform[A any](ctx context.Context, o *Ops, target string, f func() (A, error)) (answer A, err error) {
	defer func() {
		if p := recover(); p != nil {
			o.log.Error("git: panic while reading a repository", "repo", target, "panic", p, "stack", string(debug.Stack()))
			err = hosterror.Failed("%s: the repository is damaged: %v", target, p)
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
