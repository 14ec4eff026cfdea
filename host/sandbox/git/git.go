// Package git answers the read-only git operations of a module: does a branch exist, what does a file
// on it hold, which commit is the newest that mentions a text. Start with New; BranchExists, ReadFile
// and FindCommit are the operations.
//
// No program is run, no hook, filter or replacement takes effect, and no configuration is read: not the
// user's, not the system's, and not the repository's own. Every file is opened through an os.Root of
// the granted folder, so a repository that reaches out of it (by a .git file, commondir, alternates or
// a link) is refused. It writes nothing and speaks to no network.
//
// A repository is foreign bytes. go-git reads the entries of a pack and applies its deltas; finding and
// following them is done here, because its storage follows chains of deltas and inflates loose objects
// without a bound: a delta that names itself as its base would end the process, which no recover can
// prevent.
package git

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/host/config"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
	"github.com/hashicorp/go-hclog"
)

// DefaultMaxFile is the largest file that ReadFile gives unless Config says otherwise, in bytes.
const DefaultMaxFile = 8 << 20

// maxText bounds what FindCommit looks for, in bytes.
const maxText = 1 << 10

// Config says what Ops may reach.
type Config struct {
	// Grants are the granted folders; none means that every operation is denied. Any access reads.
	Grants []config.Git
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
	grants  []config.Git
	maxFile int64
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
	return &Ops{grants: c.Grants, maxFile: c.MaxFile, log: c.Log}
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
		content, err = r.file(ctx, head, q.Path, o.maxFile)
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
func (o *Ops) in(ctx context.Context, folder string, f func(*repository) error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			o.log.Error("git: panic while reading a repository", "repo", folder, "panic", p, "stack", string(debug.Stack()))
			err = failed("%s: the repository is damaged: %v", folder, p)
		}
	}()
	if err := ctx.Err(); err != nil {
		return err
	}
	grant, err := o.grantFor(folder)
	if err != nil {
		o.log.Warn("git: denied", "repo", folder, "error", err)
		return err
	}
	root, err := openRoot(grant)
	if absent(err) {
		return nil
	}
	if err != nil {
		return failed("%s: %v", grant, err)
	}
	defer root.close()
	return o.outcome(ctx, folder, root.use(folder, f))
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
		return failed("%s: %v", folder, err)
	case host.Code == abi.HostDenied:
		o.log.Warn("git: denied", "repo", folder, "error", host.Message)
	}
	return host
}

func invalid(format string, args ...any) error { return hostError(abi.HostInvalid, format, args) }
func denied(format string, args ...any) error  { return hostError(abi.HostDenied, format, args) }
func failed(format string, args ...any) error  { return hostError(abi.HostFailed, format, args) }

// hostError bounds the text, parts of which are a repository's own words, and keeps it valid JSON.
func hostError(code, format string, args []any) error {
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
