package doctor

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/policy/catalog"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/projectskills"
	"github.com/bulkhead-mcp/bulkhead/sdk/contain"
)

// projectSkills reads the skills of each project. Without the key skills in [server] it adds no check.
func (e *examination) projectSkills(served *catalog.Catalog) {
	if len(served.SkillDirs) == 0 {
		return
	}
	for _, c := range served.Projects() {
		name := "skills"
		if c.Project != "" {
			name += " of " + c.Project
		}
		granted, _ := c.ProjectSkills()
		for _, p := range c.Plugins {
			if d := writtenBy(p, granted); d != "" {
				e.warn(name, fmt.Sprintf("plugin %s may write in %s: what it writes there instructs the models of clients", p.Name, d), "grant it read-only, or hide the directory with deny")
			}
		}
		names, problems := projectskills.Look(c)
		e.problems(name, problems)
		e.ok(name, "offered: %d%s", len(names), strings.TrimSuffix(": "+strings.Join(names, ", "), ": "))
	}
}

// lostSkills returns the names of the skills of the project that only before offers.
func lostSkills(before, after *catalog.Catalog) []string {
	if len(before.SkillDirs) == 0 {
		return nil
	}
	was, _ := projectskills.Look(before)
	is, _ := projectskills.Look(after)
	return slices.DeleteFunc(was, func(name string) bool { return slices.Contains(is, name) })
}

// writtenBy returns the first directory of skills in which a plugin may write; "" if there is none.
func writtenBy(p *catalog.Plugin, granted config.ProjectSkills) string {
	for _, d := range granted.Dirs {
		if p.Problem == "" && slices.ContainsFunc(p.Grant.FS, func(m config.Mount) bool {
			return m.Access == manifest.ReadWrite && !m.State && (contain.Within(m.Path, d.Path) || contain.Within(d.Path, m.Path))
		}) {
			return d.Path
		}
	}
	return ""
}
