package sandbox

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/bulkhead-mcp/bulkhead/host/config"
	"github.com/bulkhead-mcp/bulkhead/host/sandbox/vfs"
)

// hidden decides what a module does not see of its directories: what the admin denied by a pattern, the
// host's own files and directories, unless the grant names them, and every file that the host would obey.
// Names are compared as vfs.FoldName does, since the file system may do so too.
type hidden struct {
	mounts   []string // longest first
	patterns []string // folded; relative to each mount
	own      []string // as they are, and
	folded   []string // folded
}

// newHidden takes paths that are absolute, clean and free of links. The error names a pattern that is
// none.
func newHidden(mounts []string, what Hidden) (*hidden, error) {
	h := &hidden{mounts: slices.Clone(mounts), own: what.Own}
	for _, own := range what.Own {
		h.folded = append(h.folded, vfs.FoldName(own))
	}
	slices.SortFunc(h.mounts, func(a, b string) int { return len(b) - len(a) })
	for _, p := range what.Patterns {
		if !doublestar.ValidatePattern(p) {
			return nil, fmt.Errorf("deny: %q is not a pattern", p)
		}
		h.patterns = append(h.patterns, vfs.FoldName(strings.Trim(p, "/")))
	}
	return h, nil
}

// hides implements vfs.Config.Hidden.
func (h *hidden) hides(p string, below bool) bool {
	i := slices.IndexFunc(h.mounts, func(m string) bool { return inside(m, p) })
	if i < 0 {
		return false
	}
	mount := h.mounts[i]
	folded := vfs.FoldName(p)
	if h.ownOf(p, mount) != "" || below && slices.ContainsFunc(h.folded, func(own string) bool { return inside(folded, own) }) {
		return true
	}
	if len(h.patterns) == 0 {
		return false // this is asked for each component of each path
	}
	name := strings.Trim(strings.TrimPrefix(folded, vfs.FoldName(mount)), "/")
	return slices.ContainsFunc(h.patterns, func(pattern string) bool {
		return matchesPrefix(pattern, name) || below && matchesBelow(pattern, name)
	})
}

// ownOf is the file or directory of the host's that hides p, "" if none does. A grant of something in the
// host's directory, or of the directory itself, means it; a config is nothing that a plugin is granted.
func (h *hidden) ownOf(p, mount string) string {
	if at := reservedIn(p, mount); at != "" {
		return at
	}
	folded := vfs.FoldName(p)
	for i, own := range h.folded {
		if inside(own, folded) && !inside(own, vfs.FoldName(mount)) {
			return h.own[i]
		}
	}
	return ""
}

// reservedIn is the path of the config or holder that p is, or is below, in a mount. A host that is started
// beside a config would ask for it to be trusted, and a project's is only ever written by people. A holder
// has a directory in it that stands in for one that a plugin, mostly another one, is granted.
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

// isReserved reports whether some file system takes name for the one of a config or a holder: also by the
// short name that FAT and NTFS give it.
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

// matchesPrefix tells whether the pattern matches name or a folder that it lies in.
func matchesPrefix(pattern, name string) bool {
	for end := 0; end < len(name); end++ {
		next := strings.IndexByte(name[end:], '/')
		if next < 0 {
			break
		}
		end += next
		if doublestar.MatchUnvalidated(pattern, name[:end]) {
			return true
		}
	}
	return name != "" && doublestar.MatchUnvalidated(pattern, name)
}

// matchesBelow tells whether moving the folder name could uncover what the pattern hides in it. A pattern
// such as **/.env matches wherever the folder is moved to.
func matchesBelow(pattern, name string) bool {
	if rest, ok := strings.CutPrefix(pattern, "**/"); ok && !strings.Contains(rest, "/") {
		return false
	}
	parts := strings.Split(pattern, "/")
	folders := strings.Split(name, "/")
	for i, folder := range folders {
		if i >= len(parts) {
			return false
		}
		if strings.Contains(parts[i], "**") {
			return true
		}
		// Braces around a slash fall apart here: what they stand for is not worked out.
		if ok, err := doublestar.Match(parts[i], folder); err != nil || !ok {
			return err != nil
		}
	}
	return len(parts) > len(folders)
}

// inside reports whether p is dir or lies in it.
func inside(dir, p string) bool {
	return dir == "/" || p == dir || strings.HasPrefix(p, dir) && p[len(dir)] == '/'
}
