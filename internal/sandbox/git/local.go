package git

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/internal/hosterror"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/objects"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/refs"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/remote"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/repo"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/worktree"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

const (
	maxText       = 1 << 10 // most bytes of the text that FindCommit searches for
	maxPaths      = 1000    // most paths in one call of Ignored
	defaultStatus = 1000    // number of paths that Status returns at most if the request sets no limit
	maxStatus     = 10_000  // highest limit that a request of Status may set
)

// TopLevel returns the top level of the repository that contains a path. The path need not exist.
func (o *Ops) TopLevel(ctx context.Context, q abi.GitPath) (abi.GitTopLevel, error) {
	return queryGrant(ctx, o, q.Path, repo.Reads, func(root *repo.Root) (abi.GitTopLevel, error) {
		r, err := root.FindFile(q.Path)
		if r == nil || err != nil {
			return abi.GitTopLevel{}, err
		}
		return abi.GitTopLevel{TopLevel: r.Work.Abs(r.Top)}, nil
	})
}

// BranchExists reports whether a local branch exists and refers to an object.
func (o *Ops) BranchExists(ctx context.Context, q abi.GitBranch) (bool, error) {
	if err := refs.CheckBranch(q.Branch); err != nil {
		return false, err
	}
	return query(ctx, o, q.Repo, func(r *repo.Repository) (bool, error) {
		_, ok, err := refs.Resolve(ctx, r, refs.BranchPrefix+q.Branch)
		return ok, err
	})
}

// CurrentBranch returns the branch and the commit of HEAD.
func (o *Ops) CurrentBranch(ctx context.Context, q abi.GitRepo) (abi.GitHead, error) {
	return query(ctx, o, q.Repo, func(r *repo.Repository) (abi.GitHead, error) {
		branch, err := refs.HeadBranch(r)
		if err != nil {
			return abi.GitHead{}, err
		}
		head := abi.GitHead{Branch: branch}
		hash, ok, err := refs.Resolve(ctx, r, "HEAD")
		if ok {
			head.Commit = hash.String()
		}
		return head, err
	})
}

// ResolveRef returns the object that a reference or hash names, and the commit of that object. This is the object itself, or the commit
// to which an annotated tag refers.
func (o *Ops) ResolveRef(ctx context.Context, q abi.GitRef) (abi.GitObject, error) {
	if err := refs.CheckRevision(q.Ref); err != nil {
		return abi.GitObject{}, err
	}
	return query(ctx, o, q.Repo, func(r *repo.Repository) (abi.GitObject, error) {
		var none abi.GitObject
		s, err := objects.Open(ctx, r)
		if err != nil {
			return none, err
		}
		defer s.Close()
		hash, ok, err := resolveRevision(ctx, r, s, q.Ref)
		if err != nil || !ok {
			return none, err
		}
		commit, ok, err := s.Peel(hash)
		object := abi.GitObject{Hash: hash.String()}
		if ok {
			object.Commit = commit.String()
		}
		return object, err
	})
}

// resolveRevision resolves a name as a full hash, as a reference, or as an abbreviated hash, in git's order of precedence.
func resolveRevision(ctx context.Context, r *repo.Repository, s *objects.Store, name string) (plumbing.Hash, bool, error) {
	if plumbing.IsHash(name) {
		hash := plumbing.NewHash(name)
		ok, err := s.Has(hash)
		return hash, ok, err
	}
	for _, ref := range refs.Candidates(name) {
		hash, ok, err := refs.Resolve(ctx, r, ref)
		if ok || err != nil {
			return hash, ok, err
		}
	}
	return s.Expand(name)
}

// queryAt runs f on the objects of the repository that contains dir, with the commit of a reference. If there is no such repository or
// reference, the answer is the zero value.
func queryAt[A any](ctx context.Context, o *Ops, dir, reference string, f func(*objects.Store, plumbing.Hash) (A, error)) (A, error) {
	return query(ctx, o, dir, func(r *repo.Repository) (A, error) {
		var none A
		commit, ok, err := refs.Resolve(ctx, r, reference)
		if err != nil || !ok {
			return none, err
		}
		s, err := objects.Open(ctx, r)
		if err != nil {
			return none, err
		}
		defer s.Close()
		return f(s, commit)
	})
}

