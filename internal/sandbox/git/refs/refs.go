// Package refs resolves a repository's references, both loose and packed ones, and creates branches. Start with Resolve and LockNewBranch.
// Names in a repository's files are untrusted: a symbolic reference is followed only to a valid name below refs/, never to another file
// of the repository.
package refs

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
	"syscall"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/internal/hosterror"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/objects"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/repo"
)

const (
	maxLoose  = 8 << 10   // most bytes of a loose reference
	maxPacked = 256 << 20 // most bytes of packed-refs, enough for over a million references
	maxDepth  = 5         // most nested symbolic references, as in git
)

// Resolve returns the object to which a reference refers, possibly through symbolic references. It returns false if the reference or its
// target does not exist.
func Resolve(ctx context.Context, r *repo.Repository, name string) (plumbing.Hash, bool, error) {
	first := name
	for range maxDepth + 1 {
		hash, target, err := readLoose(r, name)
		if repo.IsAbsent(err) {
			hash, err = findPacked(ctx, r, name)
		}
		if err != nil {
			return plumbing.ZeroHash, false, err
		}
		if target == "" {
			return hash, !hash.IsZero(), nil
		}
		if !isTarget(target) {
			return plumbing.ZeroHash, false, fmt.Errorf("%s: refers to %q, which is not a valid reference", name, hosterror.Truncate(target))
		}
		name = target
	}
	return plumbing.ZeroHash, false, fmt.Errorf("%s: symbolic references form a cycle, or nest deeper than %d", first, maxDepth)
}

// isTarget reports whether a symbolic reference to a name is followed.
func isTarget(name string) bool {
	return strings.HasPrefix(name, "refs/") && plumbing.ReferenceName(name).Validate() == nil
}

// HeadBranch returns the branch to which HEAD refers, which may be unborn. It returns an empty string if HEAD is detached.
func HeadBranch(r *repo.Repository) (string, error) {
	// Old versions of git made HEAD a symbolic link.
	if target, err := r.Root.Handle.Readlink(path.Join(r.GitDir, "HEAD")); err == nil {
		branch, ok := strings.CutPrefix(target, BranchPrefix)
		if ok && CheckBranch(branch) == nil {
			return branch, nil
		}
	}
	_, target, err := readLoose(r, "HEAD")
	if err != nil {
		return "", err
	}
	branch, ok := strings.CutPrefix(target, BranchPrefix)
	if !ok {
		return "", nil
	}
	return branch, nil
}

// readLoose reads the file of a reference. The file contains either a hash or the name of a different reference.
func readLoose(r *repo.Repository, name string) (hash plumbing.Hash, target string, err error) {
	dir := r.Common
	if name == "HEAD" {
		dir = r.GitDir
	}
	file := path.Join(dir, name)
	data, err := r.Root.Read(file, maxLoose)
	if errors.Is(err, syscall.EISDIR) { // the path is a directory of branches
		return hash, "", fmt.Errorf("%w: %w", syscall.ENOENT, err)
	}
	if err != nil {
		return hash, "", err
	}
	if ref, ok := bytes.CutPrefix(data, []byte("ref:")); ok {
		target = string(bytes.TrimSpace(ref))
		if target == "" {
			return hash, "", fmt.Errorf("%s: does not contain the name of a reference", r.Root.Abs(file))
		}
		return hash, target, nil
	}
	hash, err = objects.ParseHash(string(bytes.TrimRight(data, " \t\r\n")))
	if err != nil {
		return hash, "", fmt.Errorf("%s: %w", r.Root.Abs(file), err)
	}
	return hash, "", nil
}

// findPacked looks up a reference in packed-refs, and returns the zero hash if it is absent. Lines of other references are not validated.
func findPacked(ctx context.Context, r *repo.Repository, name string) (found plumbing.Hash, err error) {
	suffix := []byte(" " + name)
	err = visitPacked(ctx, r, func(line []byte) (stop bool, err error) {
		hash, ok := bytes.CutSuffix(line, suffix)
		if ok {
			found, err = objects.ParseHash(string(hash))
		}
		return ok, err
	})
	return found, err
}

// visitPacked visits the lines of packed-refs, except comments and empty lines.
func visitPacked(ctx context.Context, r *repo.Repository, visit func([]byte) (stop bool, err error)) error {
	const file = "packed-refs"
	f, err := r.Root.Open(r.InCommon(file))
	if repo.IsAbsent(err) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if info.Size() > maxPacked {
		return fmt.Errorf("%s: larger than %d bytes", file, maxPacked)
	}
	lines := bufio.NewReaderSize(io.LimitReader(f, maxPacked), 64<<10)
	for n := 0; ; n++ {
		if n%4096 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		line, end := lines.ReadSlice('\n')
		if end != nil && end != io.EOF {
			return fmt.Errorf("%s: line %d: %w", file, n+1, end)
		}
		if line = bytes.TrimRight(line, "\r\n"); len(line) > 0 && line[0] != '#' {
			stop, err := visit(line)
			if err != nil {
				return fmt.Errorf("%s: line %d: %w", file, n+1, err)
			}
			if stop {
				return nil
			}
		}
		if end == io.EOF {
			return nil
		}
	}
}
