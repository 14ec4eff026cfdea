// Package git answers the git operations of a module: what a repository holds and where it stands, what
// of its working tree differs or is ignored; a new branch with one commit; and what a remote repository
// has. Start with New; the operations are the methods of Ops.
//
// No program is run, and no hook, filter or replacement takes effect. Of the repository's configuration
// a few settings are read (its format, user.name, user.email, remote.….url, core.fileMode,
// core.ignoreCase), includes are not followed; of the user's only what Config.User hands over; of the
// system's nothing. Every file is opened below the handle of the granted directory, so a
// repository that reaches out of it (by a .git file, commondir, alternates or a link) is refused. Only CommitBranch
// writes: objects and one new reference. Only ListRemote and Fetch speak to a network, and they write
// nothing.
//
// A repository is foreign bytes, and so is what a remote sends. go-git reads the entries of a pack and
// applies its deltas; finding and following them is done here, because its storage follows chains of
// deltas and inflates loose objects without a bound: a delta that names itself as its base would end
// the process, which no recover can prevent.
//
// The operations open nothing by absolute path and dial nothing by themselves. What needs a process that can
// is for the host: ReadUser and TopLevel, which look at its files, and NewTransport, which speaks to remotes.
package git

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"

	"github.com/bulkhead-mcp/bulkhead/host/sandbox/beneath"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
	"github.com/hashicorp/go-hclog"
)

// DefaultMaxFile is the largest file that ReadFile gives unless Config says otherwise, in bytes.
const DefaultMaxFile = 8 << 20

// maxText bounds what FindCommit looks for, in bytes.
const maxText = 1 << 10

// Grant is a granted directory, which is, or holds, repositories.
type Grant struct {
	// Repo is its path, absolute and free of links, by which modules name it. Nothing is opened by it.
	Repo string
	// Access is "r" to read; "rw" also lets CommitBranch write.
	Access string
	// Dir is the directory, on Linux possibly opened with O_PATH; nil: it is not there. It must stay open for
	// as long as the operations are in use.
	Dir *os.File
}

// Config says what Ops may reach.
type Config struct {
	// Grants are the granted directories; none means that every operation on a repository is denied.
	Grants []Grant
	// User is what is known of the user: the name for commits, and the ignore file of their own.
	User User
	// Now is the clock for commits; nil means time.Now.
	Now func() time.Time
	// Remotes are the https URLs of the remote repositories that are granted, or "*" for any; none
	// means that ListRemote and Fetch are denied.
	Remotes []string
	// Transport carries the requests to them, such as one of NewTransport's, or one that asks a process that
	// has a network; nil: no remote can be reached.
	Transport http.RoundTripper
	// MaxFile is the largest file that ReadFile gives, in bytes; 0 means DefaultMaxFile.
	MaxFile int64
	// Log takes refusals and the panics of the libraries; nil means none.
	Log hclog.Logger
}

// Ops are the operations of one plugin. Nothing is kept between two of them: each opens the repository
// anew, so they may run at the same time.
//
// An operation fails with *abi.HostError: HostInvalid for a malformed request, HostDenied for what is
// not granted, HostFailed for a repository that cannot be read. The one other error is that of a
// context that ended. That there is no repository, branch, file or commit is an answer, not an error.
type Ops struct {
	config  Config
	remotes *remotes
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
	return &Ops{config: c, remotes: newRemotes(c), log: c.Log}
}

// BranchExists reports whether the local branch exists, that is, names an object.
func (o *Ops) BranchExists(ctx context.Context, q abi.GitBranch) (bool, error) {
	if err := checkBranch(q.Branch); err != nil {
		return false, err
	}
	found := false
	err := o.in(ctx, q.Repo, func(r *repository) error {
		_, ok, err := r.resolve(ctx, branchPrefix+q.Branch)
		found = ok
		return err
	})
	return found && err == nil, err
}

