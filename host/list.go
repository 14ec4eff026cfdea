package host

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/config"
	"github.com/bulkhead-mcp/bulkhead/internal/manifest"
	"github.com/bulkhead-mcp/bulkhead/internal/tomlfile"
)

// PluginInfo describes a plugin that was found.
type PluginInfo struct {
	Name        string            `json:"name"`
	Version     string            `json:"version,omitempty"`
	Description string            `json:"description,omitempty"`
	Dir         string            `json:"dir"`
	Problem     string            `json:"problem,omitempty"` // why nothing of it is offered; empty if it is
	Warnings    tomlfile.Problems `json:"warnings,omitempty"`
	Tools       []ToolInfo        `json:"tools"`
	Grants      []GrantInfo       `json:"grants,omitempty"` // where its directories and repositories are
	// Prompts are the names that it claims, and Resources the URI prefixes: those of them that are granted.
	// "*" stands for what exists at call time only.
	Prompts   []string `json:"prompts,omitempty"`
	Resources []string `json:"resources,omitempty"`
}

// ToolInfo describes a tool of a plugin, whether it is offered or not.
type ToolInfo struct {
	Name        string          `json:"name"`
	Title       string          `json:"title,omitempty"`
	Description string          `json:"description,omitempty"`
	Access      string          `json:"access"`                 // "read" or "write"
	Offered     bool            `json:"offered"`                // to clients
	Why         string          `json:"why_not,omitempty"`      // it is not offered
	Input       json.RawMessage `json:"inputSchema,omitempty"`  // JSON Schema
	Output      json.RawMessage `json:"outputSchema,omitempty"` // likewise
}

// Plugins are all that were found, in the order in which their tools are listed.
func (h *Host) Plugins() []PluginInfo {
	list := make([]PluginInfo, len(h.plugins))
	for i, p := range h.plugins {
		list[i] = p.info()
		if p.problem == "" {
			list[i].Grants = p.granted()
		}
	}
	return list
}

func (p *plugin) info() PluginInfo {
	info := PluginInfo{Name: p.name, Dir: p.dir, Problem: p.problem, Warnings: p.problems.Warnings(), Tools: []ToolInfo{}}
	if p.manifest == nil {
		return info
	}
	info.Version, info.Description = p.manifest.Version, p.manifest.Description
	if p.problem == "" {
		info.Prompts = claimed(p.manifest.Offers.Prompts, p.grant.Prompts.Allowed, p.grant.Prompts)
		info.Resources = claimed(p.manifest.Offers.Resources, p.grant.Resources.AllowedBelow, p.grant.Resources)
	}
	withheld := map[string]string{}
	for _, w := range p.grant.Withheld {
		withheld[w.Tool.Name] = w.Why
	}
	for _, t := range p.manifest.Tools {
		tool := ToolInfo{Name: p.grant.Prefix + t.Name, Title: t.Title, Description: t.Description, Access: "read", Input: t.Input, Output: t.Output}
		if t.Write {
			tool.Access = "write"
		}
		tool.Why = withheld[t.Name]
		if p.problem != "" {
			tool.Why = "its plugin is left out"
		}
		tool.Offered = tool.Why == ""
		info.Tools = append(info.Tools, tool)
	}
	return info
}

// claimed is what a plugin can offer of a kind: of names those that are allowed, and of what exists at call
// time only Any, unless f allows none.
func claimed(c manifest.Claim, allowed func(string) bool, f config.Filter) []string {
	switch {
	case !c.Any:
		return slices.DeleteFunc(slices.Clone(c.Names), func(name string) bool { return !allowed(name) })
	case f.AllowedBelow(""):
		return []string{manifest.Any}
	}
	return nil
}

// Tool describes an offered tool; false if there is none of that name.
func (h *Host) Tool(name string) (ToolInfo, bool) {
	o, ok := h.tools[name]
	if !ok {
		return ToolInfo{}, false
	}
	for _, t := range o.plugin.info().Tools {
		if t.Name == name {
			return t, t.Offered
		}
	}
	return ToolInfo{}, false
}

// Refusal says why a tool that Tool does not find is not offered; "" if no plugin has it.
func (h *Host) Refusal(name string) string {
	for _, p := range h.plugins {
		for _, t := range p.info().Tools {
			switch {
			case t.Name != name || t.Offered:
			case p.problem != "":
				return "plugin " + p.name + " is left out: " + p.problem
			default:
				return t.Why
			}
		}
	}
	return ""
}

// has tells whether the plugin's manifest has a tool that clients would know by a name.
func (p *plugin) has(name string) bool {
	if p.manifest == nil {
		return false
	}
	own, ok := strings.CutPrefix(name, p.grant.Prefix)
	if ok {
		_, ok = p.manifest.Tool(own)
	}
	return ok
}
