package disk

import (
	"errors"
	"fmt"
	"path/filepath"
	"syscall"

	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/fault"
	"github.com/bulkhead-mcp/bulkhead/sdk/contain"
	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem"
)

// KindOutside is the io_kind of the fault of RequireInside.
const KindOutside = "outside_root"

// RequireInside returns a fault unless path, with its symbolic links resolved, is inside the directory root.
// Neither has to exist.
func RequireInside(root, path string) error {
	bound, err := NewBound(root)
	if err != nil {
		return err
	}
	return bound.RequireInside(path)
}

// Bound is a directory that several paths must be inside of. It caches which directories are not symbolic
// links: create a new one, or call RequireInside, before a write.
type Bound struct {
	root, real string
	resolver   *contain.Resolver
}

// NewBound returns the bound for a directory, which need not exist.
func NewBound(root string) (Bound, error) {
	resolver := new(contain.Resolver)
	real, err := resolver.Resolve(root)
	if err != nil {
		return Bound{}, fault.IO(root, err)
	}
	return Bound{root, real.Path, resolver}, nil
}

// Root returns the directory as it was passed to NewBound.
func (b Bound) Root() string { return b.root }

// Real returns the directory with its symbolic links resolved.
func (b Bound) Real() string { return b.real }

// RequireInside is the function RequireInside for this bound.
func (b Bound) RequireInside(path string) error {
	_, err := b.Resolve(path)
	return err
}

// Resolve is RequireInside, and returns what the path resolves to.
func (b Bound) Resolve(path string) (contain.Target, error) {
	below, err := filepath.Rel(b.root, path)
	if err != nil || !contain.Below(b.root, path) {
		return contain.Target{}, outside(b.root, path, "its lexical path is outside the directory")
	}
	target, err := b.resolver.Inside(b.real, filepath.Join(b.real, below))
	if errors.Is(err, contain.ErrOutside) || err == nil && target.Path == b.real {
		return target, outside(b.root, path, "a symbolic link leads to "+target.Path)
	}
	return target, fault.IO(path, err)
}

func outside(root, path, why string) error {
	return fault.New(fault.IOInvalidPath, fault.Details{
		"path": path, "path_posix": filepath.ToSlash(path), "root": root, "root_posix": filepath.ToSlash(root),
		"io_kind": KindOutside, "hint": "remove the symbolic link, or rename the file that is outside of the directory: it is neither read nor written",
	}, "%s is not inside %s: %s", path, root, why)
}

// SumPlace returns the sum of the file at a path that is to be written; nil if there is none. A file in place of
// a directory above it is an error that names it.
func SumPlace(path string) (*string, error) {
	sum, err := SumFile(path)
	if errors.Is(err, syscall.ENOTDIR) {
		for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
			if kind, err := Stat(dir); kind == File || kind == Other {
				return nil, fmt.Errorf("%s cannot be written, since %s is a file, where a directory has to be: remove or rename it, and try again", path, dir)
			} else if err != nil || kind == Directory || dir == filepath.Dir(dir) {
				break
			}
		}
	}
	switch {
	case filesystem.IsAbsent(err):
		return nil, nil
	case err != nil:
		return nil, fault.IO(path, err)
	}
	return &sum, nil
}

// Resolve returns path with its symbolic links resolved, as far as it exists.
func Resolve(path string) (string, error) {
	target, err := new(contain.Resolver).Resolve(path)
	return target.Path, fault.IO(path, err)
}
