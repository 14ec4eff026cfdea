package refs

import (
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/internal/hosterror"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/repo"
)

const (
	maxListed  = 10_000 // most references in one list
	maxNesting = 64     // most levels of directories below refs
)

// Reference is a reference that refers to an object, possibly through the reference Target.
type Reference struct {
	Name   string
	Hash   plumbing.Hash
	Target string
}

// List returns the references below a directory of references such as refs/heads/, sorted by name. As in git, a reference that is broken or
// refers to nothing is left out.
func List(ctx context.Context, r *repo.Repository, prefix string) ([]Reference, error) {
	names := map[string]struct{}{}
	add := func(name string) error {
		if len(name) > MaxName || plumbing.ReferenceName(name).Validate() != nil {
			return nil
		}
		if names[name] = struct{}{}; len(names) > maxListed {
			return fmt.Errorf("there are more than %d references in %s", maxListed, prefix)
		}
		return nil
	}
	err := visitPacked(ctx, r, func(line []byte) (bool, error) {
		_, name, _ := strings.Cut(string(line), " ")
		if !strings.HasPrefix(name, prefix) {
			return false, nil
		}
		return false, add(name)
	})
	if err == nil {
		err = listLoose(ctx, r, strings.TrimSuffix(prefix, "/"), 0, add)
	}
	if err != nil {
		return nil, err
	}
	var all []Reference
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		_, target, err := readLoose(r, name)
		hash, ok, broken := Resolve(ctx, r, name)
		if err != nil && !repo.IsAbsent(err) || broken != nil || !ok {
			continue
		}
		all = append(all, Reference{name, hash, target})
	}
	return all, nil
}

func listLoose(ctx context.Context, r *repo.Repository, dir string, depth int, add func(string) error) error {
	if depth > maxNesting || ctx.Err() != nil {
		return ctx.Err()
	}
	files, err := r.Root.List(r.InCommon(dir))
	if err != nil {
		return err
	}
	for _, file := range files {
		name := path.Join(dir, file)
		if ok, err := r.Root.IsDir(r.InCommon(name)); err != nil {
			return err
		} else if ok {
			err = listLoose(ctx, r, name, depth+1, add)
			if err != nil {
				return err
			}
		} else if err := add(name); err != nil {
			return err
		}
	}
	return nil
}

// CheckPrefix refuses a prefix unless it is a directory of references.
func CheckPrefix(prefix string) error {
	err := plumbing.ReferenceName(prefix + "x").Validate()
	if err != nil || !strings.HasPrefix(prefix, "refs/") || !strings.HasSuffix(prefix, "/") || len(prefix) > MaxName {
		return hosterror.Invalid("prefix: %q: give a directory of references such as refs/heads/", hosterror.Truncate(prefix))
	}
	return nil
}
