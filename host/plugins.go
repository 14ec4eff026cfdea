package host

import (
	"encoding/json"

	"github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/catalog"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/hosttool"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/gateway"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/tokens"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/grant"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/projectskills"
)

type (
	// Problems are the problems of one file.
	Problems = tomlfile.Problems
	// Problem is a problem of a file, together with its remedy.
	Problem = tomlfile.Problem
	// ToolCost is what a tool costs in the context of a model.
	ToolCost = tokens.Cost
)

// PluginInfo describes a plugin that was found.
type PluginInfo struct {
	Name        string      `json:"name"`
	Version     string      `json:"version,omitempty"`
	Description string      `json:"description,omitempty"`
	Dir         string      `json:"dir"`
	From        string      `json:"from,omitempty"`    // reference by which the plugin was fetched; empty if it was not
	Problem     string      `json:"problem,omitempty"` // reason why the plugin offers nothing; empty if it is offered
	Warnings    Problems    `json:"warnings,omitempty"`
	Tools       []ToolInfo  `json:"tools"`
	Listed      bool        `json:"listed,omitempty"` // whether clients list its tools in every mode
	Grants      []GrantInfo `json:"grants,omitempty"` // the directories and repositories that the plugin is granted
	// Prompts lists the granted prompt names that the plugin claims. Resources lists the granted URI prefixes that it claims. "*" stands
	// for names or URIs that are known only at call time.
	Prompts   []string `json:"prompts,omitempty"`
	Resources []string `json:"resources,omitempty"`
	Skills    []string `json:"skills,omitempty"` // names of the granted skills
	// ResultLimit is the size above which a result is shortened for clients, such as "16KiB"; empty if there is none. It does not bind tools with
	// an output schema.
	ResultLimit string `json:"result_limit,omitempty"`
}

// GrantInfo describes a granted directory or repository.
type GrantInfo struct {
	Path     string `json:"path"` // path as written in the grant
	Access   string `json:"access"`
	Git      bool   `json:"git,omitempty"` // whether Path is granted as a repository
	Resolved string `json:"resolved"`      // Path after its symbolic links are resolved
	Breadth  string `json:"breadth"`       // how much the directory contains: "in the project", "the whole home directory"
	Broad    bool   `json:"broad,omitempty"`
	Refused  string `json:"refused,omitempty"` // reason why the host does not open the path; empty if it opens the path
}

// ToolInfo describes a tool of a plugin. The tool may be offered or withheld.
type ToolInfo struct {
	Name        string          `json:"name"`
	Title       string          `json:"title,omitempty"`
	Description string          `json:"description,omitempty"`
	Access      string          `json:"access"`                 // "read" or "write"
	Offered     bool            `json:"offered"`                // whether clients are offered the tool
	Cost        *ToolCost       `json:"cost,omitempty"`         // what it costs a model, in the list of `bulkhead tools --tokens`; else nil
	Why         string          `json:"why_not,omitempty"`      // reason why the tool is not offered; empty if it is offered
	Approval    string          `json:"approval,omitempty"`     // key of the config that requires approval of each call; empty if none does
	Input       json.RawMessage `json:"inputSchema,omitempty"`  // JSON Schema of the arguments
	Output      json.RawMessage `json:"outputSchema,omitempty"` // JSON Schema of the structured result
}

// Plugins describes all plugins that were found, in the order in which the host lists their tools.
func (h *Host) Plugins() []PluginInfo {
	c := h.catalog()
	var all []config.Grant
	for _, p := range c.Plugins {
		all = append(all, p.Grant)
	}
	looker := grant.NewLooker(c.Places, grant.Writable(c.Places, all...))
	list := make([]PluginInfo, len(c.Plugins))
	for i, p := range c.Plugins {
		list[i] = describe(p)
		if p.Problem == "" {
			list[i].Grants = grants(looker, p.Grant)
		}
	}
	return list
}

// ProjectSkills returns the names of the skills of the project, and the problems of others; nil if the config offers none.
func (h *Host) ProjectSkills() ([]string, Problems) {
	if c := h.catalog(); len(c.SkillDirs) > 0 {
		return projectskills.Look(c)
	}
	return nil, nil
}

