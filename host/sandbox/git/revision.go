package git

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
	"github.com/go-git/go-git/v5/plumbing"
)

const (
	minHash = 4 // characters of an abbreviated hash, as git demands
	maxTags = 8 // that stand for one another
)

// TopLevel gives the top level of the repository that holds a path.
func (o *Ops) TopLevel(ctx context.Context, q abi.GitPath) (abi.GitTopLevel, error) {
	var top abi.GitTopLevel
	err := o.open(ctx, q.Path, false, func(r *root) error {
		name, err := r.nearestFolder(q.Path)
		if err != nil {
			return err
		}
		return r.use(r.abs(name), func(repo *repository) error {
			top.TopLevel = r.abs(repo.top)
			return nil
		})
	})
	if err != nil {
		return abi.GitTopLevel{}, err
	}
	return top, nil
}

// CurrentBranch tells where HEAD stands.
func (o *Ops) CurrentBranch(ctx context.Context, q abi.GitRepo) (abi.GitHead, error) {
	var head abi.GitHead
	err := o.in(ctx, q.Repo, func(r *repository) error {
		branch, err := r.headBranch()
		if err != nil {
			return err
		}
		hash, ok, err := r.resolve(ctx, "HEAD")
		if err != nil {
			return err
		}
		if head.Branch = branch; ok {
			head.Commit = hash.String()
		}
		return nil
	})
	if err != nil {
		return abi.GitHead{}, err
	}
	return head, nil
}

// headBranch gives the branch that HEAD refers to; empty if it refers to none.
func (r *repository) headBranch() (string, error) {
	// An old HEAD may be a link to the branch's file.
	if target, err := r.root.dir.Readlink(path.Join(r.gitDir, "HEAD")); err == nil {
		branch, ok := strings.CutPrefix(target, branchPrefix)
		if ok && checkBranch(branch) == nil {
			return branch, nil
		}
	}
	_, target, err := r.looseRef("HEAD")
	if err != nil {
		return "", err
	}
	branch, _ := strings.CutPrefix(target, branchPrefix)
	if branch == target {
		return "", nil
	}
	return branch, nil
}

// ResolveRef gives what a reference or a hash stands for.
func (o *Ops) ResolveRef(ctx context.Context, q abi.GitRef) (abi.GitObject, error) {
	if err := checkRef(q.Ref); err != nil {
		return abi.GitObject{}, err
	}
	var object abi.GitObject
	err := o.in(ctx, q.Repo, func(r *repository) error {
		s, err := r.openStore(ctx)
		if err != nil {
			return err
		}
		defer s.close()
		hash, ok, err := s.resolve(q.Ref)
		if err != nil || !ok {
			return err
		}
		commit, ok, err := s.peel(hash)
		if err != nil {
			return err
		}
		if object.Hash = hash.String(); ok {
			object.Commit = commit.String()
		}
		return nil
	})
	if err != nil {
		return abi.GitObject{}, err
	}
	return object, nil
}

// checkRef demands HEAD, or what is a valid reference once it is written in full. Every hash is.
func checkRef(name string) error {
	if name == "HEAD" {
		return nil
	}
	err := plumbing.ReferenceName("refs/x/" + name).Validate()
	if err != nil || len(name) > maxBranch || strings.HasPrefix(name, "-") {
		return invalid("ref: %q: give HEAD, a reference, a tag, a branch or a hash; expressions with ^ ~ : @{ are not taken",
			shorten(name))
	}
	return nil
}

// references are the names that a short one may stand for, in git's order.
func references(name string) []string {
	all := []string{"refs/" + name, "refs/tags/" + name, branchPrefix + name, "refs/remotes/" + name, "refs/remotes/" + name + "/HEAD"}
	if name == "HEAD" || strings.HasPrefix(name, "refs/") {
		all = append([]string{name}, all...)
	}
	return all
}

// resolve finds what a name stands for: a full hash, a reference, an abbreviated hash; false if nothing.
func (s *store) resolve(name string) (plumbing.Hash, bool, error) {
	if plumbing.IsHash(name) {
		hash := plumbing.NewHash(name)
		ok, err := s.has(hash)
		return hash, ok, err
	}
	for _, ref := range references(name) {
		hash, ok, err := s.repo.resolve(s.ctx, ref)
		if ok || err != nil {
			return hash, ok, err
		}
	}
	if len(name) < minHash || len(name) > 2*hashSize || !isHex(name) {
		return plumbing.ZeroHash, false, nil
	}
	return s.expand(strings.ToLower(name))
}

// peel gives the commit that an object is or that a tag leads to; false if there is none.
func (s *store) peel(hash plumbing.Hash) (plumbing.Hash, bool, error) {
	for range maxTags {
		o, ok, err := s.find(hash, maxObject)
		switch {
		case err != nil:
			return hash, false, fmt.Errorf("%s: %w", hash, err)
		case !ok:
			return hash, false, fmt.Errorf("%s: missing from the repository", hash)
		case o.kind != plumbing.TagObject:
			return hash, o.kind == plumbing.CommitObject, nil
		case hashOf(o) != hash:
			return hash, false, fmt.Errorf("tag %s: damaged: its content has another hash", hash)
		}
		line, _, _ := strings.Cut(string(o.data[:min(len(o.data), 64)]), "\n")
		hex, ok := strings.CutPrefix(line, "object ")
		if !ok {
			return hash, false, fmt.Errorf("tag %s: damaged: it stands for nothing", hash)
		}
		next, err := parseHash(hex)
		if err != nil {
			return hash, false, fmt.Errorf("tag %s: %w", hash, err)
		}
		hash = next
	}
	return hash, false, errors.New("over 8 tags that stand for one another")
}

// has reports whether an object is there, without reading it.
func (s *store) has(hash plumbing.Hash) (bool, error) {
	for _, p := range s.packs {
		if _, ok, err := p.offset(hash); ok || err != nil {
			return ok, err
		}
	}
	hex := hash.String()
	for _, dir := range s.repo.stores {
		_, err := s.repo.root.stat(path.Join(dir, hex[:2], hex[2:]))
		if err == nil || !absent(err) {
			return err == nil, err
		}
	}
	return false, nil
}

// expand finds the one object whose hash begins with some digits; false if there is none.
func (s *store) expand(digits string) (found plumbing.Hash, ok bool, err error) {
	first := plumbing.NewHash(digits + strings.Repeat("0", 2*hashSize-len(digits)))
	add := func(h plumbing.Hash) error {
		if ok && h != found {
			return fmt.Errorf("%s: several objects begin so; give more of the hash", digits)
		}
		found, ok = h, true
		return nil
	}
	for _, p := range s.packs {
		at, _, err := p.index.position(first)
		if err != nil {
			return found, false, err
		}
		// Two are enough to see that there are several.
		for i := uint64(at); i < uint64(p.index.count()) && i < uint64(at)+2; i++ {
			h, err := p.index.name(uint32(i))
			if err != nil {
				return found, false, err
			}
			if !strings.HasPrefix(h.String(), digits) {
				break
			}
			if err := add(h); err != nil {
				return found, false, err
			}
		}
	}
	for _, dir := range s.repo.stores {
		names, err := s.repo.root.list(path.Join(dir, digits[:2]), maxNames)
		if err != nil {
			return found, false, err
		}
		for _, name := range names {
			hex := digits[:2] + name
			if !strings.HasPrefix(hex, digits) || !plumbing.IsHash(hex) {
				continue
			}
			if err := add(plumbing.NewHash(hex)); err != nil {
				return found, false, err
			}
		}
	}
	return found, ok, nil
}
