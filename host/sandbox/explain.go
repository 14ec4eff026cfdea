package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/host/config"
	"github.com/bulkhead-mcp/bulkhead/host/manifest"
	"github.com/bulkhead-mcp/bulkhead/host/sandbox/vfs"
)

// Verdict is what a module may do at a path, and what decides.
type Verdict struct {
	Path        string        // the path with its links resolved, by which it is judged
	Read, Write bool          // whether it may, if the thing is there and the system lets the user
	Rule        Rule          // that decides why not more; RuleGranted where nothing is refused
	Mount       *config.Mount // the granted folder that decides, as the grant has it; nil: none holds the path
	Pattern     string        // that hides it; empty: none
	Own         string        // the host's file or folder that hides it; empty: none
}

// Rule names what decides about a path.
type Rule string

// The rules, in the order in which they decide.
const (
	RuleOutside  Rule = "outside"  // no granted folder holds it
	RuleAbove    Rule = "above"    // it is a folder above a granted one, of which only the way down is seen
	RuleOwn      Rule = "own"      // it belongs to the host, and no grant names it
	RuleHidden   Rule = "hidden"   // a pattern of deny hides it
	RuleGit      Rule = "git"      // it lies in a git directory, which nobody writes
	RuleReadOnly Rule = "readonly" // its folder is granted to read
	RuleGranted  Rule = "granted"
)

// Explained is what Explain judges paths by.
type Explained struct {
	Grant config.Grant
	// Own are files and directories of the host's, absolute, which no grant of a directory around them means.
	Own []string
}

// Explain judges an absolute path as a Box with what s grants would. It is for the host process: it looks where links
// lead, by path. It changes nothing.
func Explain(s Explained, path string) (Verdict, error) {
	real, err := realPath(filepath.Clean(path))
	if err != nil {
		return Verdict{}, fmt.Errorf("%s: %w", path, cause(err))
	}
	mounts, err := realMounts(s.Grant.FS)
	if err != nil {
		return Verdict{}, err
	}
	var paths []string
	for _, m := range mounts {
		paths = append(paths, m.real)
	}
	h, err := newHidden(paths, Hidden{Patterns: s.Grant.Deny, Own: realPaths(s.Own)})
	if err != nil {
		return Verdict{}, err
	}
	in := innermost(mounts, real)
	if in == nil {
		above := slices.ContainsFunc(mounts, func(m realMount) bool { return inside(real, m.real) })
		return Verdict{Path: real, Rule: outsideOr(above)}, nil
	}
	v := Verdict{Path: real, Mount: &in.Mount, Read: !h.hides(real, false)}
	v.Write = v.Read && in.Access == manifest.ReadWrite && !vfs.InGit(real) && !vfs.InGit(filepath.Clean(path)) && !vfs.InGitDirectory(real)
	switch {
	case !v.Read:
		v.Rule, v.Own, v.Pattern = h.why(real, in.real, s.Grant.Deny)
	case v.Write:
		v.Rule = RuleGranted
	case in.Access == manifest.ReadWrite:
		v.Rule = RuleGit
	default:
		v.Rule = RuleReadOnly
	}
	return v, nil
}

func outsideOr(above bool) Rule {
	if above {
		return RuleAbove
	}
	return RuleOutside
}

// why names what hides p: a file or folder of the host's, else one of the patterns, as the config has them.
func (h *hidden) why(p, mount string, patterns []string) (rule Rule, own, pattern string) {
	if own = h.ownOf(p, mount); own != "" {
		return RuleOwn, own, ""
	}
	name := vfs.FoldName(strings.Trim(strings.TrimPrefix(p, mount), "/"))
	for i, folded := range h.patterns {
		if matchesPrefix(folded, name) {
			pattern = patterns[i]
			break
		}
	}
	return RuleHidden, "", pattern
}

// realMount is a granted folder, and where it is once no link is left in its path.
type realMount struct {
	config.Mount
	real string
}

// realMounts resolves the granted folders; of two names for one folder the wider access counts.
func realMounts(granted []config.Mount) ([]realMount, error) {
	var out []realMount
	for _, m := range granted {
		real, err := realPath(m.Path)
		if err != nil {
			return nil, fmt.Errorf("granted folder %s: %w", m.Path, cause(err))
		}
		i := slices.IndexFunc(out, func(have realMount) bool { return have.real == real })
		switch {
		case i < 0:
			out = append(out, realMount{m, real})
		case m.Access == manifest.ReadWrite:
			out[i].Access = m.Access
		}
	}
	return out, nil
}

// innermost is the granted folder that decides about p, nil if none holds it.
func innermost(mounts []realMount, p string) *realMount {
	var found *realMount
	for i := range mounts {
		if m := &mounts[i]; inside(m.real, p) && (found == nil || len(m.real) > len(found.real)) {
			found = m
		}
	}
	return found
}

// realPaths resolves links; those paths that cannot be resolved may yet come to be, and stay as they are.
func realPaths(paths []string) []string {
	var out []string
	for _, path := range paths {
		if real, err := realPath(path); err == nil {
			path = real
		}
		out = append(out, path)
	}
	return out
}

// realPath resolves the links in a path of which the end need not exist.
func realPath(path string) (string, error) {
	real, err := filepath.EvalSymlinks(path)
	if err == nil || !os.IsNotExist(err) {
		return real, err
	}
	parent := filepath.Dir(path)
	if parent == path {
		return path, nil
	}
	if _, lerr := os.Lstat(path); lerr == nil {
		return "", err // a link to nothing: what it will point to nobody knows
	}
	real, err = realPath(parent)
	if err != nil {
		return "", err
	}
	return filepath.Join(real, filepath.Base(path)), nil
}
