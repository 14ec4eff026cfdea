package main

import (
	"cmp"
	"slices"

	"github.com/bulkhead-mcp/bulkhead/host"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/explain"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/review"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
)

// clientPlugins returns plugins as the client of found gets them. Both are of the same plugins in the same order.
func clientPlugins(found explain.Policies, plugins []host.PluginInfo) []host.PluginInfo {
	out := slices.Clone(plugins)
	for i, p := range found.Plugins {
		info := &out[i]
		if p.Policy == nil {
			info.Problem = cmp.Or(info.Problem, p.Problem)
			info.Tools = slices.Clone(info.Tools)
			for j := range info.Tools {
				info.Tools[j].Offered, info.Tools[j].Why = false, info.Problem
			}
			continue
		}
		rules := map[string]review.ToolRule{}
		for _, rule := range p.Tools {
			rules[rule.Name] = rule
		}
		info.Tools = slices.Clone(info.Tools)
		for j := range info.Tools {
			if rule := rules[info.Tools[j].Name]; info.Tools[j].Offered && !rule.Offered {
				info.Tools[j].Offered, info.Tools[j].Why = false, rule.By
			}
			info.Tools[j].Approval = rules[info.Tools[j].Name].Approval
		}
		info.Grants = nil
		for _, g := range p.Folders {
			if g.Resolved != "" { // the state directory is not resolved
				info.Grants = append(info.Grants, grantInfo(g, false))
			}
		}
		for _, g := range p.Repositories {
			info.Grants = append(info.Grants, grantInfo(g, true))
		}
		info.Prompts, info.Resources = allowedNames(p, "prompts", info.Prompts), allowedNames(p, "resources", info.Resources)
		info.Skills = allowedSkills(p, info.Skills)
		info.ResultLimit = p.ResultLimit()
	}
	return out
}

func grantInfo(g review.Grant, git bool) host.GrantInfo {
	return host.GrantInfo{Path: g.What, Access: g.Access, Git: git, Resolved: g.Resolved, Breadth: g.Breadth, Broad: g.Broad, Refused: g.Refused}
}

// allowedNames returns those of the names of prompts, or prefixes of resources, that the rules allow.
func allowedNames(p explain.PluginPolicy, of string, names []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		return slices.ContainsFunc(p.Names, func(r review.FilterRules) bool { return r.Of == of && !r.Allows(name) })
	})
}

// allowedSkills returns those of the names of skills that the rules for resources allow.
func allowedSkills(p explain.PluginPolicy, names []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		instructions := manifest.SkillInstructions(p.Name, name)
		return slices.ContainsFunc(p.Names, func(r review.FilterRules) bool { return r.Of == "resources" && !r.AllowsURI(instructions) })
	})
}
