// Package worktree compares a repository's working tree with its index and HEAD (Status), reports which paths git ignores (Ignored), and
// changes the index under git's lock (LockIndex). No filter, hook or fsmonitor runs, and the index is not refreshed.
//
// The index, trees, ignore files and the working tree itself are untrusted. Their sizes, the number of visited files and the number of
// hashed bytes are bounded.
package worktree

import (
	"context"
	"path"
	"path/filepath"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/internal/hosterror"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/objects"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/repo"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/worktree/ignore"
)

// Ignored reports for each path whether git check-ignore would report that path. userPatterns is the content of the user's own ignore file.
// Tracked files are not ignored.
func Ignored(ctx context.Context, r *repo.Repository, userPatterns []byte, paths []string) ([]bool, error) {
	config, err := r.Config()
	if err != nil {
		return nil, err
	}
	matcher, err := ignore.New(ctx, r, config.Bool("core", "ignorecase", false), userPatterns)
	if err != nil {
		return nil, err
	}
	index, err := readIndex(ctx, r)
	if err != nil {
		return nil, err
	}
	ignored := make([]bool, len(paths))
	for i, requested := range paths {
		name, isDir, err := relativePath(r, requested)
		if err != nil {
			return nil, err
		}
		if name == "." || index.tracks(name) {
			continue
		}
		if ignored[i], err = matcher.IgnoresPath(name, isDir); err != nil {
			return nil, err
		}
	}
	return ignored, nil
}

// relativePath returns a requested path relative to the top level. isDir reports whether the requested path ends in a slash, which marks a
// directory. Paths outside of the working tree or in .git are refused.
func relativePath(r *repo.Repository, requested string) (name string, isDir bool, err error) {
	invalid := hosterror.Invalid("path: %q: give a path in the repository's working tree %s: relative to it, with slashes and without "+
		`".." or ".git", or absolute`, hosterror.Truncate(requested), r.Work.Abs(r.Top))
	if requested == "" || len(requested) > objects.MaxPath || strings.ContainsRune(requested, 0) {
		return "", false, invalid
	}
	name = path.Clean(requested)
	if path.IsAbs(requested) {
		rel, err := filepath.Rel(r.Work.Abs(r.Top), requested)
		if err == nil && filepath.IsLocal(rel) {
			name = filepath.ToSlash(rel)
		}
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == ".." || part == ".git" || part == "" {
			return "", false, invalid
		}
	}
	return name, strings.HasSuffix(requested, "/"), nil
}
