package refs

import (
	"bytes"
	"context"
	"fmt"
	"path"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/gitconfig"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/objects"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/repo"
)

const maxReflog = 16 << 20 // most bytes of the reflog of HEAD

// Upstream returns the full name of the reference that a branch tracks by the repository's configuration; empty if it tracks none.
func Upstream(config gitconfig.File, branch string) string {
	remote, _ := config.Last("branch", branch, "remote")
	merge, _ := config.Last("branch", branch, "merge")
	if remote == "" || merge == "" {
		return ""
	}
	if remote == "." {
		return merge
	}
	for _, spec := range config.All("remote", remote, "fetch") {
		from, to, ok := strings.Cut(strings.TrimPrefix(spec, "+"), ":")
		before, after, glob := strings.Cut(from, "*")
		switch {
		case !ok:
		case !glob && from == merge:
			return to
		case glob && len(merge) >= len(before)+len(after) && strings.HasPrefix(merge, before) && strings.HasSuffix(merge, after):
			return strings.Replace(to, "*", merge[len(before):len(merge)-len(after)], 1)
		}
	}
	return ""
}

// LastCheckout returns the name that the reflog records for the last checkout, and the commit that it checked out. The name is empty if
// the reflog records none.
func LastCheckout(r *repo.Repository) (name string, commit plumbing.Hash, err error) {
	file := path.Join(r.GitDir, "logs/HEAD")
	data, err := r.Root.Read(file, maxReflog)
	if repo.IsAbsent(err) {
		return "", commit, nil
	}
	if err != nil {
		return "", commit, err
	}
	for data = bytes.TrimSuffix(data, []byte("\n")); len(data) > 0; {
		at := bytes.LastIndexByte(data, '\n') + 1
		line := string(data[at:])
		data = data[:max(at-1, 0)]
		head, message, _ := strings.Cut(line, "\t")
		move, ok := strings.CutPrefix(message, "checkout: moving from ")
		_, to, found := strings.Cut(move, " to ")
		fields := strings.Fields(head)
		if !ok || !found || len(fields) < 2 {
			continue
		}
		if commit, err = objects.ParseHash(fields[1]); err != nil {
			return "", commit, fmt.Errorf("%s: %w", r.Root.Abs(file), err)
		}
		return to, commit, nil
	}
	return "", commit, nil
}

// OtherWorktrees returns the full names of the branches that the repository's other worktrees have checked out.
func OtherWorktrees(ctx context.Context, r *repo.Repository) ([]string, error) {
	names, err := r.Root.List(r.InCommon("worktrees"))
	if err != nil {
		return nil, err
	}
	dirs := []string{r.Common}
	for _, name := range names {
		dirs = append(dirs, path.Join(r.Common, "worktrees", name))
	}
	var branches []string
	for _, dir := range dirs {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if dir == r.GitDir {
			continue
		}
		other := *r
		other.GitDir = dir
		branch, err := HeadBranch(&other)
		if err != nil && !repo.IsAbsent(err) {
			return nil, err
		}
		if branch != "" {
			branches = append(branches, BranchPrefix+branch)
		}
	}
	return branches, nil
}