// ReadFile returns the content of a regular file on a local branch. A directory, a symbolic link or a submodule is reported as not found.
func (o *Ops) ReadFile(ctx context.Context, q abi.GitFile) (abi.GitContent, error) {
	if err := cmp.Or(refs.CheckBranch(q.Branch), objects.CheckPath(q.Path)); err != nil {
		return abi.GitContent{}, err
	}
	return queryAt(ctx, o, q.Repo, refs.BranchPrefix+q.Branch, func(s *objects.Store, head plumbing.Hash) (abi.GitContent, error) {
		content, found, err := s.ReadFile(head, q.Path, o.config.MaxFile)
		return abi.GitContent{Found: found, Content: content}, err
	})
}

// FindCommit returns the first commit, in the order of git log, that is reachable from HEAD and whose message contains q.Text byte for
// byte. The hash is abbreviated as git does by default.
func (o *Ops) FindCommit(ctx context.Context, q abi.GitSearch) (abi.GitCommit, error) {
	if q.Text == "" || len(q.Text) > maxText {
		return abi.GitCommit{}, hosterror.Invalid("text: it has %d bytes: give 1 to %d bytes", len(q.Text), maxText)
	}
	return queryAt(ctx, o, q.Repo, "HEAD", func(s *objects.Store, head plumbing.Hash) (abi.GitCommit, error) {
		hash, err := s.FindCommit(head, q.Text)
		return abi.GitCommit{Hash: hash}, err
	})
}

// RemoteURL returns the URL of a remote without credentials. The repository's own configuration defines the URL: url.….insteadOf is not
// applied.
func (o *Ops) RemoteURL(ctx context.Context, q abi.GitRemote) (abi.GitURL, error) {
	if q.Remote == "" {
		q.Remote = "origin"
	}
	err := plumbing.ReferenceName("refs/remotes/" + q.Remote).Validate()
	if err != nil || len(q.Remote) > refs.MaxName || strings.HasPrefix(q.Remote, "-") {
		return abi.GitURL{}, hosterror.Invalid("remote: %q: not a valid remote name", hosterror.Truncate(q.Remote))
	}
	return query(ctx, o, q.Repo, func(r *repo.Repository) (abi.GitURL, error) {
		config, err := r.Config()
		if err != nil {
			return abi.GitURL{}, err
		}
		urls := config.All("remote", q.Remote, "url")
		if len(urls) == 0 {
			return abi.GitURL{}, nil
		}
		url := strings.TrimSpace(urls[0]) // git fetches from the first of several URLs
		answer := abi.GitURL{URL: remote.StripCredentials(url)}
		if answer.URL != url {
			answer.Digest = digestOf(url)
		}
		return answer, nil
	})
}

// digestOf computes the value of abi.GitURL.Digest for url.
func digestOf(url string) string {
	for strings.HasSuffix(url, ".git") {
		url = strings.TrimSuffix(url, ".git")
	}
	url = strings.TrimPrefix(strings.TrimPrefix(url, "https://"), "http://")
	sum := sha256.Sum256([]byte(strings.ToLower(url)))
	return hex.EncodeToString(sum[:8])
}

// Ignored reports for each path whether git ignores that path. The patterns of the user's own ignore file apply too.
func (o *Ops) Ignored(ctx context.Context, q abi.GitPaths) (abi.GitIgnored, error) {
	if len(q.Paths) > maxPaths {
		return abi.GitIgnored{}, hosterror.Invalid("paths: there are %d: give at most %d", len(q.Paths), maxPaths)
	}
	return query(ctx, o, q.Repo, func(r *repo.Repository) (abi.GitIgnored, error) {
		user, err := o.user(ctx, r)
		if err != nil {
			return abi.GitIgnored{}, err
		}
		ignored, err := worktree.Ignored(ctx, r, user.Excludes, q.Paths)
		return abi.GitIgnored{Ignored: ignored}, err
	})
}

// Status returns the differences between HEAD, the index and the working tree.
func (o *Ops) Status(ctx context.Context, q abi.GitStatusQuery) (abi.GitStatus, error) {
	if q.Limit < 0 || q.Limit > maxStatus {
		return abi.GitStatus{}, hosterror.Invalid("limit: %d: give at most %d", q.Limit, maxStatus)
	}
	if q.Limit == 0 {
		q.Limit = defaultStatus
	}
	return query(ctx, o, q.Repo, func(r *repo.Repository) (abi.GitStatus, error) {
		user, err := o.user(ctx, r)
		if err != nil {
			return abi.GitStatus{}, err
		}
		return worktree.Status(ctx, r, user.Excludes, q.Limit)
	})
}
