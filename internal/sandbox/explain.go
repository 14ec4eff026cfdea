package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/base/platform"
	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/vfs"
)

// Verdict is the decision on a path and its reason.
type Verdict struct {
	Path        string        // resolved path, on which the decision is based
	Read, Write bool          // whether the grants permit the access; the system may still refuse it
	Rule        Rule          // rule that restricts the access; RuleGranted if there is none
	Mount       *config.Mount // innermost granted directory that contains the path, as granted; nil if there is none
	Pattern     string        // deny pattern that hides the path, if any
	Own         string        // file or directory of the host that hides the path, if any
}

// Rule names the reason of a Verdict.
type Rule string

// The rules, in order of precedence.
const (
	RuleOutside  Rule = "outside"  // no granted directory contains the path
	RuleAbove    Rule = "above"    // the path is not granted, or hidden; as an ancestor of a granted directory it shows the way there only
	RuleOwn      Rule = "own"      // the path belongs to the host, and no grant names it
	RuleHidden   Rule = "hidden"   // a deny pattern hides the path
	RuleGit      Rule = "git"      // the path is in a git directory, which no module may write
	RuleReadOnly Rule = "readonly" // the granted directory is read-only
	RuleGranted  Rule = "granted"
)

// Explain decides on an absolute path as a Box with a grant would; own are absolute paths of the host's files and directories, see
// Hidden.Own. It is for the host process, since it resolves symbolic links by path. It changes nothing.
func Explain(grant config.Grant, own []string, path string) (Verdict, error) {
	real, err := realPath(filepath.Clean(path))
	if err != nil {
		return Verdict{}, fmt.Errorf("%s: %w", path, usage.Cause(err))
	}
	mounts, err := realMounts(grant.FS)
	if err != nil {
		return Verdict{}, err
	}
	var paths []string
	for _, m := range mounts {
		paths = append(paths, m.real)
	}
	h, err := newHidden(paths, Hidden{Patterns: grant.Deny, Own: realPaths(own)})
	if err != nil {
		return Verdict{}, err
	}
	tree := platform.TreePath(real)
	in := innermost(mounts, tree)
	above := slices.ContainsFunc(mounts, func(m realMount) bool { return m.real != tree && vfs.Inside(tree, m.real) })
	switch {
	case in == nil && above:
		return Verdict{Path: real, Rule: RuleAbove}, nil
	case in == nil:
		return Verdict{Path: real, Rule: RuleOutside}, nil
	case above && h.isHidden(tree, false):
		return Verdict{Path: real, Mount: &in.Mount, Rule: RuleAbove}, nil
	}
	v := Verdict{Path: real, Mount: &in.Mount, Read: !h.isHidden(tree, false)}
	v.Write = v.Read && in.Access == manifest.ReadWrite && !vfs.InGit(tree) && !vfs.InGit(platform.TreePath(filepath.Clean(path))) && !in.inGit && !vfs.InGitDirectory(real)
	switch {
	case !v.Read:
		v.Rule, v.Own, v.Pattern = h.reason(tree, in.real, grant.Deny)
	case v.Write:
		v.Rule = RuleGranted
	case in.Access == manifest.ReadWrite:
		v.Rule = RuleGit
	default:
		v.Rule = RuleReadOnly
	}
	return v, nil
}

// reason returns what hides p: a file or directory of the host, otherwise a pattern in its original form.
func (h *hidden) reason(p, mount string, patterns []string) (rule Rule, own, pattern string) {
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

// realMount is a granted directory and its resolved path.
type realMount struct {
	config.Mount
	real  string // resolved path, which is the one that modules see
	inGit bool   // one of its granted paths is in a .git directory
}

// realMounts resolves the granted directories. If two granted paths resolve to one directory, write access wins. A
// granted path that resolves into the plugin's state directory counts as part of the state directory.
func realMounts(granted []config.Mount) ([]realMount, error) {
	var out []realMount
	for _, m := range granted {
		real, err := realPath(m.Path)
		if err != nil {
			return nil, fmt.Errorf("granted directory %s: %w", m.Path, usage.Cause(err))
		}
		real = platform.TreePath(real)
		i := slices.IndexFunc(out, func(have realMount) bool { return have.real == real })
		switch {
		case i < 0:
			out = append(out, realMount{m, real, vfs.InGit(platform.TreePath(filepath.Clean(m.Path)))})
			continue
		case m.Access == manifest.ReadWrite:
			out[i].Access = m.Access
			out[i].State = out[i].State || m.State
		}
		out[i].inGit = out[i].inGit || vfs.InGit(platform.TreePath(filepath.Clean(m.Path)))
	}
	if i := slices.IndexFunc(out, func(m realMount) bool { return m.State }); i >= 0 {
		state := out[i].real
		out = slices.DeleteFunc(out, func(m realMount) bool { return m.real != state && vfs.Inside(state, m.real) })
	}
	return out, nil
}

// innermost returns the innermost granted directory that contains p; nil if there is none.
func innermost(mounts []realMount, p string) *realMount {
	var found *realMount
	for i := range mounts {
		if m := &mounts[i]; vfs.Inside(m.real, p) && (found == nil || len(m.real) > len(found.real)) {
			found = m
		}
	}
	return found
}

// realPaths resolves paths. A path that cannot be resolved is retained unchanged, since it may be created later.
func realPaths(paths []string) []string {
	var out []string
	for _, path := range paths {
		if real, err := realPath(path); err == nil {
			path = real
		}
		out = append(out, platform.TreePath(path))
	}
	return out
}

// realPath resolves a path whose last components need not exist.
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
		return "", err // a dangling symbolic link: it is unknown what its target will be
	}
	real, err = realPath(parent)
	if err != nil {
		return "", err
	}
	return filepath.Join(real, filepath.Base(path)), nil
}
