// Package contain decides whether a path stays inside a directory once symbolic links are followed. Start with
// Within, which compares names alone, and Resolver.Inside, which follows links; neither path has to exist.
//
// A decision holds for the moment: between it and the use of the path another program can swap a link. In a plugin the
// host enforces the grants at every operation; this package gives early and understandable refusals.
//
// Stability: additions only within a major version.
package contain

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem"
)

// maxLinks bounds the symbolic links followed for one path, as operating systems do.
const maxLinks = 40

const separator = string(filepath.Separator)

// ErrOutside means that a path resolves outside the directory in which it must stay.
var ErrOutside = errors.New("resolves outside")

// Within reports whether path is dir or lies below it, by their names alone (lexically).
func Within(dir, path string) bool {
	relative, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(relative)
}

// Below reports whether path lies below dir and is not dir itself, by their names alone.
func Below(dir, path string) bool {
	relative, err := filepath.Rel(dir, path)
	return err == nil && relative != "." && filepath.IsLocal(relative)
}

// Resolver follows symbolic links. It caches which paths are plain directories: use one Resolver for all paths of a
// decision, and a new one before something is written.
type Resolver struct {
	FS    filesystem.FS // nil: filesystem.OS{}
	plain map[string]bool
}

// Target is the result of resolving a path.
type Target struct {
	Path   string // with all symbolic links followed, as far as it exists
	Exists bool
	// Dangling is set if a component of the path is a symbolic link to a path that does not exist.
	Dangling bool
	// Info describes what is at Path. It is nil if nothing exists there, or if the Resolver has cached that Path is a
	// directory.
	Info fs.FileInfo
}

// Resolve follows all symbolic links of an absolute path. Names below the nearest existing ancestor are kept unchanged.
func (r *Resolver) Resolve(path string) (Target, error) {
	return r.follow(separator, filepath.Clean(path), "")
}

// Inside resolves path, which must be lexically below dir. The error matches ErrOutside unless the resolved path is below
// the resolved dir. Symbolic links on the way may resolve to paths outside.
func (r *Resolver) Inside(dir, path string) (Target, error) {
	base, err := r.Resolve(dir)
	if err != nil {
		return Target{}, err
	}
	relative, err := below(dir, path)
	if err != nil {
		return Target{}, err
	}
	target, err := r.follow(base.Path, relative, "")
	if err == nil && !Within(base.Path, target.Path) {
		err = fmt.Errorf("%s: %w %s: a symbolic link points to %s", path, ErrOutside, dir, target.Path)
	}
	return target, err
}

// InsideOnly is like Inside, but accesses nothing outside of dir, because a sandbox would refuse and report the access.
// dir is not resolved. A symbolic link to a path outside of dir fails with ErrOutside, even if that path is itself a
// link back into dir.
func (r *Resolver) InsideOnly(dir, path string) (Target, error) {
	relative, err := below(dir, path)
	if err != nil {
		return Target{}, err
	}
	return r.follow(dir, relative, dir)
}

func below(dir, path string) (string, error) {
	if !Within(dir, path) {
		return "", fmt.Errorf("%s: %w %s", path, ErrOutside, dir)
	}
	return filepath.Rel(dir, path)
}

// follow resolves path, starting at the directory "start", which is not resolved itself. If bound is not empty, follow
// accesses nothing outside of the directory bound.
func (r *Resolver) follow(start, path, bound string) (Target, error) {
	fsys := r.FS
	if fsys == nil {
		fsys = filesystem.OS{}
	}
	if r.plain == nil {
		r.plain = map[string]bool{}
	}
	end, links, exists, dangling := start, 0, true, false
	var last fs.FileInfo // describes the path in end
	rest := split(path)
	afterLink := len(rest) // number of trailing elements of rest that are from path itself, not from a link's target
	for len(rest) > 0 {
		next := filepath.Join(end, rest[0])
		rest = rest[1:]
		if bound != "" && !Within(bound, next) {
			return Target{Path: next}, fmt.Errorf("%s: %w %s", path, ErrOutside, bound)
		}
		last = nil
		if r.plain[next] {
			end = next
			continue
		}
		info, err := fsys.Lstat(next)
		if filesystem.IsAbsent(err) {
			end, exists, dangling = next, false, dangling || len(rest) >= afterLink
			continue
		}
		if err != nil {
			return Target{Path: next}, err
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			end, last = next, info
			r.plain[next] = info.IsDir()
			continue
		}
		if links++; links > maxLinks {
			return Target{Path: next, Dangling: true}, &fs.PathError{Op: "resolve", Path: next, Err: syscall.ELOOP}
		}
		target, err := fsys.Readlink(next)
		if err != nil {
			return Target{Path: next}, err
		}
		afterLink = min(afterLink, len(rest))
		if filepath.IsAbs(target) {
			end = separator
			if bound != "" {
				if target, err = below(bound, target); err != nil {
					return Target{Path: next}, err
				}
				end = bound
			}
		}
		rest = append(split(target), rest...)
	}
	return Target{Path: end, Exists: exists, Dangling: dangling, Info: last}, nil
}

// split returns the elements of a path without resolving "..", because the element before ".." may be a symbolic link.
func split(path string) []string {
	parts := strings.Split(path, separator)
	kept := parts[:0]
	for _, part := range parts {
		if part != "" && part != "." {
			kept = append(kept, part)
		}
	}
	return kept
}
