package host

import (
	"errors"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/config"
	"github.com/bulkhead-mcp/bulkhead/internal/discovery"
	"github.com/bulkhead-mcp/bulkhead/internal/gateway"
	"github.com/bulkhead-mcp/bulkhead/internal/manifest"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// offered says which plugin a prompt or a resource belongs to. What a manifest claims is its plugin's alone;
// any other name or URI exists at call time only, and may be that of any plugin that claims no names.
type offered struct {
	prompts   []*plugin // that have any, in the order of the config
	resources []*plugin // likewise
	subscribe bool      // some can be subscribed to
	complete  bool      // some plugin completes arguments

	promptClaims   map[string]*plugin
	resourceClaims []claim
}

// claim is a URI prefix and who claims it.
type claim struct {
	prefix string
	plugin *plugin
}

// offerElse indexes what plugins offer beside tools. Two that claim the same end the start: nobody could say
// which is meant.
func (h *Host) offerElse() error {
	o := &h.offered
	o.promptClaims = map[string]*plugin{}
	var errs []error
	for _, p := range h.plugins {
		if p.problem != "" {
			continue
		}
		offers := p.manifest.Offers
		prompts := len(claimed(offers.Prompts, p.grant.Prompts.Allowed, p.grant.Prompts)) > 0
		resources := len(claimed(offers.Resources, p.grant.Resources.AllowedBelow, p.grant.Resources)) > 0
		if prompts {
			o.prompts = append(o.prompts, p)
			errs = append(errs, o.claimPrompts(p))
		}
		if resources {
			o.resources = append(o.resources, p)
			errs = append(errs, o.claimResources(p))
		}
		o.subscribe = o.subscribe || resources && offers.Subscribe
		o.complete = o.complete || (prompts || resources) && offers.Completions
	}
	return errors.Join(errs...)
}

func (o *offered) claimPrompts(p *plugin) error {
	var errs []error
	for _, name := range p.manifest.Offers.Prompts.Names {
		if !p.grant.Prompts.Allowed(name) {
			continue
		}
		if other := o.promptClaims[name]; other != nil {
			errs = append(errs, discovery.UsageErrorf("plugins %q (%s) and %q (%s) both claim the prompt %q: take one of them out, or deny the prompt to one with deny_prompts in %s",
				other.name, other.dir, p.name, p.dir, name, config.FileName))
			continue
		}
		o.promptClaims[name] = p
	}
	return errors.Join(errs...)
}

func (o *offered) claimResources(p *plugin) error {
	var errs []error
	for _, prefix := range p.manifest.Offers.Resources.Names {
		if !p.grant.Resources.AllowedBelow(prefix) {
			continue
		}
		for _, other := range o.resourceClaims {
			if other.plugin != p && (strings.HasPrefix(prefix, other.prefix) || strings.HasPrefix(other.prefix, prefix)) {
				errs = append(errs, discovery.UsageErrorf("plugins %q (%s) and %q (%s) claim resources that meet, %s and %s: take one of them out, or deny its resources to one with deny_resources = [%q] in %s",
					other.plugin.name, other.plugin.dir, p.name, p.dir, other.prefix, prefix, prefix+"*", config.FileName))
			}
		}
		o.resourceClaims = append(o.resourceClaims, claim{prefix, p})
	}
	return errors.Join(errs...)
}

// gatewayOffers is what the server says it has beside tools.
func (h *Host) gatewayOffers() gateway.Offers {
	o := &h.offered
	tells := !h.speaksForItself() || !h.plugins[0].manifest.Server.NoChanges
	changes := func(p *plugin) bool { return tells && p.manifest.Offers.ListChanged }
	return gateway.Offers{
		Prompts: len(o.prompts) > 0, PromptsChange: slices.ContainsFunc(o.prompts, changes),
		Resources: len(o.resources) > 0, ResourcesChange: slices.ContainsFunc(o.resources, changes),
		Subscribe: o.subscribe && tells, Completions: o.complete,
	}
}

// hasPrompt tells whether a prompt of that name would be p's.
func (o *offered) hasPrompt(p *plugin, name string) bool {
	if owner := o.promptClaims[name]; owner != nil {
		return owner == p
	}
	return p.manifest.Offers.Prompts.Any && p.grant.Prompts.Allowed(name)
}

// serves tells whether a resource with that URI, or a template of such, would be p's.
func (o *offered) serves(p *plugin, uri string) bool {
	if !p.grant.Resources.Allowed(uri) {
		return false
	}
	if owner := o.claimant(uri); owner != nil {
		return owner == p
	}
	return p.manifest.Offers.Resources.Any
}

// claimant is the plugin that claims a URI; nil if none does.
func (o *offered) claimant(uri string) *plugin {
	for _, c := range o.resourceClaims {
		if strings.HasPrefix(uri, c.prefix) {
			return c.plugin
		}
	}
	return nil
}

// foreign are those of the names that another plugin than p claims.
func (o *offered) foreign(p *plugin, names abi.Claims) abi.Claims {
	others := func(names []string, owner func(string) *plugin) []string {
		return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return owner(name) == nil || owner(name) == p })
	}
	return abi.Claims{
		Prompts:   others(names.Prompts, func(name string) *plugin { return o.promptClaims[name] }),
		Resources: others(names.Resources, o.claimant),
	}
}

// promptOf are the plugins that may have a prompt of that name: the one that claims it, or those that have
// prompts at call time only.
func (o *offered) promptOf(name string) []*plugin {
	return filtered(o.prompts, func(p *plugin) bool { return o.hasPrompt(p, name) })
}

// resourceOf are the plugins that may have a resource with that URI.
func (o *offered) resourceOf(uri string) []*plugin {
	return filtered(o.resources, func(p *plugin) bool { return o.serves(p, uri) })
}

// watched tells whether some plugin says when a resource with that URI changes.
func (o *offered) watched(uri string) bool {
	return slices.ContainsFunc(o.resourceOf(uri), func(p *plugin) bool { return p.manifest.Offers.Subscribe })
}

func filtered(plugins []*plugin, keep func(*plugin) bool) []*plugin {
	return slices.DeleteFunc(slices.Clone(plugins), func(p *plugin) bool { return !keep(p) })
}

// offersElse tells whether a manifest offers prompts or resources.
func offersElse(m *manifest.Manifest) bool {
	return m.Offers.Prompts.Offers() || m.Offers.Resources.Offers()
}
