package catalog

import (
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/protocol/call"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// claims maps prompts and resources to plugins. A name or URI that a manifest claims belongs to its plugin alone. Any
// other name or URI becomes known at call time, and may belong to any plugin whose manifest claims none.
type claims struct {
	prompts   []*Plugin // plugins that have prompts, in the order of the config
	resources []*Plugin // plugins that have resources, in the order of the config
	subscribe bool      // whether some resource can be subscribed to
	complete  bool      // whether some plugin completes arguments

	skills     []*Skill // skills that are offered, in the order of the config
	skillRoots []string // prefixes of the URIs that belong to plugins with skills

	promptClaims   map[string]*Plugin
	resourceClaims []claim
}

// claim is a URI prefix and the plugin that claims it.
type claim struct {
	prefix string
	plugin *Plugin
}

// index fills c. A prompt that two plugins claim belongs to the first one.
func (c *claims) index(plugins []*Plugin) {
	c.promptClaims = map[string]*Plugin{}
	for _, p := range plugins {
		if p.Problem != "" {
			continue
		}
		hasPrompts, hasResources := len(p.Prompts()) > 0, len(p.Resources()) > 0
		if hasPrompts {
			c.prompts = append(c.prompts, p)
			c.claimPrompts(p)
		}
		if hasResources {
			c.resources = append(c.resources, p)
			c.claimResources(p)
		}
		c.claimSkills(p)
		offers := p.Manifest.Offers
		c.subscribe = c.subscribe || hasResources && offers.Subscribe
		c.complete = c.complete || (hasPrompts || hasResources) && offers.Completions
	}
}

func (c *claims) claimPrompts(p *Plugin) {
	for _, name := range p.Manifest.Offers.Prompts.Names {
		if p.Grant.Prompts.Allowed(name) && c.promptClaims[name] == nil {
			c.promptClaims[name] = p
		}
	}
}

func (c *claims) claimResources(p *Plugin) {
	for _, prefix := range p.Manifest.Offers.Resources.Names {
		if p.Grant.Resources.AllowedBelow(prefix) {
			c.resourceClaims = append(c.resourceClaims, claim{prefix, p})
		}
	}
}

// hasPrompt reports whether a prompt of that name would belong to p.
func (c *claims) hasPrompt(p *Plugin, name string) bool {
	if owner := c.promptClaims[name]; owner != nil {
		return owner == p
	}
	return p.Manifest.Offers.Prompts.Any && p.Grant.Prompts.Allowed(name)
}

// ClaimsPrompt reports whether a manifest names that prompt, so that the name is not one that a client or a module makes up.
func (c *claims) ClaimsPrompt(name string) bool { return c.promptClaims[name] != nil }

// Serves reports whether a resource with that URI, or a URI template, would belong to p.
func (c *claims) Serves(p *Plugin, uri string) bool {
	if c.isOfSkills(uri) || !p.Grant.Resources.Allowed(uri) {
		return false
	}
	if owner := c.claimant(uri); owner != nil {
		return owner == p
	}
	return p.Manifest.Offers.Resources.Any
}

// claimant returns the plugin that claims a URI, or nil if none does.
func (c *claims) claimant(uri string) *Plugin {
	for _, claim := range c.resourceClaims {
		if strings.HasPrefix(uri, claim.prefix) {
			return claim.plugin
		}
	}
	return nil
}

// ClaimedByOthers returns the subset of names that plugins other than p claim.
func (c *claims) ClaimedByOthers(p *Plugin, names abi.Claims) abi.Claims {
	others := func(names []string, owner func(string) *Plugin) []string {
		return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return owner(name) == nil || owner(name) == p })
	}
	return abi.Claims{
		Prompts:   others(names.Prompts, func(name string) *Plugin { return c.promptClaims[name] }),
		Resources: others(names.Resources, c.claimant),
	}
}

// WithPrompt returns the plugins that may have a prompt of that name: the one that claims it, or else those whose prompts
// are known only at call time.
func (c *claims) WithPrompt(name string) []*Plugin {
	return filter(c.prompts, func(p *Plugin) bool { return c.hasPrompt(p, name) })
}

// WithResource returns the plugins that may have a resource with that URI.
func (c *claims) WithResource(uri string) []*Plugin {
	return filter(c.resources, func(p *Plugin) bool { return c.Serves(p, uri) })
}

// WithCompletion returns the plugins that may complete arguments of the prompt or resource template that ref names.
func (c *claims) WithCompletion(ref call.Reference) []*Plugin {
	var plugins []*Plugin
	switch ref.Type {
	case "ref/prompt":
		plugins = c.WithPrompt(ref.Name)
	case "ref/resource":
		plugins = c.WithResource(ref.URI)
	}
	return filter(plugins, func(p *Plugin) bool { return p.Manifest.Offers.Completions })
}

// CanSubscribe reports whether some plugin notifies of changes to a resource with that URI.
func (c *claims) CanSubscribe(uri string) bool {
	return slices.ContainsFunc(c.WithResource(uri), func(p *Plugin) bool { return p.Manifest.Offers.Subscribe })
}

// filter returns a new slice with the plugins for which keep returns true.
func filter(plugins []*Plugin, keep func(*Plugin) bool) []*Plugin {
	return slices.DeleteFunc(slices.Clone(plugins), func(p *Plugin) bool { return !keep(p) })
}
