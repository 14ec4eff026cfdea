package host

import (
	"encoding/json"

	"github.com/bulkhead-mcp/bulkhead/internal/catalog"
	"github.com/bulkhead-mcp/bulkhead/internal/config"
	"github.com/bulkhead-mcp/bulkhead/internal/grant"
	"github.com/bulkhead-mcp/bulkhead/internal/tomlfile"
)

type (
	// Problems are the problems of a file.
	Problems = tomlfile.Problems
	// Problem is a problem of a file, and its remedy.
	Problem = tomlfile.Problem
)

// PluginInfo describes a plugin that was found.
type PluginInfo struct {
	Name        string      `json:"name"`
	Version     string      `json:"version,omitempty"`
	Description string      `json:"description,omitempty"`
	Dir         string      `json:"dir"`
	Problem     string      `json:"problem,omitempty"` // why the plugin offers nothing; empty if it is offered
	Warnings    Problems    `json:"warnings,omitempty"`
	Tools       []ToolInfo  `json:"tools"`
	Grants      []GrantInfo `json:"grants,omitempty"` // granted directories and repositories
	// Prompts lists the granted prompt names that the plugin claims, Resources the granted URI prefixes. "*" stands for
	// names or URIs that are known only at call time.
	Prompts   []string `json:"prompts,omitempty"`
	Resources []string `json:"resources,omitempty"`
}

// GrantInfo describes a granted directory or repository.
type GrantInfo struct {
	Path     string `json:"path"` // the path as granted
	Access   string `json:"access"`
	Git      bool   `json:"git,omitempty"` // it is granted as a repository
	Resolved string `json:"resolved"`      // the path without symbolic links
	Breadth  string `json:"breadth"`       // what the grant covers: "in the project", "the whole home directory"
	Broad    bool   `json:"broad,omitempty"`
	Refused  string `json:"refused,omitempty"` // why the path is not opened; empty if it is opened
}

// ToolInfo describes a tool of a plugin, whether it is offered or not.
type ToolInfo struct {
	Name        string          `json:"name"`
	Title       string          `json:"title,omitempty"`
	Description string          `json:"description,omitempty"`
	Access      string          `json:"access"`                 // "read" or "write"
	Offered     bool            `json:"offered"`                // whether clients are offered the tool
	Why         string          `json:"why_not,omitempty"`      // why the tool is not offered
	Input       json.RawMessage `json:"inputSchema,omitempty"`  // JSON Schema
	Output      json.RawMessage `json:"outputSchema,omitempty"` // JSON Schema
}

// Plugins describes all plugins that were found, in the order in which their tools are listed.
func (h *Host) Plugins() []PluginInfo {
	c := h.catalog()
	list := make([]PluginInfo, len(c.Plugins))
	for i, p := range c.Plugins {
		list[i] = describe(p)
		if p.Problem == "" {
			list[i].Grants = grants(c, p)
		}
	}
	return list
}

// describe describes a plugin without its grants.
func describe(p *catalog.Plugin) PluginInfo {
	info := PluginInfo{Name: p.Name, Dir: p.Entry.Path, Problem: p.Problem, Warnings: p.Problems.Warnings(), Tools: []ToolInfo{}}
	if p.Manifest == nil {
		return info
	}
	info.Version, info.Description = p.Manifest.Version, p.Manifest.Description
	if p.Problem == "" {
		info.Prompts, info.Resources = p.Prompts(), p.Resources()
	}
	withheld := map[string]string{}
	for _, w := range p.Grant.Withheld {
		withheld[w.Tool.Name] = w.Why
	}
	for _, t := range p.Manifest.Tools {
		tool := ToolInfo{Name: p.Grant.Prefix + t.Name, Title: t.Title, Description: t.Description, Access: "read", Input: t.Input, Output: t.Output}
		if t.Write {
			tool.Access = "write"
		}
		tool.Why = withheld[t.Name]
		if p.Problem != "" {
			tool.Why = "its plugin is left out"
		}
		tool.Offered = tool.Why == ""
		info.Tools = append(info.Tools, tool)
	}
	return info
}

// grants resolves the granted paths of a plugin of c. It creates nothing.
func grants(c *catalog.Catalog, p *catalog.Plugin) []GrantInfo {
	var grants []config.Grant
	for _, other := range c.Plugins {
		grants = append(grants, other.Grant)
	}
	writable := grant.Writable(c.Places, grants...)
	var out []GrantInfo
	add := func(kind, path, access string, within []string) {
		found, err := grant.Look(kind, path, c.Places, writable, within)
		info := GrantInfo{
			Path: path, Access: access, Git: kind == grant.Repository,
			Resolved: found.Path, Breadth: found.Breadth.String(), Broad: found.Breadth.Broad(),
		}
		if err != nil {
			info.Refused = err.Error()
		}
		out = append(out, info)
	}
	for _, m := range p.Grant.FS {
		if !m.State {
			add(grant.Directory, m.Path, string(m.Access), m.Within)
		}
	}
	for _, g := range p.Grant.Git {
		add(grant.Repository, g.Repo, string(g.Access), g.Within)
	}
	return out
}

// Tool describes the offered tool of that name. It returns false if there is none.
func (h *Host) Tool(name string) (ToolInfo, bool) {
	offered := h.catalog().Tool(name)
	if offered == nil {
		return ToolInfo{}, false
	}
	for _, t := range describe(offered.Plugin).Tools {
		if t.Name == name {
			return t, t.Offered
		}
	}
	return ToolInfo{}, false
}

// Refusal returns the reason why a tool that Tool does not find is not offered; "" if no plugin has that tool.
func (h *Host) Refusal(name string) string {
	for _, p := range h.catalog().Plugins {
		for _, t := range describe(p).Tools {
			switch {
			case t.Name != name || t.Offered:
			case p.Problem != "":
				return "plugin " + p.Name + " is left out: " + p.Problem
			default:
				return t.Why
			}
		}
	}
	return ""
}
