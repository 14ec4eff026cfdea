package git

import (
	"context"
	"path"
	"path/filepath"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// maxAsked is how many paths Ignored takes at once.
const maxAsked = 1000

// Ignored tells what git check-ignore would: by the .gitignore files of the working tree, by
// .git/info/exclude, and by Config.User.Excludes. What the index has is not ignored.
func (o *Ops) Ignored(ctx context.Context, q abi.GitPaths) (abi.GitIgnored, error) {
	if len(q.Paths) > maxAsked {
		return abi.GitIgnored{}, invalid("paths: %d of them: give at most %d", len(q.Paths), maxAsked)
	}
	answer := abi.GitIgnored{}
	err := o.in(ctx, q.Repo, func(r *repository) error {
		s, err := r.settings()
		if err != nil {
			return err
		}
		g, err := r.ignorer(ctx, s, o.config.User.Excludes)
		if err != nil {
			return err
		}
		tracked, err := r.readIndex(ctx)
		if err != nil {
			return err
		}
		levels := map[string]*ignoreLevel{"": g.top}
		answer.Ignored = make([]bool, len(q.Paths))
		for i, asked := range q.Paths {
			name, folder, err := r.workPath(asked)
			if err != nil {
				return err
			}
			if name == "." || tracked.holds(name) {
				continue
			}
			if answer.Ignored[i], err = g.ask(levels, name, folder); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return abi.GitIgnored{}, err
	}
	return answer, nil
}

// workPath gives a path of a request relative to the top level, and whether it ends as a folder's.
func (r *repository) workPath(asked string) (name string, folder bool, err error) {
	wrong := invalid("path: %q: give a path in the repository's working tree %s: relative to it, with slashes and without "+
		`".." or ".git", or absolute`, shorten(asked), r.root.abs(r.top))
	if asked == "" || len(asked) > maxPath || strings.ContainsRune(asked, 0) {
		return "", false, wrong
	}
	name = path.Clean(asked)
	if filepath.IsAbs(asked) {
		rel, err := filepath.Rel(r.root.abs(r.top), asked)
		if err == nil && filepath.IsLocal(rel) {
			name = filepath.ToSlash(rel)
		}
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == ".." || part == ".git" || part == "" {
			return "", false, wrong
		}
	}
	return name, strings.HasSuffix(asked, "/"), nil
}

// ask goes down to a path from the top level; levels are the folders where it has been.
func (g *ignorer) ask(levels map[string]*ignoreLevel, name string, folder bool) (bool, error) {
	level, dir := g.top, ""
	for i, c := range name {
		if c != '/' {
			continue
		}
		dir = name[:i+1]
		next, known := levels[dir]
		if !known {
			ignored, err := g.ignored(level, name[:i], true)
			if err == nil {
				next, err = g.enter(level, dir, ignored)
			}
			if err != nil {
				return false, err
			}
			levels[dir] = next
		}
		level = next
	}
	if !folder {
		info, err := g.repo.root.dir.Lstat(path.Join(g.repo.top, name))
		if err != nil && !absent(err) {
			return false, g.repo.root.explain(path.Join(g.repo.top, name), err)
		}
		folder = err == nil && info.IsDir()
	}
	return g.ignored(level, name, folder)
}
