package disk

import (
	"errors"
	"path/filepath"

	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/fault"
	"github.com/bulkhead-mcp/bulkhead/sdk/contain"
)

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

// RequireInside is the function RequireInside for this bound.
func (b Bound) RequireInside(path string) error {
	below, err := filepath.Rel(b.root, path)
	if err != nil || !contain.Below(b.root, path) {
		return outside(b.root, path, "its lexical path is outside the directory")
	}
	target, err := b.resolver.Inside(b.real, filepath.Join(b.real, below))
	if errors.Is(err, contain.ErrOutside) || err == nil && target.Path == b.real {
		return outside(b.root, path, "a symbolic link leads to "+target.Path)
	}
	return fault.IO(path, err)
}

func outside(root, path, why string) error {
	return fault.New(fault.IOInvalidPath, fault.Details{
		"path": path, "path_posix": filepath.ToSlash(path), "root": root, "root_posix": filepath.ToSlash(root),
		"io_kind": "outside_root", "hint": "remove the symbolic link, or rename the file that is outside of the directory: it is neither read nor written",
	}, "%s is not inside %s: %s", path, root, why)
}

// Resolve returns path with its symbolic links resolved, as far as it exists.
func Resolve(path string) (string, error) {
	target, err := new(contain.Resolver).Resolve(path)
	return target.Path, fault.IO(path, err)
}
