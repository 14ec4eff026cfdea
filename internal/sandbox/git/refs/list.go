package refs

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/internal/hosterror"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/objects"
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
	all := make([]Reference, 0, len(names))
	for _, name := range slices.Sorted(maps.Keys(names)) {
		all = append(all, Reference{Name: name})
	}
	if err := resolveAll(ctx, r, all); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all, func(ref Reference) bool { return ref.Hash.IsZero() }), nil
}

// resolveAll sets the hashes and targets of references. The hash of a reference that is broken or refers to nothing stays zero. Unlike
// Resolve, it reads packed-refs once for each level of symbolic references, not once for each reference.
func resolveAll(ctx context.Context, r *repo.Repository, all []Reference) error {
	level := map[string][]*Reference{} // by the name to look up
	for i := range all {
		level[all[i].Name] = []*Reference{&all[i]}
	}
	for range maxDepth + 1 {
		next := map[string][]*Reference{}
		for name, waiting := range level {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			hash, target, err := readLoose(r, name)
			if repo.IsAbsent(err) {
				continue // it may be packed
			}
			delete(level, name)
			for _, ref := range waiting {
				if ref.Hash = hash; ref.Name == name {
					ref.Target = target
				}
			}
			if isTarget(target) {
				next[target] = append(next[target], waiting...)
			}
		}
		if err := resolvePacked(ctx, r, level); err != nil {
			return err
		}
		level = next
	}
	return nil
}

// resolvePacked sets the hashes of references that are looked up in packed-refs, in which the first line of a name counts.
func resolvePacked(ctx context.Context, r *repo.Repository, waiting map[string][]*Reference) error {
	if len(waiting) == 0 {
		return nil
	}
	return visitPacked(ctx, r, func(line []byte) (bool, error) {
		text, name, _ := bytes.Cut(line, []byte(" "))
		hash, _ := objects.ParseHash(string(text)) // zero if the reference is broken
		for _, ref := range waiting[string(name)] {
			ref.Hash = hash
		}
		delete(waiting, string(name))
		return len(waiting) == 0, nil
	})
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
