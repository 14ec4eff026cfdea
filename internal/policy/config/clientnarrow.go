package config

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
	"github.com/bulkhead-mcp/bulkhead/sdk/contain"
)

// Narrow returns the part of the grant g that the table allows. The result never exceeds g, which Decide and Ceiling.Narrow have computed
// for the plugin of m with the same p and places. own are the host's own files and directories. Narrow is a pure function.
func (c *Client) Narrow(m *manifest.Manifest, p Plugin, places Places, own []string, g Grant) Grant {
	n := narrowing{
		decision: decision{m: m, p: p, places: places, grant: g}, own: own, client: true,
		bounds: Places{Project: places.Project, Home: places.Home},
	}
	b := c.Bounds
	if c.FS != nil {
		b.FS = c.directories(places.Client)
	}
	n.narrow(b)
	n.grant.Prompts, n.grant.Resources = n.grant.Prompts.and(c.Prompts), n.grant.Resources.and(c.Resources)
	return n.grant
}

// directories returns the directories of the table, with dir for ${client}. Without a value such a directory allows nothing.
func (c *Client) directories(dir string) []manifest.FS {
	out := []manifest.FS{}
	for _, f := range c.FS {
		if strings.Contains(f.Path, varClient) && dir == "" {
			continue
		}
		f.Path = strings.ReplaceAll(f.Path, varClient, dir)
		out = append(out, f)
	}
	return out
}

// innerDirectories returns the directories of a client's bounds that are inside of a granted one, and the deny patterns that keep hidden
// what the granted one hides there: patterns are relative to each directory. The access is at most that of the innermost directory which
// contains the path, since this one decides when the client has no table.
func (n *narrowing) innerDirectories(b Bounds) (inner []Mount, hidden []string) {
	if !n.client {
		return nil, nil
	}
	for _, f := range b.FS {
		dir, missing := n.bounds.Resolve(f.Path, "")
		around := n.innermostAround(dir)
		if missing != "" || around == nil {
			continue
		}
		rest, err := filepath.Rel(around.Path, dir)
		components := strings.Split(filepath.ToSlash(rest), "/")
		var patterns []string
		visible := err == nil && !n.isOwn(around.Path, dir, components)
		for _, pattern := range n.grant.Deny {
			below, whole := manifest.DenyBelow(pattern, components)
			visible = visible && !whole
			patterns = append(patterns, below...)
		}
		if !visible {
			n.cut(Position{}, "fs", dir, dir+" is not granted", "it is hidden in "+around.Path, 0)
			continue
		}
		access := manifest.Read
		if !b.ReadOnly && f.Access.Covers(manifest.ReadWrite) && around.Access.Covers(manifest.ReadWrite) {
			access = manifest.ReadWrite
		}
		if at := slices.IndexFunc(inner, func(m Mount) bool { return m.Path == dir }); at >= 0 {
			if inner[at].Access == manifest.Read {
				inner[at].Access = access
			}
			continue
		}
		// A symbolic link between the two directories could resolve to a hidden one, so Within allows the path itself only.
		inner = append(inner, Mount{Path: dir, Access: access, Within: []string{dir}})
		hidden = append(hidden, patterns...)
		n.grant.Cuts = append(n.grant.Cuts, Cut{"fs", dir, fmt.Sprintf("it is the part of %s in %s", around.Path, b.At("fs")), b.Position("fs")})
	}
	return inner, hidden
}

// innermostAround returns the innermost granted directory that contains dir; nil if there is none, or if dir itself is granted, or if it
// is in the state directory, which is granted as a whole.
func (n *narrowing) innermostAround(dir string) *Mount {
	var around *Mount
	for i := range n.grant.FS {
		m := &n.grant.FS[i]
		if dir != "" && contain.Within(m.Path, dir) && (around == nil || len(m.Path) > len(around.Path)) {
			around = m
		}
	}
	if around == nil || around.State || around.Path == dir {
		return nil
	}
	return around
}

// isOwn reports whether the host hides dir in the granted directory around: because it is or is in one of the host's own directories, or
// because one of the components of its path is a name of a config or a placeholder. A grant that names such a directory would grant it.
func (n *narrowing) isOwn(around, dir string, components []string) bool {
	return slices.ContainsFunc(components, func(name string) bool {
		folded := strings.ToLower(name)
		return folded == FileName || strings.HasPrefix(folded, HolderPrefix) || strings.HasPrefix(folded, "bulkhe~")
	}) || slices.ContainsFunc(n.own, func(own string) bool {
		return contain.Within(foldPath(own), foldPath(dir)) && !contain.Within(foldPath(own), foldPath(around))
	})
}

// foldPath maps paths that a file system without case treats as equal to the same one.
func foldPath(path string) string { return strings.ToLower(path) }
