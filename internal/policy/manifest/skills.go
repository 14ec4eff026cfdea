package manifest

import (
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/base/archive"
	"github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"
)

const (
	maxSkills    = 64 // skills of a plugin
	maxSkillName = 64 // bytes, by the Agent Skills specification
)

// SkillScheme begins the URI of each file of a skill.
const SkillScheme = "skill://"

// ProjectSkills stands for the name of a plugin in the URIs of skills that belong to a project. No plugin has such a name.
const ProjectSkills = "_project"

// Skill is one [[skills]] table: a directory of instructions for a model. Package sandbox/skills reads it.
type Skill struct {
	Path   string // relative to Manifest.Dir, separated by slashes
	Name   string // last element of Path
	SHA256 string // digest of the files in lower-case hex; empty in a source tree, since the build sets it
	Line   int    // line of the [[skills]] heading
}

// SkillRoot returns the URI of the directory in which the skills of a plugin are, with a slash at its end.
func SkillRoot(plugin string) string { return SkillScheme + plugin + "/" }

// SkillInstructions returns the URI of the SKILL.md of a skill.
func SkillInstructions(plugin, name string) string { return SkillRoot(plugin) + name + "/SKILL.md" }

// IsSkillName reports whether name is a valid name of a skill by the Agent Skills specification.
func IsSkillName(name string) bool {
	return name != "" && len(name) <= maxSkillName && consistsOf(name, lower+digits+"-") &&
		name[0] != '-' && name[len(name)-1] != '-' && !strings.Contains(name, "--")
}

func (m *Manifest) readSkills(tables []*tomlfile.Table, offers *tomlfile.Table) {
	lines := map[string]int{}
	for i, t := range tables {
		if i == maxSkills {
			t.Fault("path", fmt.Sprintf("is one of more than %d skills", maxSkills), "combine some of them, or make another plugin")
			break
		}
		s := Skill{Path: t.Required("path", `write path = "skills/NAME": a directory with a SKILL.md`), SHA256: ReadDigest(t, "sha256"), Line: t.Line()}
		s.Name = path.Base(s.Path)
		switch first := lines[s.Name]; {
		case s.Path == "":
		case !filepath.IsLocal(filepath.FromSlash(s.Path)) || path.Clean(s.Path) != s.Path || archive.CheckName(s.Path) != nil:
			t.Fault("path", fmt.Sprintf("%s is not a clean relative path inside the plugin's directory", tomlfile.Quote(s.Path)),
				`write a path of ASCII letters, digits, ., _ and -, such as "skills/release-notes"`)
		case !IsSkillName(s.Name):
			t.Fault("path", fmt.Sprintf("ends in %s, which is not a valid name of a skill", tomlfile.Quote(s.Name)),
				fmt.Sprintf("use at most %d of a to z, 0 to 9 and single hyphens between them", maxSkillName))
		case first != 0:
			t.Fault("path", fmt.Sprintf("ends in %s, which is the name of the skill in line %d", tomlfile.Quote(s.Name), first), "give each skill a unique name")
		default:
			lines[s.Name] = s.Line
		}
		m.Skills = append(m.Skills, s)
	}
	if own := SkillRoot(m.Name); len(m.Skills) > 0 {
		for i, prefix := range m.Offers.Resources.Names {
			if strings.HasPrefix(own, prefix) || strings.HasPrefix(prefix, own) {
				offers.FaultItem("resources", i, fmt.Sprintf("%s overlaps with %s, the URIs of the plugin's skills, which the host serves", tomlfile.Quote(prefix), own), "claim a different prefix")
			}
		}
	}
}

// Skill returns the skill with the given name. The bool reports whether there is one.
func (m *Manifest) Skill(name string) (Skill, bool) {
	i := slices.IndexFunc(m.Skills, func(s Skill) bool { return s.Name == name })
	if i < 0 {
		return Skill{}, false
	}
	return m.Skills[i], true
}
