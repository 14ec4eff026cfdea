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

// KindOutside is the io_kind in the fault that RequireInside returns.
const KindOutside = "outside_root"

// RequireInside returns a fault unless path, with its symbolic links resolved, is inside the directory root. Neither
// path nor root needs to exist.
func RequireInside(root, path string) error {
	bound, err := NewBound(root)
	if err != nil {
		return err
	}
	return bound.RequireInside(path)
}

// Bound checks whether paths are inside a directory. It caches which directories are not symbolic links. So a check
// before a write needs a new Bound, or the function RequireInside.
type Bound struct {
	root, real string
	resolver   *contain.Resolver
}

// NewBound returns the Bound for the directory root, which need not exist.
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

// RequireInside returns a fault unless path is inside the directory of the bound.
func (b Bound) RequireInside(path string) error {
	_, err := b.Resolve(path)
	return err
}

// Resolve returns path with its symbolic links resolved. It returns a fault unless the resolved path is inside the
// directory of the bound.
func (b Bound) Resolve(path string) (contain.Target, error) {
	below, err := filepath.Rel(b.root, path)
	if err != nil || !contain.Below(b.root, path) {
		return contain.Target{}, outside(b.root, path, "the lexical path is outside")
	}
	target, err := b.resolver.Inside(b.real, filepath.Join(b.real, below))
	if errors.Is(err, contain.ErrOutside) || err == nil && target.Path == b.real {
		return target, outside(b.root, path, "a symbolic link resolves to "+target.Path)
	}
	return target, fault.IO(path, err)
}

func outside(root, path, why string) error {
	return fault.New(fault.IOInvalidPath, fault.Details{
		"path": path, "path_posix": filepath.ToSlash(path), "root": root, "root_posix": filepath.ToSlash(root),
		"io_kind": KindOutside, "hint": "remove the symbolic link, or choose a path inside the directory: the plugin neither reads nor writes files outside",
	}, "%s is not inside %s: %s", path, root, why)
}

// SumPlace returns the SHA-256 of the file at path in hexadecimal; nil if the file does not exist. If an ancestor of
// path is a file instead of a directory, the error names that file.
func SumPlace(path string) (*string, error) {
	sum, err := SumFile(path)
	if errors.Is(err, syscall.ENOTDIR) {
		for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
			if kind, err := Stat(dir); kind == File || kind == Other {
				return nil, fmt.Errorf("%s cannot be written, because its ancestor %s is a file and not a directory: remove or rename that file, and try again", path, dir)
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

// Resolve returns path with the symbolic links in its existing part resolved.
func Resolve(path string) (string, error) {
	target, err := new(contain.Resolver).Resolve(path)
	return target.Path, fault.IO(path, err)
}
