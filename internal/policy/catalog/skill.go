package catalog

import (
	"reflect"
	"slices"
	"strings"

	"github.com/hashicorp/go-hclog"

	"github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
)

// Skill is a skill of a plugin or of the project. Its files are resources that the host serves, not the plugin's module.
type Skill struct {
	manifest.Skill
	Plugin *Plugin // nil: it is the project's, and has only a name, since its files are found when they are read
}

// owner returns the name of the plugin in the URIs of the skill.
func (s *Skill) owner() string {
	if s.Plugin == nil {
		return manifest.ProjectSkills
	}
	return s.Plugin.Name
}

// Root returns the URI of the skill's directory, without a slash at its end.
func (s *Skill) Root() string { return manifest.SkillRoot(s.owner()) + s.Name }

// Instructions returns the URI of the skill's SKILL.md.
func (s *Skill) Instructions() string { return manifest.SkillInstructions(s.owner(), s.Name) }

// ProjectSkill returns the skill of the project with a name.
func ProjectSkill(name string) *Skill { return &Skill{Skill: manifest.Skill{Name: name}} }

// findProjectSkills sets the directories that may contain skills of the project.
func (c *Catalog) findProjectSkills() {
	decided, problems := config.DecideSkills(c.SkillDirs, c.Defaults, c.Places)
	var more tomlfile.Problems
	c.project, more = c.Ceiling.NarrowSkills(decided, c.Places)
	c.projectProblems = append(problems, more...)
}

// ProjectSkills returns the directories that may contain skills of the project, and the problems of those that the config names.
func (c *Catalog) ProjectSkills() (config.ProjectSkills, tomlfile.Problems) {
	return c.project, c.projectProblems
}

// HasProjectSkills reports whether clients may be offered skills of the project.
func (c *Catalog) HasProjectSkills() bool { return len(c.project.Dirs) > 0 }

// HasSkills reports whether clients are offered skills, or may be when the project has some.
func (c *Catalog) HasSkills() bool { return len(c.skills) > 0 || c.HasProjectSkills() }

// AllowsSkillFile reports whether no filter withholds the file of a skill with a path.
func (c *Catalog) AllowsSkillFile(s *Skill, path string) bool {
	return c.skillFilter(s).Allowed(s.Root() + "/" + path)
}

// FiltersSkill reports whether a filter may withhold files of a skill.
func (c *Catalog) FiltersSkill(s *Skill) bool { return !c.skillFilter(s).AllowsAll() }

// skillFilter returns the filter of the URIs of a skill's files.
func (c *Catalog) skillFilter(s *Skill) config.Filter {
	if s.Plugin == nil {
		return c.project.Resources
	}
	return s.Plugin.Grant.Resources
}

// OffersSkillsOf reports whether the skills of the project are those of other, a Catalog of the same project.
func (c *Catalog) OffersSkillsOf(other *Catalog) bool {
	return reflect.DeepEqual(c.project.WithoutLines(), other.project.WithoutLines())
}

// findSkills sets the skills that the plugin may offer. Clients of a filter that withholds a file of a skill do not get the skill, but only
// its SKILL.md is known here.
func (p *Plugin) findSkills() {
	p.Skills = nil
	for _, declared := range p.Manifest.Skills {
		s := &Skill{declared, p}
		if p.lacksDigest(declared) || !p.Grant.Resources.Allowed(s.Instructions()) {
			continue
		}
		p.Skills = append(p.Skills, s)
	}
}

// lacksDigest reports whether a skill of a built plugin has no digest. A pin of the manifest would not cover it.
func (p *Plugin) lacksDigest(s manifest.Skill) bool {
	return s.SHA256 == "" && p.Manifest.Module.SHA256 != ""
}

// skillProblems returns a warning for each skill that is not offered because it has no digest.
func (p *Plugin) skillProblems() (ps tomlfile.Problems) {
	for _, s := range p.Manifest.Skills {
		if p.lacksDigest(s) {
			ps = append(ps, tomlfile.Problem{File: p.Manifest.File, Line: s.Line, Key: "skills", What: "the skill " + s.Name + " has no sha256, so it is not offered",
				Remedy: "build the plugin with `bulkhead plugin build`, which fills in the digest", Warning: true})
		}
	}
	return ps
}

// SkillNames returns the names of the skills that the plugin can offer.
func (p *Plugin) SkillNames() []string {
	var names []string
	for _, s := range p.Skills {
		names = append(names, s.Name)
	}
	return names
}

// Skills returns the skills that are offered, in the order of the config.
func (c *claims) Skills() []*Skill { return c.skills }

// SkillAt returns the skill in which the file or directory with a URI would be, and its path in the skill; "" is the skill's directory. The
// skill is nil if there is none, or if a filter withholds its SKILL.md. Whether the project has a skill is known only when it is read.
func (c *Catalog) SkillAt(uri string) (*Skill, string) {
	if rest, ok := strings.CutPrefix(uri, projectRoot); ok {
		name, path, _ := strings.Cut(rest, "/")
		s := ProjectSkill(name)
		if !c.HasProjectSkills() || !manifest.IsSkillName(name) || !c.project.Resources.Allowed(s.Instructions()) {
			return nil, ""
		}
		return s, path
	}
	for _, s := range c.skills {
		if rest, ok := strings.CutPrefix(uri, s.Root()); ok && (rest == "" || rest[0] == '/') {
			return s, strings.TrimPrefix(rest, "/")
		}
	}
	return nil, ""
}

// projectRoot begins the URIs of skills of the project.
var projectRoot = manifest.SkillRoot(manifest.ProjectSkills)

// isOfSkills reports whether a URI belongs to the project's skills or to a plugin with skills, offered or not. The host serves it, and no
// module.
func (c *claims) isOfSkills(uri string) bool {
	return strings.HasPrefix(uri, projectRoot) || slices.ContainsFunc(c.skillRoots, func(root string) bool { return strings.HasPrefix(uri, root) })
}

func (c *claims) claimSkills(p *Plugin) {
	if len(p.Manifest.Skills) > 0 {
		c.skillRoots = append(c.skillRoots, manifest.SkillRoot(p.Name))
		c.skills = append(c.skills, p.Skills...)
	}
}

// skillsChanged reports whether the skills may differ from those of the Catalog old.
func (c *Catalog) skillsChanged(old *Catalog) bool {
	return !slices.EqualFunc(c.skills, old.skills, func(a, b *Skill) bool { return a.Skill == b.Skill && a.Plugin.Equal(b.Plugin) }) ||
		!c.OffersSkillsOf(old) || len(c.project.Dirs) > 0 && c.SkillsState != old.SkillsState
}

// hostItems stands for a plugin in the Part of a list that the host itself has. No plugin has such a name.
var hostItems = &Plugin{Name: manifest.SkillScheme, Log: hclog.NewNullLogger()}

// HostPart returns a Part whose items the host has: JSON objects by their keys, in the order of keys.
func HostPart(keys []string, items map[string][]byte) Part {
	part := Part{Plugin: hostItems}
	for _, key := range keys {
		part.items = append(part.items, item{key, items[key]})
	}
	return part
}
