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

// Explain decides on an absolute path as a Box with a grant would, by the same walk; own are absolute paths of the host's files and
// directories, see Hidden.Own. It is for the host process, since it opens the granted directories by path. It looks at nothing outside of
// them, and changes nothing.
func Explain(grant config.Grant, own []string, path string) (Verdict, error) {
	mounts, err := realMounts(grant.FS, RealPath)
	if err != nil {
		return Verdict{}, err
	}
	return verdict(mounts, grant.Deny, realPaths(own), path, true)
}

// ExplainName is like Explain, but decides by the names alone: it looks at no file, and follows no symbolic link.
func ExplainName(grant config.Grant, own []string, path string) (Verdict, error) {
	mounts, err := realMounts(grant.FS, func(path string) (string, error) { return filepath.Clean(path), nil })
	if err != nil {
		return Verdict{}, err
	}
	return verdict(mounts, grant.Deny, platform.TreePaths(own), path, false)
}

// verdict decides on a path by the mounts, which are opened if open is set. own are resolved paths in the file tree.
func verdict(mounts []realMount, deny, own []string, path string, open bool) (Verdict, error) {
	var paths []string
	for _, m := range mounts {
		paths = append(paths, m.real)
	}
	h, err := newHidden(paths, Hidden{Patterns: deny, Own: own})
	if err != nil {
		return Verdict{}, err
	}
	access, err := accessTo(mounts, h, path, open)
	if err != nil {
		return Verdict{}, fmt.Errorf("%s: %w", path, usage.Cause(err))
	}
	v := Verdict{Path: platform.HostPath(access.Path), Read: access.Read, Write: access.Write}
	i := slices.IndexFunc(mounts, func(m realMount) bool { return m.real == access.Mount })
	if i >= 0 {
		v.Mount = &mounts[i].Mount
	}
	switch {
	case access.Virtual:
		v.Rule = RuleAbove
	case i < 0:
		v.Rule = RuleOutside
	case access.Hidden:
		v.Rule, v.Own, v.Pattern = h.reason(access.Path, access.Mount, deny)
	case !v.Read:
		v.Rule = RuleOutside
	case v.Write:
		v.Rule = RuleGranted
	case v.Mount.Access == manifest.ReadWrite:
		v.Rule = RuleGit
	default:
		v.Rule = RuleReadOnly
	}
	return v, nil
}

// accessTo decides on a path by a file tree of the mounts, which are opened if open is set.
func accessTo(granted []realMount, h *hidden, path string, open bool) (vfs.Access, error) {
	var mounts []vfs.Mount
	for _, m := range granted {
		mount := vfs.Mount{Path: m.real, Aliases: m.aliases, Write: m.Access == manifest.ReadWrite}
		// A directory that cannot be opened has the rules of one that does not exist.
		if real := platform.HostPath(m.real); open {
			mount.InGit = vfs.InGitDirectory(real)
			if info, err := os.Lstat(real); err == nil && info.IsDir() {
				if dir, err := os.Open(real); err == nil {
					defer func() { _ = dir.Close() }() // it is only read
					mount.Dir = dir
				}
			}
		}
		mounts = append(mounts, mount)
	}
	all, err := vfs.NewMounts(mounts)
	if err != nil {
		return vfs.Access{}, err
	}
	return vfs.New(vfs.Config{Mounts: all, Hidden: h.isHidden}).Access(platform.TreePath(path))
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
	real    string   // resolved path in the file tree
	aliases []string // granted paths of the directory, in the file tree
}

// realMounts resolves the granted directories by the function resolve. If two granted paths resolve to one directory, write access wins. A
// granted path that resolves into the plugin's state directory counts as part of the state directory.
func realMounts(granted []config.Mount, resolve func(path string) (string, error)) ([]realMount, error) {
	var out []realMount
	for _, m := range granted {
		real, err := resolve(m.Path)
		if err != nil {
			return nil, fmt.Errorf("granted directory %s: %w", m.Path, usage.Cause(err))
		}
		real = platform.TreePath(real)
		i := slices.IndexFunc(out, func(have realMount) bool { return have.real == real })
		switch {
		case i < 0:
			i = len(out)
			out = append(out, realMount{Mount: m, real: real})
		case m.Access == manifest.ReadWrite:
			out[i].Access = m.Access
			out[i].State = out[i].State || m.State
		}
		out[i].aliases = append(out[i].aliases, platform.TreePath(filepath.Clean(m.Path)))
	}
	if i := slices.IndexFunc(out, func(m realMount) bool { return m.State }); i >= 0 {
		state := out[i].real
		out = slices.DeleteFunc(out, func(m realMount) bool { return m.real != state && vfs.Inside(state, m.real) })
	}
	return out, nil
}

// realPaths resolves paths. A path that cannot be resolved is retained unchanged, since it may be created later.
func realPaths(paths []string) []string {
	var out []string
	for _, path := range paths {
		if real, err := RealPath(path); err == nil {
			path = real
		}
		out = append(out, platform.TreePath(path))
	}
	return out
}

// RealPath resolves the symbolic links of a path whose last components need not exist.
func RealPath(path string) (string, error) {
	real, err := filepath.EvalSymlinks(path)
	if !os.IsNotExist(err) {
		return real, err
	}
	parent := filepath.Dir(path)
	if parent == path {
		return path, nil
	}
	if _, lerr := os.Lstat(path); lerr == nil {
		return "", err // a dangling symbolic link: it is unknown what its target will be
	}
	real, err = RealPath(parent)
	if err != nil {
		return "", err
	}
	return filepath.Join(real, filepath.Base(path)), nil
}
