// Package contain decides whether a path stays inside a directory after symbolic links are followed. Start with Within, which compares names
// alone, and Resolver.Inside, which follows links. Neither the path nor the directory has to exist.
//
// A decision is valid only at the moment: before the path is used, another program can replace a component with a symbolic link. In a
// plugin, the host enforces the grants at every operation; this package gives early and understandable refusals.
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

// maxLinks is the maximum number of symbolic links that are followed for one path. Operating systems have such a maximum too.
const maxLinks = 40

const separator = string(filepath.Separator)

// ErrOutside means that a path resolves to a path outside of the directory in which it must stay.
var ErrOutside = errors.New("resolves outside")

// Within reports whether path is dir or is below dir. It compares the names alone (lexically).
func Within(dir, path string) bool {
	relative, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(relative)
}

// Below reports whether path is below dir and is not dir itself. It compares the names alone.
func Below(dir, path string) bool {
	relative, err := filepath.Rel(dir, path)
	return err == nil && relative != "." && filepath.IsLocal(relative)
}

// Resolver follows symbolic links. It caches which paths are plain directories. Use one Resolver for all paths of a decision, and a new one
// before anything is written.
type Resolver struct {
	FS    filesystem.FS // file system that is examined; nil: filesystem.OS{}
	plain map[string]bool
}

// Target is the result of resolving a path.
type Target struct {
	Path   string // the path with all symbolic links followed, as far as it exists
	Exists bool
	// Dangling is set if a component of the path is a symbolic link whose target does not exist.
	Dangling bool
	// Info describes the file at Path. It is nil if nothing exists there, or if the Resolver has cached that Path is a directory.
	Info fs.FileInfo
}

// Resolve follows all symbolic links of an absolute path. Names that do not exist are kept unchanged.
func (r *Resolver) Resolve(path string) (Target, error) {
	return r.follow(separator, filepath.Clean(path), "")
}

// Inside resolves path, which must be lexically below dir. The error matches ErrOutside unless the resolved path is below the resolved dir.
// While path is resolved, symbolic links may lead outside of dir and back.
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

// InsideOnly is like Inside, but accesses nothing outside of dir, because a sandbox would refuse and report such an access. dir itself is
// not resolved. A symbolic link to a path outside of dir fails with ErrOutside, even if that path is a link back into dir.
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

// follow resolves path, beginning at the directory start, which itself is not resolved. If bound is not empty, follow accesses nothing
// outside of the directory bound.
func (r *Resolver) follow(start, path, bound string) (Target, error) {
	fsys := r.FS
	if fsys == nil {
		fsys = filesystem.OS{}
	}
	if r.plain == nil {
		r.plain = map[string]bool{}
	}
	end, links, exists, dangling := start, 0, true, false
	var last fs.FileInfo // information about the file at the path end
	rest := split(path)
	afterLink := len(rest) // number of trailing elements of rest that belong to path itself, not to a link's target
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

// split returns the elements of a path. It does not resolve "..", because the element before ".." may be a symbolic link.
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
