package disk

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/fault"
)

// errNotDirectory is the error of a path that continues below a file.
var errNotDirectory error = syscall.ENOTDIR

// maxLinks is the number of symbolic links followed in one path, as in the kernel.
const maxLinks = 40

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
	dirs       map[string]bool // directories known not to be symbolic links
}

// NewBound returns the bound for a directory, which need not exist.
func NewBound(root string) (Bound, error) {
	plain := map[string]bool{}
	real, err := follow(string(filepath.Separator), strings.TrimPrefix(root, string(filepath.Separator)), plain)
	if err != nil {
		return Bound{}, fault.IO(root, err)
	}
	return Bound{root, real, plain}, nil
}

// Root returns the directory as it was passed to NewBound.
func (b Bound) Root() string { return b.root }

// RequireInside is the function RequireInside for this bound.
func (b Bound) RequireInside(path string) error {
	below, err := filepath.Rel(b.root, path)
	if err != nil || !isStrictlyLocal(below) {
		return outside(b.root, path, "its lexical path is outside the directory")
	}
	end, err := follow(b.real, below, b.dirs)
	if err != nil {
		return fault.IO(path, err)
	}
	if relative, err := filepath.Rel(b.real, end); err != nil || !isStrictlyLocal(relative) {
		return outside(b.root, path, "a symbolic link leads to "+end)
	}
	return nil
}

// isStrictlyLocal reports whether a clean relative path is lexically below its starting directory.
func isStrictlyLocal(relative string) bool { return relative != "." && filepath.IsLocal(relative) }

func outside(root, path, why string) error {
	return fault.New(fault.IOInvalidPath, fault.Details{
		"path": path, "path_posix": filepath.ToSlash(path), "root": root, "root_posix": filepath.ToSlash(root),
		"io_kind": "outside_root", "hint": "remove the symbolic link, or rename the file that is outside of the directory: it is neither read nor written",
	}, "%s is not inside %s: %s", path, root, why)
}

// follow resolves the relative path below, starting at dir, which is already resolved. Components after
// one that does not exist are taken literally. Directories in plain are not checked again.
func follow(dir, below string, plain map[string]bool) (string, error) {
	const separator = string(filepath.Separator)
	end, links := dir, 0
	for rest := strings.Split(below, separator); len(rest) > 0; {
		next := filepath.Join(end, rest[0])
		rest = rest[1:]
		if plain[next] {
			end = next
			continue
		}
		info, err := os.Lstat(next)
		if err != nil && !IsMissing(err) {
			return "", err
		}
		if err != nil || info.Mode()&fs.ModeSymlink == 0 {
			end = next
			plain[next] = err == nil && info.IsDir()
			continue
		}
		if links++; links > maxLinks {
			return "", &fs.PathError{Op: "follow", Path: next, Err: syscall.ELOOP}
		}
		target, err := os.Readlink(next)
		if err != nil {
			return "", err
		}
		if filepath.IsAbs(target) {
			end = separator
		}
		rest = append(strings.Split(target, separator), rest...)
	}
	return end, nil
}

// Resolve returns path with its symbolic links resolved, as far as it exists.
func Resolve(path string) (string, error) {
	real, err := follow(string(filepath.Separator), strings.TrimPrefix(filepath.Clean(path), string(filepath.Separator)), map[string]bool{})
	if errors.Is(err, fs.ErrPermission) {
		return "", fault.IO(path, err)
	}
	return real, err
}

// IsBelow reports whether path lies lexically below root, at any depth.
func IsBelow(root, path string) bool {
	relative, err := filepath.Rel(root, path)
	return err == nil && isStrictlyLocal(relative)
}
