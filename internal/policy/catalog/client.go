package catalog

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
)

// For returns the part of c that a client gets: the plugins, tools, prompts, resources and grants that its table allows. client is the table
// that decides for it; nil: none does, and clients without a table get everything. dir is the value of ${client}, if a path of the table
// names it. The result never offers or grants more than c, whose names keep their owners: a name of a plugin that the client may not use
// belongs to no other plugin.
func (c *Catalog) For(client *config.Client, dir string) *Catalog {
	view := &Catalog{Found: c.Found, tools: map[string]*Tool{}}
	views := map[*Plugin]*Plugin{} // the plugins of view, by those of c
	for _, p := range c.Plugins {
		if client != nil && (p.Problem != "" || !p.IsHost() && !client.AllowsPlugin(p.Name)) {
			view.others = append(view.others, p)
			continue
		}
		narrowed := c.PluginFor(p, client, dir)
		narrowed.Index = len(view.Plugins)
		views[p] = narrowed
		view.Plugins = append(view.Plugins, narrowed)
	}
	if view.project = c.project; client == nil {
		view.Conflicts = c.Conflicts
	} else {
		places := c.Places
		places.Client = dir
		view.project = client.NarrowSkills(c.project, places)
	}
	view.isAlone = c.isAlone && slices.ContainsFunc(view.Plugins, func(p *Plugin) bool { return !p.IsHost() })
	view.indexTools()
	view.claims.index(view.Plugins)
	view.claims.keepOwners(&c.claims, views)
	view.host = view.hostTools()
	return view
}

// PluginFor returns the plugin p of c with the grant of a client, as For does. Reasons and warnings are for the user of this machine, so a
// client with a table gets none.
func (c *Catalog) PluginFor(p *Plugin, client *config.Client, dir string) *Plugin {
	view := *p
	if p.Problems.Err() != nil {
		return &view // it has no grant
	}
	if p.Grant.Reused { // the state of an instance would pass from one principal to another
		view.Grant.Reused = false
	}
	switch {
	case client == nil:
	case p.IsHost(): // the runner of scripts has no grant, and the calls of scripts are decided one by one
		view.Grant = client.NarrowHost(view.Grant)
	default:
		places := placesOf(c.Found.Places, p.Name)
		places.Client = dir
		view.Grant = client.Narrow(p.Manifest, p.Entry, places, c.HostFiles, view.Grant)
		view.Problems, view.ownProblems, view.noState, view.unready, view.lacks = nil, nil, "", nil, nil
		view.checksReadiness = false
	}
	if c.isAlone {
		view.Grant = view.Grant.Whole(wholeAlone)
	}
	view.findSkills()
	granted := map[string]bool{}
	for _, t := range view.Grant.Tools {
		granted[t.Name] = true
	}
	view.Tools = nil
	for _, t := range p.Tools {
		if granted[t.Name] {
			tool := *t
			tool.Plugin = &view
			view.Tools = append(view.Tools, &tool)
		}
	}
	return &view
}

// keepOwners gives each name that c claims the owner that it has there: the plugin of the view, or one that is no part of the view, so that
// no other plugin offers the name.
func (c *claims) keepOwners(base *claims, views map[*Plugin]*Plugin) {
	owns := maps.Clone(c.promptClaims)
	for name, owner := range base.promptClaims {
		if view := views[owner]; view != nil && owns[name] == view {
			owner = view
		}
		c.promptClaims[name] = owner
	}
	c.skillRoots = base.skillRoots
	c.resourceClaims = nil
	for _, one := range base.resourceClaims {
		if view := views[one.plugin]; view != nil {
			one.plugin = view
		}
		c.resourceClaims = append(c.resourceClaims, one)
	}
}

// approvalProblems returns a warning for each pattern of approve_tools that is for all plugins and matches no tool; none if a manifest that
// cannot be read may have the tool.
func (c *Catalog) approvalProblems() tomlfile.Problems {
	var tools []string
	for _, p := range c.Plugins {
		if p.Manifest == nil {
			return nil
		}
		for _, t := range p.Manifest.Tools {
			tools = append(tools, t.Name)
		}
	}
	return config.UnmatchedApprovals(c.Defaults, c.Clients.Tables, tools)
}

// ClientProblems returns a warning for each item of plugins in [[clients]] that matches no plugin, which is likely misspelled.
func (c *Catalog) ClientProblems() (ps tomlfile.Problems) {
	var names []string
	for _, p := range c.Plugins {
		names = append(names, p.Name)
	}
	if len(c.Found.SkillDirs) > 0 {
		names = append(names, manifest.ProjectSkills)
	}
	for _, client := range c.Clients.Tables {
		for i, glob := range client.Plugins {
			if allowed := (config.Filter{Allow: []string{glob}}); !slices.ContainsFunc(names, allowed.Allowed) {
				ps = append(ps, tomlfile.Problem{File: client.File, Line: client.Line, Key: fmt.Sprintf("%s.plugins[%d]", client.Key, i),
					What:   fmt.Sprintf("%s matches no plugin; the plugins are %s", tomlfile.Quote(glob), strings.Join(names, ", ")),
					Remedy: "correct or remove it", Warning: true})
			}
		}
	}
	return ps
}
