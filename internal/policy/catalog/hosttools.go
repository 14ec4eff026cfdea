package catalog

import (
	"fmt"
	"slices"

	"github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/hosttool"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/gateway"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/tokens"
)

// HostTools returns the tools that the host itself offers to clients of the Catalog; nil if there are none.
func (c *Catalog) HostTools() *hosttool.Set { return c.host }

func (c *Catalog) hostTools() *hosttool.Set {
	shortens := slices.ContainsFunc(c.Plugins, (*Plugin).shortens)
	if c.ToolMode() == config.ToolsAll && !shortens {
		return nil
	}
	var plugins []hosttool.Plugin
	for _, p := range c.Plugins {
		if p.Problem != "" || len(p.Tools) == 0 || p.IsHost() {
			continue
		}
		var tools []gateway.Tool
		for _, t := range p.Tools {
			tools = append(tools, t.listing())
		}
		plugins = append(plugins, hosttool.Plugin{Name: p.Name, Description: p.Manifest.Description, Tools: tools})
	}
	return hosttool.NewSet(c.ToolMode(), plugins, shortens)
}

// shortens reports whether a result of the plugin may be shortened.
func (p *Plugin) shortens() bool {
	return p.Problem == "" && slices.ContainsFunc(p.Tools, func(t *Tool) bool { return t.ResultLimit() > 0 })
}

// ListCost returns what the list of tools costs the models of clients.
func (c *Catalog) ListCost() tokens.List {
	var list tokens.List
	for _, t := range c.serverConfig().Tools {
		list.Add(t.Name, t.Description, t.Input)
	}
	return list
}

// DescribeList describes the list of tools: what it costs, and how clients get those that it lacks.
func (c *Catalog) DescribeList() string {
	text := c.ListCost().String()
	if c.ToolMode() != config.ToolsAll && c.host != nil {
		text += fmt.Sprintf("; tools = %q: clients find the others", c.ToolMode())
	}
	return text
}

// mayShorten reports whether a result may be shortened for any client.
func (c *Catalog) mayShorten() bool {
	limits := func(client config.Client) bool { return client.Limits.Result > 0 }
	return !c.isAlone && (slices.ContainsFunc(c.Plugins, (*Plugin).hasResultLimit) || slices.ContainsFunc(c.Clients.Tables, limits))
}

func (p *Plugin) hasResultLimit() bool { return p.Grant.Limits.Result > 0 }

// lists reports whether the tools of p are in the list of tools. Clients may call the others too.
func (c *Catalog) lists(p *Plugin) bool {
	return c.ToolMode() == config.ToolsAll || p.Entry.Listed || p.IsHost()
}

// claimHostTools withholds the tools of plugins that have the names of the host's own. A user who lets a client call such a tool has not agreed
// to that of a plugin.
func (c *Catalog) claimHostTools() {
	mode := c.ToolMode()
	names := hosttool.Names(mode, c.mayShorten())
	if len(names) == 0 {
		return
	}
	for _, p := range c.Plugins {
		if p.IsHost() {
			continue
		}
		for _, t := range p.Tools {
			if p.Problem != "" || !slices.Contains(names, t.Offered) {
				continue
			}
			where := fmt.Sprintf("tools = %q", mode)
			if t.Offered == hosttool.Result {
				where = "limits.result is set"
			}
			what := fmt.Sprintf("plugin %q (%s) offers the tool %s, which is the host's own where %s", p.Name, placeOf(p, t.Line), t.Offered, where)
			problem := tomlfile.Problem{File: p.Entry.File, Line: p.Entry.Line, Key: p.Entry.Key, What: what, Warning: true,
				Remedy: fmt.Sprintf("set a prefix for the plugin's tools, or deny_tools = [%q]", t.Name)}
			if p.Entry.File == "" {
				problem.File, problem.Line, problem.Key = p.Manifest.File, t.Line, "tools.name"
				problem.Remedy = "rename the tool, or list the plugin in " + config.FileName + " with a prefix"
			}
			p.Problems = append(slices.Clone(p.Problems), problem)
			p.ownProblems = p.Problems
			p.withhold(t, what)
		}
	}
}
