package sandbox

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// hidden decides what a module does not see of its folders: what the admin denied by a pattern, and the
// host's own folders, unless the grant names them.
type hidden struct {
	mounts   []string // longest first
	patterns []string // folded; relative to each mount
	own      []string // folders and files of the host's
}

// newHidden takes paths that are absolute, clean and free of links. The error names a pattern that is
// none.
func newHidden(mounts, patterns, own []string) (*hidden, error) {
	h := &hidden{mounts: slices.Clone(mounts), own: own}
	slices.SortFunc(h.mounts, func(a, b string) int { return len(b) - len(a) })
	for _, p := range patterns {
		if !doublestar.ValidatePattern(p) {
			return nil, fmt.Errorf("deny: %q is not a pattern", p)
		}
		h.patterns = append(h.patterns, fold(strings.Trim(p, "/")))
	}
	return h, nil
}

// fold makes names equal that some file system takes for the same: a pattern must not be got around by
// another case, or another way to write an accent.
func fold(name string) string { return cases.Fold().String(norm.NFC.String(name)) }

// hides implements vfs.Config.Hidden.
func (h *hidden) hides(p string, below bool) bool {
	i := slices.IndexFunc(h.mounts, func(m string) bool { return inside(m, p) })
	if i < 0 {
		return false
	}
	mount := h.mounts[i]
	if h.ownOf(p, mount) != "" || below && slices.ContainsFunc(h.own, func(own string) bool { return inside(p, own) }) {
		return true
	}
	if len(h.patterns) == 0 {
		return false // this is asked for each component of each path
	}
	name := fold(strings.Trim(strings.TrimPrefix(p, mount), "/"))
	return slices.ContainsFunc(h.patterns, func(pattern string) bool {
		return matchesPrefix(pattern, name) || below && matchesBelow(pattern, name)
	})
}

// ownOf is the host's own file or folder that hides p, "" if none does. A grant of something in the host's
// folder, or of the folder itself, means it.
func (h *hidden) ownOf(p, mount string) string {
	for _, own := range h.own {
		if inside(own, p) && !inside(own, mount) {
			return own
		}
	}
	return ""
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
