package git

import (
	"context"
	"os"
	"path"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/beneath"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/internal/hosterror"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/repo"
	"github.com/bulkhead-mcp/bulkhead/sdk/contain"
)

const maxRepoPath = 4 << 10 // most bytes of the path in a request

// Grant is a granted directory that is a repository, or contains repositories.
type Grant struct {
	// Repo is the resolved absolute path by which modules name the directory. The directory is never opened by this path.
	Repo string
	// Alias is a path with symbolic links by which modules may name the directory too; empty if there is none.
	Alias string
	// Above is the top level of the repository that contains Repo, if it is above Repo; otherwise empty. Operations that find no repository
	// at Repo then report that this one is not granted.
	Above string
	// Write permits CommitBranch.
	Write bool
	// Commit permits, besides what Write permits, operations on the index and on the branch that is checked out.
	Commit bool
	// Dir is the handle of the directory, which on Linux may have been opened with O_PATH. If Dir is nil, the directory does not exist. Dir
	// must stay open while the operations are used.
	Dir *os.File
}

// access returns the highest access that g permits.
func (g *Grant) access() repo.Access {
	switch {
	case g.Commit:
		return repo.Commits
	case g.Write:
		return repo.Branches
	}
	return repo.Reads
}

// names returns the paths by which modules name the granted directory.
func (g *Grant) names() []string {
	names := []string{path.Clean(g.Repo)}
	if g.Alias != "" {
		names = append(names, path.Clean(g.Alias))
	}
	return names
}

// query runs f on the repository that contains the directory dir. If there is no such repository, the answer is the zero value.
func query[A any](ctx context.Context, o *Ops, dir string, f func(*repo.Repository) (A, error)) (A, error) {
	return queryGrant(ctx, o, dir, repo.Reads, func(root *repo.Root) (A, error) {
		var none A
		r, err := root.Find(dir)
		if r == nil || err != nil {
			return none, err
		}
		return f(r)
	})
}

// queryGrant runs f on the grant that contains the path at. If the granted directory does not exist, the answer is the zero value.
func queryGrant[A any](ctx context.Context, o *Ops, at string, need repo.Access, f func(*repo.Root) (A, error)) (A, error) {
	return perform(ctx, o, at, func() (A, error) {
		var none A
		grant, named, err := o.grantFor(at, need)
		if err != nil || grant.Dir == nil {
			return none, err
		}
		handle, err := beneath.New(grant.Dir)
		if err != nil {
			return none, hosterror.Failed("%s: %v", grant.Repo, err)
		}
		o.config.Used(ctx, grant.Repo, need > repo.Reads)
		root := repo.NewRoot(handle.Following(), named, path.Clean(grant.Repo))
		root.Access, root.Above = need, grant.Above
		root.Other = func(at string, need repo.Access) *repo.Root { return o.otherRoot(ctx, at, need) }
		return f(root)
	})
}

// otherRoot returns the root of the grant that contains the path at, whose symbolic links are resolved; nil if there is none with that access.
func (o *Ops) otherRoot(ctx context.Context, at string, need repo.Access) *repo.Root {
	grant, named, err := o.grantFor(at, need)
	if err != nil || grant.Dir == nil {
		return nil
	}
	handle, err := beneath.New(grant.Dir)
	if err != nil {
		return nil
	}
	o.config.Used(ctx, grant.Repo, need > repo.Reads)
	return repo.NewRoot(handle.Following(), named, path.Clean(grant.Repo))
}

// grantFor returns the outermost grant that contains the path at. It considers only grants with the access that is needed. named is
// the path or the alias of that grant, whichever is a prefix of at.
func (o *Ops) grantFor(at string, need repo.Access) (best *Grant, named string, err error) {
	if !strings.HasPrefix(at, "/") || len(at) > maxRepoPath || strings.ContainsRune(at, 0) {
		return nil, "", hosterror.Invalid("repo: %q: give an absolute path of at most %d bytes", hosterror.Truncate(at), maxRepoPath)
	}
	lower, all := false, make([]string, 0, len(o.config.Grants))
	for i := range o.config.Grants {
		g := &o.config.Grants[i]
		all = append(all, path.Clean(g.Repo))
		for _, granted := range g.names() {
			switch {
			case !contain.Within(granted, path.Clean(at)):
			case g.access() < need:
				lower = true
			case best == nil || len(granted) < len(named):
				best, named = g, granted
			}
		}
	}
	switch {
	case best != nil:
		return best, named, nil
	case lower && need == repo.Commits:
		return nil, "", hosterror.Denied("%s: this plugin may not change the index or the current branch of the repository; its manifest must ask "+
			"for access = \"commit\" under [capabilities] git, and the config must grant it", at)
	case lower:
		return nil, "", hosterror.Denied("%s: this plugin may only read the repository; its manifest must ask for access = \"rw\" "+
			"under [capabilities] git, and the config must not make it read-only", at)
	case len(all) == 0:
		return nil, "", hosterror.Denied("%s: this plugin is granted no repository; its manifest must ask for one under [capabilities] git, "+
			"and --project must name the project if its repository is meant", at)
	}
	return nil, "", hosterror.Denied("%s is outside of the granted repositories (%s); to use another project, name it with --project",
		at, strings.Join(all, ", "))
}
