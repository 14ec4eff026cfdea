package config

import (
	"fmt"
	"maps"
	"net/url"
	"slices"

	"github.com/bulkhead-mcp/bulkhead/internal/base/origin"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
	"github.com/bulkhead-mcp/bulkhead/sdk/contain"
)

// directories removes each directory that is in none of the directories b.FS. It makes a directory read-only if b.FS allows only
// reading there. The plugin's own state directory stays as it is.
func (n *narrowing) directories(b Bounds) {
	n.grant.KeepsState = n.grant.KeepsState && !b.ReadOnly
	var granted []Mount
	for _, m := range n.grant.FS {
		if m.State {
			granted = append(granted, m)
			continue
		}
		if b.ReadOnly && m.Access == manifest.ReadWrite {
			m.Access = manifest.Read
			n.cut(b.Position("read_only"), "fs", m.Path, m.Path+" is granted read-only", b.At("read_only")+" allows no more", n.lineOfDirectory(m.Path))
		}
		if b.FS != nil {
			within, access := n.containing(b.FS, m.Path, m.Access)
			if within == nil {
				n.cut(b.Position("fs"), "fs", m.Path, m.Path+" is not granted", "it is in none of the directories of "+b.At("fs"), n.lineOfDirectory(m.Path))
				continue
			}
			if access != m.Access {
				n.cut(b.Position("fs"), "fs", m.Path, m.Path+" is granted read-only", b.At("fs")+" allows no more", n.lineOfDirectory(m.Path))
			}
			m.Access, m.Within = access, innermost(m.Within, within)
		}
		granted = append(granted, m)
	}
	n.grant.FS = granted
}

// containing returns those of dirs that contain path and allow access, and that access. If there are none, it returns those that
// contain path and allow the highest access below it, and that access.
func (n *narrowing) containing(dirs []manifest.FS, path string, access manifest.Access) ([]string, manifest.Access) {
	for _, level := range []manifest.Access{manifest.Commit, manifest.ReadWrite, manifest.Read} {
		if !access.Covers(level) {
			continue
		}
		var allowing []string
		for _, f := range dirs {
			dir, missing := n.bounds.Resolve(f.Path, "")
			if missing == "" && contain.Within(dir, path) && f.Access.Covers(level) {
				allowing = append(allowing, dir)
			}
		}
		if allowing != nil {
			return allowing, level
		}
	}
	return nil, manifest.Read
}

// reducedTo describes an access that is less than what was asked for.
func reducedTo(a manifest.Access) string {
	if a == manifest.Read {
		return "read-only"
	}
	return fmt.Sprintf("with access = %q", a)
}

// innermost returns the intersections of the directories of two bounds. All these directories contain one path. If a or b is nil,
// that bound allows everything.
func innermost(a, b []string) []string {
	if a == nil {
		return b
	}
	var out []string
	for _, x := range a {
		for _, y := range b {
			inner := x
			if contain.Within(x, y) {
				inner = y
			}
			if !slices.Contains(out, inner) {
				out = append(out, inner)
			}
		}
	}
	return out
}

// lineOfDirectory returns the line at which the config grants the directory at path; 0 if the config does not grant it.
func (n *narrowing) lineOfDirectory(path string) int {
	for _, f := range n.p.FS {
		if dir, missing := n.expand(f.Path); missing == "" && dir == path {
			return f.Line
		}
	}
	return 0
}

// repositories does for repositories what the method directories does for directories. If the ceiling has no git, its fs bounds the
// repositories too, because an organisation that withholds a directory withholds its history.
func (n *narrowing) repositories(b Bounds) {
	bounds, key := b.Git, "git"
	if bounds == nil && b.FS != nil {
		bounds, key = []manifest.Git{}, "fs"
		for _, f := range b.FS {
			bounds = append(bounds, manifest.Git{Repo: f.Path, Access: f.Access, Remotes: []string{manifest.Any}})
		}
	}
	var granted []Git
	for _, g := range n.grant.Git {
		line := n.lineOfRepository(g.Repo)
		if b.ReadOnly && g.Access != manifest.Read {
			g.Access = manifest.Read
			n.cut(b.Position("read_only"), "git", g.Repo, "the repository "+g.Repo+" is granted read-only", b.At("read_only")+" allows no more", line)
		}
		if bounds != nil {
			var dirs []manifest.FS
			for _, bound := range bounds {
				dirs = append(dirs, manifest.FS{Path: bound.Repo, Access: bound.Access})
			}
			within, access := n.containing(dirs, g.Repo, g.Access)
			if within == nil {
				n.cut(b.Position(key), "git", g.Repo, "the repository "+g.Repo+" is not granted", "it is in none of the directories of "+b.At(key), line)
				continue
			}
			if access != g.Access {
				n.cut(b.Position(key), "git", g.Repo, "the repository "+g.Repo+" is granted "+reducedTo(access), b.At(key)+" allows no more", line)
			}
			g.Access, g.Within = access, innermost(g.Within, within)
		}
		n.remotes(b, bounds, key, &g, line)
		granted = append(granted, g)
	}
	n.grant.Git = granted
}

// remotes removes the remotes of g that the ceiling does not allow. A remote is allowed if the ceiling names it for a directory that
// contains g. It is also allowed if the ceiling allows any remote for such a directory, and http allows the remote's origin. Each
// kept remote limits g to the directories for which the ceiling allows that remote, because the path of g may later resolve to a
// different directory.
func (n *narrowing) remotes(b Bounds, bounds []manifest.Git, key string, g *Git, line int) {
	allowed := map[string][]string{manifest.Any: nil} // the directories for which the ceiling allows each remote
	for _, bound := range bounds {
		dir, missing := n.bounds.Resolve(bound.Repo, "")
		if missing != "" || !contain.Within(dir, g.Repo) {
			continue
		}
		for _, r := range normalizeRemotes(bound.Remotes) {
			allowed[r] = append(allowed[r], dir)
		}
	}
	anyAllowed := bounds == nil || allowed[manifest.Any] != nil
	var out []string
	grant := func(r string, dirs []string) {
		if !slices.Contains(out, r) {
			out = append(out, r)
		}
		if bounds != nil {
			g.Within = innermost(g.Within, dirs)
		}
	}
	for _, r := range g.Remotes {
		switch {
		case anyAllowed && b.allowsRemote(r):
			grant(r, slices.Concat(allowed[r], allowed[manifest.Any]))
			continue
		case r != manifest.Any && allowed[r] != nil:
			grant(r, allowed[r])
			continue
		case r == manifest.Any:
			// A grant of all remotes ("*") becomes a grant of the remotes that the ceiling names.
			for _, named := range slices.Sorted(maps.Keys(allowed)) {
				if named != manifest.Any {
					grant(named, allowed[named])
				}
			}
		}
		by := key
		if anyAllowed {
			by = "http"
		}
		n.cut(b.Position(by), "git", r, fmt.Sprintf("the remote %s of %s is not granted", r, g.Repo), "it is not in "+b.At(by), line)
	}
	g.Remotes = out
}

// allowsRemote reports whether the bound http allows the origin of remote.
func (b Bounds) allowsRemote(remote string) bool {
	if b.HTTP == nil {
		return true
	}
	u, err := url.Parse(remote)
	if err != nil {
		return false
	}
	o, err := origin.Of(u)
	return err == nil && FindHTTP(b.HTTP, HTTP{Origin: o}) >= 0
}

func (n *narrowing) lineOfRepository(repo string) int {
	for _, g := range n.p.Git {
		if dir, missing := n.expand(g.Repo); missing == "" && dir == repo {
			return g.Line
		}
	}
	return 0
}