// describe describes a plugin, except for its grants.
func describe(p *catalog.Plugin) PluginInfo {
	info := PluginInfo{Name: p.Name, Dir: p.Entry.Path, From: p.Entry.From, Problem: p.Problem, Warnings: p.Problems.Warnings(), Tools: []ToolInfo{}, Listed: p.Entry.Listed}
	if p.Manifest == nil {
		return info
	}
	info.Version, info.Description = p.Manifest.Version, p.Manifest.Description
	if p.Problem == "" {
		info.Prompts, info.Resources, info.Skills = p.Prompts(), p.Resources(), p.SkillNames()
		if limit := p.Grant.Limits.Result; limit > 0 {
			info.ResultLimit = manifest.FormatSize(limit)
		}
	}
	withheld := map[string]string{}
	for _, w := range p.Grant.Withheld {
		withheld[w.Tool.Name] = w.Why
	}
	for _, t := range p.Manifest.Tools {
		tool := ToolInfo{Name: p.Grant.Prefix + t.Name, Title: t.Title, Description: t.Description, Access: readAccess, Input: t.Input, Output: t.Output}
		if t.Write {
			tool.Access = writeAccess
		}
		tool.Why = withheld[t.Name]
		if p.Problem != "" {
			tool.Why = "its plugin is left out"
		}
		if tool.Offered = tool.Why == ""; tool.Offered {
			tool.Approval = p.Grant.ApprovalBy(&t)
		}
		info.Tools = append(info.Tools, tool)
	}
	return info
}

// grants resolves the granted paths of a plugin. It creates nothing.
func grants(looker *grant.Looker, granted config.Grant) []GrantInfo {
	var out []GrantInfo
	add := func(kind, path, access string, within []string) {
		found, err := looker.Look(kind, path, within)
		info := GrantInfo{
			Path: path, Access: access, Git: kind == grant.Repository,
			Resolved: found.Path, Breadth: found.Breadth.String(), Broad: found.Breadth.Broad(),
		}
		if err != nil {
			info.Refused = err.Error()
		}
		out = append(out, info)
	}
	for _, m := range granted.FS {
		if !m.State {
			add(grant.Directory, m.Path, string(m.Access), m.Within)
		}
	}
	for _, g := range granted.Git {
		add(grant.Repository, g.Repo, string(g.Access), g.Within)
	}
	return out
}

// Tool describes the offered tool with the given name. It returns false if no such tool is offered.
func (h *Host) Tool(name string) (ToolInfo, bool) {
	for _, t := range h.catalog().HostTools().Tools() {
		if t.Name == name {
			return ownTool(t), true
		}
	}
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

// OwnTools describes the tools of the host itself, by which clients find and call the tools of these plugins and read long results; none if
// clients list all tools and get all results whole.
func (h *Host) OwnTools(plugins []PluginInfo) []ToolInfo {
	var offered []hosttool.Plugin
	shortens := false
	for _, p := range plugins {
		var tools []gateway.Tool
		for _, t := range p.Tools {
			if t.Offered {
				shortens = shortens || p.ResultLimit != "" && t.Output == nil
				tools = append(tools, gateway.Tool{Name: t.Name, ReadOnly: t.Access == readAccess})
			}
		}
		if tools != nil {
			offered = append(offered, hosttool.Plugin{Name: p.Name, Tools: tools})
		}
	}
	var own []ToolInfo
	for _, t := range hosttool.NewSet(h.ToolMode(), offered, shortens).Tools() {
		own = append(own, ownTool(t))
	}
	return own
}

func ownTool(t gateway.Tool) ToolInfo {
	info := ToolInfo{Name: t.Name, Description: t.Description, Access: readAccess, Offered: true, Input: t.Input}
	if !t.ReadOnly {
		info.Access = writeAccess
	}
	return info
}

// Values of ToolInfo.Access.
const (
	readAccess  = "read"
	writeAccess = "write"
)

// DescribeList describes the list of tools that clients get, in words: what it costs their models, and how they get those that it lacks.
func (h *Host) DescribeList() string { return h.catalog().DescribeList() }

// ToolMode returns which tools clients list: "all", or "search" if they find and call the others by the host's own tools.
func (h *Host) ToolMode() string { return h.catalog().ToolMode() }

// Refusal returns the reason why the tool called name is not offered; empty if no plugin has such a tool.
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
