package git

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
)

const (
	branchPrefix = "refs/heads/"
	maxBranch    = 1 << 10   // bytes of a branch's name
	maxPacked    = 256 << 20 // bytes of packed-refs: over a million references
	maxPath      = 4 << 10   // bytes of a file's path
)

// checkBranch applies git's own rules for the name of a branch.
func checkBranch(name string) error {
	err := plumbing.ReferenceName(branchPrefix + name).Validate()
	if err != nil || len(name) > maxBranch || name == "HEAD" {
		return invalid("branch: %q: not a valid name of a branch (git check-ref-format says what is)", shorten(name))
	}
	return nil
}

// checkPath demands the form that a tree's paths have.
func checkPath(name string) error {
	ok := name != "" && len(name) <= maxPath && !strings.ContainsRune(name, 0)
	for part := range strings.SplitSeq(name, "/") {
		ok = ok && part != "" && part != "." && part != ".."
	}
	if !ok {
		return invalid("path: %q: give a file relative to the repository's top level, with slashes and without \".\" and \"..\"",
			shorten(name))
	}
	return nil
}

// resolve follows a reference to the object that it names; false if it, or what it refers to, is not
// there.
func (r *repository) resolve(ctx context.Context, name string) (plumbing.Hash, bool, error) {
	first := name
	for range maxDepth + 1 {
		hash, target, err := r.looseRef(name)
		if absent(err) {
			hash, err = r.packedRef(ctx, name)
		}
		if err != nil {
			return plumbing.ZeroHash, false, err
		}
		if target == "" {
			return hash, !hash.IsZero(), nil
		}
		if !strings.HasPrefix(target, "refs/") || plumbing.ReferenceName(target).Validate() != nil {
			return plumbing.ZeroHash, false, fmt.Errorf("%s: refers to %q, which is no valid reference", name, shorten(target))
		}
		name = target
	}
	return plumbing.ZeroHash, false, fmt.Errorf("%s: symbolic references go in a circle, or deeper than %d", first, maxDepth)
}

// looseRef reads a reference's own file: a hash, or the name of another reference.
func (r *repository) looseRef(name string) (hash plumbing.Hash, target string, err error) {
	dir := r.common
	if name == "HEAD" {
		dir = r.gitDir
	}
	file := path.Join(dir, name)
	data, err := r.root.read(file, maxPointer)
	if errors.Is(err, syscall.EISDIR) { // branches below this name
		return hash, "", fmt.Errorf("%w: %w", syscall.ENOENT, err)
	}
	if err != nil {
		return hash, "", err
	}
	if ref, ok := bytes.CutPrefix(data, []byte("ref:")); ok {
		target = string(bytes.TrimSpace(ref))
		if target == "" {
			return hash, "", fmt.Errorf("%s: refers to nothing", r.root.abs(file))
		}
		return hash, target, nil
	}
	hash, err = parseHash(string(bytes.TrimRight(data, " \t\r\n")))
	if err != nil {
		return hash, "", fmt.Errorf("%s: %w", r.root.abs(file), err)
	}
	return hash, "", nil
}

// packedRef looks a reference up in packed-refs; the zero hash if it is not there. Only the line that
// names it is judged.
func (r *repository) packedRef(ctx context.Context, name string) (found plumbing.Hash, err error) {
	suffix := []byte(" " + name)
	err = r.packedLines(ctx, func(line []byte) (stop bool, err error) {
		hash, ok := bytes.CutSuffix(line, suffix)
		if ok {
			found, err = parseHash(string(hash))
		}
		return ok, err
	})
	return found, err
}

// packedLines visits the lines of packed-refs that are no comments; there are none without the file.
func (r *repository) packedLines(ctx context.Context, visit func([]byte) (stop bool, err error)) error {
	const file = "packed-refs"
	f, err := r.root.open(path.Join(r.common, file))
	if absent(err) {
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
		return fmt.Errorf("%s: over %d bytes", file, maxPacked)
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

// parseHash reads a SHA-1 in hexadecimal digits.
func parseHash(s string) (plumbing.Hash, error) {
	switch {
	case len(s) == 64 && isHex(s):
		return plumbing.ZeroHash, errors.New("a SHA-256 hash; only SHA-1 repositories are supported")
	case !plumbing.IsHash(s):
		return plumbing.ZeroHash, fmt.Errorf("%q is not a hash", shorten(s))
	}
	return plumbing.NewHash(s), nil
}

func isHex(s string) bool {
	return strings.IndexFunc(s, func(c rune) bool { return !strings.ContainsRune("0123456789abcdefABCDEF", c) }) < 0
}
