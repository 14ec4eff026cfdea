package sandbox

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/bulkhead-mcp/bulkhead/internal/base/platform"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/vfs"
)

// hidden decides which paths in a plugin's mounts are hidden from its module: those that match a deny pattern, the
// host's own files and directories unless a grant names them, and configuration files that the host would use. Names
// are compared by vfs.FoldName, since the file system may be case-insensitive or normalizing.
type hidden struct {
	mounts    []string // longest first
	patterns  []string // folded; relative to each mount
	own       []string
	foldedOwn []string // own, folded
}

// In returns a function that reports whether a path, relative to the directory dir and separated by slashes, is hidden. dir is absolute and
// resolved.
func (h Hidden) In(dir string) (func(path string) bool, error) {
	dir = platform.TreePath(dir)
	decided, err := newHidden([]string{dir}, Hidden{Patterns: h.Patterns, Own: realPaths(h.Own)})
	if err != nil {
		return nil, err
	}
	return func(path string) bool { return decided.isHidden(dir+"/"+path, false) }, nil
}

// newHidden takes resolved, clean, absolute paths. The error names a malformed pattern.
func newHidden(mounts []string, what Hidden) (*hidden, error) {
	h := &hidden{mounts: slices.Clone(mounts), own: what.Own}
	for _, own := range what.Own {
		h.foldedOwn = append(h.foldedOwn, vfs.FoldName(own))
	}
	slices.SortFunc(h.mounts, func(a, b string) int { return len(b) - len(a) })
	for _, p := range what.Patterns {
		if !doublestar.ValidatePattern(p) {
			return nil, fmt.Errorf("deny: %q is not a valid pattern", p)
		}
		h.patterns = append(h.patterns, vfs.FoldName(strings.Trim(p, "/")))
	}
	return h, nil
}

// isHidden implements vfs.Config.Hidden.
func (h *hidden) isHidden(p string, below bool) bool {
	i := slices.IndexFunc(h.mounts, func(m string) bool { return vfs.Inside(m, p) })
	if i < 0 {
		return false
	}
	mount := h.mounts[i]
	folded := vfs.FoldName(p)
	if h.ownOf(p, mount) != "" || below && slices.ContainsFunc(h.foldedOwn, func(own string) bool { return vfs.Inside(folded, own) }) {
		return true
	}
	if len(h.patterns) == 0 {
		return false // fast path: this runs for each component of each path
	}
	name := strings.Trim(strings.TrimPrefix(folded, vfs.FoldName(mount)), "/")
	return slices.ContainsFunc(h.patterns, func(pattern string) bool {
		return matchesPrefix(pattern, name) || below && matchesBelow(pattern, name)
	})
}

// ownOf returns the file or directory of the host that hides p, "" if there is none. A directory of the host does not
// hide a mount at or below it; configuration files are hidden in every mount.
func (h *hidden) ownOf(p, mount string) string {
	if at := reservedIn(p, mount); at != "" {
		return at
	}
	folded := vfs.FoldName(p)
	for i, own := range h.foldedOwn {
		if vfs.Inside(own, folded) && !vfs.Inside(own, vfs.FoldName(mount)) {
			return h.own[i]
		}
	}
	return ""
}

// reservedIn returns the path of the configuration file or placeholder in a mount that is p or an ancestor of p; "" if there is
// none. A plugin that wrote a project's configuration could grant itself more at the next start. A placeholder contains the
// directory that stands in for an absent granted directory, in most cases one that is granted to another plugin.
func reservedIn(p, mount string) string {
	for end := len(mount); end < len(p); {
		begin := end + 1
		if mount == "/" && end == len(mount) {
			begin = end
		}
		end = len(p)
		if next := strings.IndexByte(p[begin:], '/'); next >= 0 {
			end = begin + next
		}
		if isReserved(p[begin:end]) {
			return p[:end]
		}
	}
	return ""
}

// isReserved reports whether name refers to a configuration file or placeholder on some file system. Short names of FAT and NTFS
// are included.
func isReserved(name string) bool {
	if len(name) < len("bulkhe~1") {
		return false
	}
	folded := vfs.FoldName(name)
	if folded == config.FileName || strings.HasPrefix(folded, config.HolderPrefix) {
		return true
	}
	number, short := strings.CutPrefix(strings.TrimSuffix(folded, ".tom"), "bulkhe~")
	return short && number != "" && strings.Trim(number, "0123456789") == ""
}

// matchesPrefix reports whether the pattern matches name or one of its ancestors.
func matchesPrefix(pattern, name string) bool {
	for end := range len(name) {
		if name[end] == '/' && doublestar.MatchUnvalidated(pattern, name[:end]) {
			return true
		}
	}
	return name != "" && doublestar.MatchUnvalidated(pattern, name)
}

// matchesBelow reports whether moving the directory name could make a path visible that the pattern hides. A pattern such
// as **/.env also matches at the new path, and one without a slash matches in no directory.
func matchesBelow(pattern, name string) bool {
	if !strings.Contains(strings.TrimPrefix(pattern, "**/"), "/") {
		return false
	}
	parts := strings.Split(pattern, "/")
	components := strings.Split(name, "/")
	for i, component := range components {
		if i >= len(parts) {
			return false
		}
		if strings.Contains(parts[i], "**") {
			return true
		}
		// Braces that contain a slash are split into malformed parts; assume that malformed parts match.
		if ok, err := doublestar.Match(parts[i], component); !ok {
			return err != nil
		}
	}
	return len(parts) > len(components)
}