// ReadFile gives a file as the local branch has it. Only a regular file is a file here: at the path of
// a folder, a symbolic link or a submodule, and below one of the latter two, nothing is found.
func (o *Ops) ReadFile(ctx context.Context, q abi.GitFile) (abi.GitContent, error) {
	if err := errors.Join(checkBranch(q.Branch), checkPath(q.Path)); err != nil {
		return abi.GitContent{}, firstHostError(err)
	}
	var content abi.GitContent
	err := o.in(ctx, q.Repo, func(r *repository) error {
		head, ok, err := r.resolve(ctx, branchPrefix+q.Branch)
		if err != nil || !ok {
			return err
		}
		content, err = r.file(ctx, head, q.Path, o.config.MaxFile)
		return err
	})
	if err != nil {
		return abi.GitContent{}, err
	}
	return content, nil
}

// FindCommit gives the newest commit reachable from HEAD whose message, as its bytes are stored, has
// the text in it. Newest is what git log shows first: by committer's date, and a commit before its
// parents. The hash is abbreviated as git does by default: by the number of packed objects, at least 7
// characters, and longer until no other object begins so.
func (o *Ops) FindCommit(ctx context.Context, q abi.GitSearch) (abi.GitCommit, error) {
	if q.Text == "" || len(q.Text) > maxText {
		return abi.GitCommit{}, invalid("text: %d bytes: give 1 to %d", len(q.Text), maxText)
	}
	var found abi.GitCommit
	err := o.in(ctx, q.Repo, func(r *repository) error {
		head, ok, err := r.resolve(ctx, "HEAD")
		if err != nil || !ok {
			return err
		}
		found.Hash, err = r.search(ctx, head, q.Text)
		return err
	})
	if err != nil {
		return abi.GitCommit{}, err
	}
	return found, nil
}

// in opens the repository that holds the folder, runs f on it, and gives every error its form. Where
// there is no repository f is not run.
func (o *Ops) in(ctx context.Context, folder string, f func(*repository) error) error {
	return o.open(ctx, folder, false, func(r *root) error { return r.use(folder, f) })
}

// open runs f on the granted folder that holds a path, and gives every error its form. Where that
// folder is not there f is not run.
func (o *Ops) open(ctx context.Context, folder string, write bool, f func(*root) error) (err error) {
	defer o.rescue(folder, &err)
	if err := ctx.Err(); err != nil {
		return err
	}
	grant, err := o.grantFor(folder, write)
	if err != nil {
		o.log.Warn("git: denied", "repo", folder, "error", err)
		return err
	}
	if grant.Dir == nil {
		return nil
	}
	dir, err := beneath.New(grant.Dir)
	if err != nil {
		return failed("%s: %v", grant.Repo, err)
	}
	return o.outcome(ctx, folder, f(&root{dir: dir.Following(), grant: filepath.Clean(grant.Repo)}))
}

// rescue makes an error of a panic of the libraries'. It is to be deferred itself.
func (o *Ops) rescue(repo string, err *error) {
	if p := recover(); p != nil {
		o.log.Error("git: panic while reading a repository", "repo", repo, "panic", p, "stack", string(debug.Stack()))
		*err = failed("%s: the repository is damaged: %v", repo, p)
	}
}

// outcome gives an error its form for the plugin, and logs refusals.
func (o *Ops) outcome(ctx context.Context, folder string, err error) error {
	var host *abi.HostError
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case !errors.As(err, &host):
		host = hostError(abi.HostFailed, "%s: %v", []any{folder, err})
		if errors.Is(err, errNoIdentity) {
			host.Reason = abi.ReasonNoIdentity
		}
	case host.Code == abi.HostDenied:
		o.log.Warn("git: denied", "repo", folder, "error", host.Message)
	}
	return host
}

func invalid(format string, args ...any) error { return hostError(abi.HostInvalid, format, args) }
func denied(format string, args ...any) error  { return hostError(abi.HostDenied, format, args) }
func failed(format string, args ...any) error  { return hostError(abi.HostFailed, format, args) }

// hostError bounds the text, parts of which are a repository's own words, and keeps it valid JSON.
func hostError(code, format string, args []any) *abi.HostError {
	const maxMessage = 2 << 10
	message := fmt.Sprintf(format, args...)
	if len(message) > maxMessage {
		message = message[:maxMessage] + "…"
	}
	return &abi.HostError{Code: code, Message: "git: " + strings.ToValidUTF8(message, "�")}
}

// firstHostError picks one of joined errors: the wire has room for one.
func firstHostError(err error) error {
	var host *abi.HostError
	if errors.As(err, &host) {
		return host
	}
	return err
}
