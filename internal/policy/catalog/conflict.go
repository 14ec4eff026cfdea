package catalog

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/discovery"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
)

// Conflict is a name that two plugins claim although only one may offer it. If a config lists the plugins, their order decides:
// First offers the name. If the plugins were found in a directory, neither is preferred, and neither is offered.
type Conflict struct {
	First, Second *Plugin
	What          string // a message that names both manifests, with lines
	Remedy        string

	resolve func() // withdraws the name from Second; nil means that Second is left out
}

func (c Conflict) String() string { return c.What + ": " + c.Remedy }

// resolveConflicts finds the conflicts and decides which plugins and tools are offered. It must run before the names
// are indexed, so that the indexes contain no conflict.
func (c *Catalog) resolveConflicts() {
	c.Conflicts = c.conflicts()
	for _, found := range c.Conflicts {
		switch {
		case c.Config == "":
			found.First.leaveOut(found.String())
			found.Second.leaveOut(found.String())
		case found.resolve == nil:
			found.Second.leaveOut(found.String())
		default:
			found.resolve()
			entry := found.Second.Entry
			found.Second.Problems = append(found.Second.Problems, tomlfile.Problem{File: entry.File, Line: entry.Line, Key: entry.Key,
				What: found.What + "; the config lists " + found.First.Name + " first", Remedy: found.Remedy, Warning: true})
		}
	}
}

// leaveOut sets the reason why the plugin offers nothing, unless it already has one.
func (p *Plugin) leaveOut(why string) {
	if p.Problem == "" {
		p.Problem, p.conflicting = why, true
	}
}

// conflicts compares each plugin with those before it.
func (c *Catalog) conflicts() []Conflict {
	var all []Conflict
	names, owners := map[string]*Plugin{}, owners{tools: map[string]*Tool{}, prompts: map[string]*Plugin{}}
	for _, p := range c.Plugins {
		if first := names[p.Name]; first != nil { // they would share a state directory
			all = append(all, Conflict{First: first, Second: p, What: sameName(first, p), Remedy: "remove one of them"})
			continue
		}
		names[p.Name] = p
		if p.Problem == "" {
			all = append(all, owners.add(p)...)
		}
	}
	return all
}

// sameName returns the message for two plugins of one name. A config can list one plugin twice: by its name and by its path.
func sameName(first, second *Plugin) string {
	a, b := first.Entry, second.Entry
	if a.File != "" && discovery.SameDirectory(a.Path, b.Path) {
		return fmt.Sprintf("plugin %q is listed twice: %s and %s", second.Name, listedAt(a), listedAt(b))
	}
	return fmt.Sprintf("two plugins are called %q: %s and %s", second.Name, placeOf(first, nameLine(first)), placeOf(second, nameLine(second)))
}

// listedAt returns the key of the config that names a plugin, for messages.
func listedAt(entry config.Plugin) string {
	key := "path"
	switch {
	case entry.Name != "":
		key = "name"
	case entry.From != "":
		key = "from"
	}
	return fmt.Sprintf("%s:%d (%s)", entry.File, cmp.Or(entry.Lines[key], entry.Line), key)
}

// owners maps the names of tools and prompts, and the prefixes of resources, to plugins.
type owners struct {
	tools     map[string]*Tool
	prompts   map[string]*Plugin
	resources []claim
}

// add makes p the owner of its names. For each name that another plugin owns, it returns a conflict instead.
func (o *owners) add(p *Plugin) []Conflict {
	var all []Conflict
	for _, t := range p.Tools {
		other := o.tools[t.Offered]
		if other == nil {
			o.tools[t.Offered] = t
			continue
		}
		what := fmt.Sprintf("plugins %q (%s) and %q (%s) both offer the tool %s",
			other.Plugin.Name, placeOf(other.Plugin, other.Line), p.Name, placeOf(p, t.Line), t.Offered)
		all = append(all, Conflict{First: other.Plugin, Second: p, What: what,
			Remedy: "remove one of the plugins, give one a prefix, or withhold the tool of one with deny_tools in " + config.FileName,
			resolve: func() {
				p.withhold(t, fmt.Sprintf("plugin %q, which the config lists first, offers a tool of this name", other.Plugin.Name))
			}})
	}
	for _, name := range p.Prompts() {
		other := o.prompts[name]
		if other == nil || p.Manifest.Offers.Prompts.Any { // prompts that are known only at call time conflict with none
			o.prompts[name] = p
			continue
		}
		what := fmt.Sprintf("plugins %q (%s) and %q (%s) both claim the prompt %q",
			other.Name, placeOf(other, other.Manifest.Offers.Prompts.Line), p.Name, placeOf(p, p.Manifest.Offers.Prompts.Line), name)
		all = append(all, Conflict{First: other, Second: p, What: what, resolve: func() {},
			Remedy: "remove one of the plugins, or withhold the prompt of one with deny_prompts in " + config.FileName})
	}
	return append(all, o.addResources(p)...)
}

func (o *owners) addResources(p *Plugin) []Conflict {
	prefixes := p.Resources()
	if p.Manifest.Offers.Resources.Any {
		prefixes = nil
	}
	if len(p.Manifest.Skills) > 0 {
		prefixes = append(prefixes, manifest.SkillRoot(p.Name))
	}
	var all []Conflict
	for _, prefix := range prefixes {
		free := true
		for _, other := range o.resources {
			if other.plugin == p || !strings.HasPrefix(prefix, other.prefix) && !strings.HasPrefix(other.prefix, prefix) {
				continue
			}
			free = false
			what := fmt.Sprintf("plugins %q (%s) and %q (%s) claim overlapping resources, %s and %s",
				other.plugin.Name, placeOf(other.plugin, other.plugin.Manifest.Offers.Resources.Line), p.Name, placeOf(p, p.Manifest.Offers.Resources.Line), other.prefix, prefix)
			all = append(all, Conflict{First: other.plugin, Second: p, What: what, resolve: func() {},
				Remedy: fmt.Sprintf("remove one of the plugins, or withhold the resources of one with deny_resources = [%q] in %s", prefix+"*", config.FileName)})
		}
		if free {
			o.resources = append(o.resources, claim{prefix, p})
		}
	}
	return all
}

// withhold removes a tool from those that the plugin offers.
func (p *Plugin) withhold(t *Tool, why string) {
	p.Grant.Tools = slices.DeleteFunc(slices.Clone(p.Grant.Tools), func(granted manifest.Tool) bool { return granted.Name == t.Name })
	p.Tools = slices.DeleteFunc(slices.Clone(p.Tools), func(offered *Tool) bool { return offered == t })
	p.Grant.Withheld = append(p.Grant.Withheld, config.Withheld{Tool: t.Tool, Why: why})
}

// placeOf returns a line of a plugin's manifest for messages.
func placeOf(p *Plugin, line int) string {
	if p.Manifest == nil {
		return p.Entry.Path
	}
	if line == 0 {
		return p.Manifest.File
	}
	return fmt.Sprintf("%s:%d", p.Manifest.File, line)
}

func nameLine(p *Plugin) int {
	if p.Manifest == nil {
		return 0
	}
	return p.Manifest.NameLine
}
