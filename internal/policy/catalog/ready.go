package catalog

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/ready"
)

// Lacks returns the requirements of the manifest that are not met at present and that concern what is granted. It makes a few stat
// calls.
func (p *Plugin) Lacks(places config.Places) []ready.Lack {
	return slices.DeleteFunc(ready.Check(p.Manifest, p.Entry, p.Grant, places), func(l ready.Lack) bool {
		return !l.NeedsLists() && !slices.ContainsFunc(l.Tools, p.IsGranted)
	})
}

// IsGranted reports whether a tool is granted, even if it is left out because something is missing.
func (p *Plugin) IsGranted(tool string) bool {
	return p.unready[tool] != "" || slices.ContainsFunc(p.Grant.Tools, func(t manifest.Tool) bool { return t.Name == tool })
}

// withholdUnready withholds the tools and lists that cannot work because a requirement of the manifest is not met.
func (p *Plugin) withholdUnready(places config.Places) {
	p.lacks = p.Lacks(places)
	whole := slices.DeleteFunc(slices.Clone(p.lacks), func(l ready.Lack) bool { return !l.IsWhole() })
	if len(whole) > 0 {
		p.Problem = notYet + lackTexts(whole)
		return
	}
	p.unready = map[string]string{}
	for _, lack := range p.lacks {
		p.Grant.Tools = slices.DeleteFunc(slices.Clone(p.Grant.Tools), func(t manifest.Tool) bool {
			if !lack.Needs(t.Name) {
				return false
			}
			p.unready[t.Name] = notYet + lack.String()
			p.Grant.Withheld = append(p.Grant.Withheld, config.Withheld{Tool: t, Why: p.unready[t.Name]})
			return true
		})
		if lack.NeedsLists() {
			none := config.Filter{Allow: []string{}}
			p.Grant.Prompts, p.Grant.Resources = none, none
		}
	}
}

// NotYet returns the lacks for which the plugin, or a tool of it, was left out when the Catalog was built.
func (p *Plugin) NotYet() []ready.Lack { return p.lacks }

// notYet begins the reason why a plugin or tool is left out.
const notYet = "it cannot work yet: "

// lackTexts joins the descriptions of the lacks and their remedies. A remedy that several lacks share is included once.
func lackTexts(lacks []ready.Lack) string {
	var texts []string
	for i, l := range lacks {
		if i+1 < len(lacks) && lacks[i+1].Remedy == l.Remedy {
			texts = append(texts, l.What)
		} else {
			texts = append(texts, l.String())
		}
	}
	return strings.Join(texts, "; ")
}

// unreadyTools describes which granted tools of an offered plugin are left out; "" if none is.
func (p *Plugin) unreadyTools() string {
	if len(p.unready) == 0 {
		return ""
	}
	names := slices.Sorted(maps.Keys(p.unready))
	for i := range names {
		names[i] = p.Grant.Prefix + names[i]
	}
	return fmt.Sprintf("%s cannot work yet: %s", shortList(names), lackTexts(p.lacks))
}

// whyUnready returns the reason why a granted tool is left out; "" if it is not. name is the one that clients see.
func (p *Plugin) whyUnready(name string) string {
	own, _ := strings.CutPrefix(name, p.Grant.Prefix)
	if !p.hasTool(name) {
		return ""
	}
	return p.unready[own]
}

// shortList joins at most 5 names.
func shortList(names []string) string {
	if more := len(names) - 5; more > 0 {
		names = append(slices.Clone(names[:5]), fmt.Sprintf("and %d more", more))
	}
	return strings.Join(names, ", ")
}

// RequiredPaths returns the absolute paths whose existence decides what is offered. If one is created or removed, a new
// Catalog may have other offers.
func (c *Catalog) RequiredPaths() []string {
	var all []string
	for _, p := range c.Plugins {
		if p.checksReadiness {
			all = append(all, ready.Paths(p.Manifest, p.Grant, c.Places)...)
		}
	}
	return all
}
