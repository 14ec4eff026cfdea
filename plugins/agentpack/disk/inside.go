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

// errNotFolder is what the system says of a path that goes on behind a file.
var errNotDirectory error = syscall.ENOTDIR

// maxLinks bounds how many links are followed on the way of one path, as the system does.
const maxLinks = 40

// Inside proves that path, once all links on its way are followed, is in the folder root. Neither has to
// exist. A path that leads elsewhere is a fault, and so is one whose links go in circles.
func RequireInside(root, path string) error {
	bound, err := NewBound(root)
	if err != nil {
		return err
	}
	return bound.RequireInside(path)
}

// Bound is a folder for many paths. What it has found out about folders it takes to stay so: make a new one, or
// call Inside, where something is about to be written.
type Bound struct {
	root, real string
	dirs       map[string]bool // folders that are no links
}

// NewBound returns the bound that a folder is, which need not exist.
func NewBound(root string) (Bound, error) {
	plain := map[string]bool{}
	real, err := follow(string(filepath.Separator), strings.TrimPrefix(root, string(filepath.Separator)), plain)
	if err != nil {
		return Bound{}, fault.IO(root, err)
	}
	return Bound{root, real, plain}, nil
}

// Root is the folder, by the name that it was given.
func (b Bound) Root() string { return b.root }

// Holds proves of a path what Inside does.
func (b Bound) RequireInside(path string) error {
	below, err := filepath.Rel(b.root, path)
	if err != nil || !isStrictlyLocal(below) {
		return outside(b.root, path, "its name leads out of the folder")
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

// local tells whether a clean relative path names something below the folder that it starts from.
func isStrictlyLocal(relative string) bool { return relative != "." && filepath.IsLocal(relative) }

func outside(root, path, why string) error {
	return fault.New(fault.IOInvalidPath, fault.Details{
		"path": path, "path_posix": filepath.ToSlash(path), "root": root, "root_posix": filepath.ToSlash(root),
		"io_kind": "outside_root", "hint": "take the link out of the way, or rename what leads out of the folder: nothing is read or written through it",
	}, "%s is not inside %s: %s", path, root, why)
}

// follow goes from folder, in whose own path there are no links, along the path below it, and returns where
// that ends. Behind what does not exist there are no links to follow. Folders that are known as plain are not
// looked at again.
func follow(folder, below string, plain map[string]bool) (string, error) {
	const separator = string(filepath.Separator)
	end, links := folder, 0
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

// Real returns path with all links followed, as far as it exists.
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
