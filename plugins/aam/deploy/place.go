// Package deploy puts the artifacts of packages where the programs that use them look for them (platforms), and
// takes them away again. A Plan collects what is to be done; nothing is touched before the change is made that it
// is staged in. Place says where an artifact goes, render.go what it looks like there, section.go how a part of a
// file that others write to is changed.
package deploy

import (
	"path/filepath"

	"github.com/bulkhead-mcp/bulkhead/plugins/aam/manifest"
)

// The platforms.
const (
	Cursor  = "cursor"
	Claude  = "claude"
	Copilot = "copilot"
	Codex   = "codex"
)

// form is what an artifact is at its place.
type form int

const (
	tree    form = iota // a folder of its own
	file                // a file of its own
	section             // a section of a file
)

// place is where artifacts of one type go: the path with their name between two parts.
type place struct {
	home        bool // below the home folder, not the project
	form        form
	before      string // slashes; of a section the whole path
	after       string
	description bool // a rule of Cursor's, which begins with a description
}

// places has the path of each type for each platform.
var places = map[string]map[manifest.Type]place{
	Cursor: {
		manifest.Skill:       {form: tree, before: ".cursor/skills/"},
		manifest.Agent:       {form: file, before: ".cursor/rules/agent-", after: ".mdc", description: true},
		manifest.Prompt:      {form: file, before: ".cursor/prompts/", after: ".md"},
		manifest.Instruction: {form: file, before: ".cursor/rules/", after: ".mdc", description: true},
	},
	Claude: {
		manifest.Skill:       {form: tree, before: ".claude/skills/"},
		manifest.Agent:       {form: file, before: ".claude/agents/", after: ".md"},
		manifest.Prompt:      {form: file, before: ".claude/prompts/", after: ".md"},
		manifest.Instruction: {form: section, before: "CLAUDE.md"},
	},
	Copilot: {
		manifest.Skill:       {form: tree, before: ".github/skills/"},
		manifest.Agent:       {form: file, before: ".github/agents/", after: ".agent.md"},
		manifest.Prompt:      {form: file, before: ".github/prompts/", after: ".md"},
		manifest.Instruction: {form: file, before: ".github/instructions/", after: ".instructions.md"},
	},
	Codex: {
		manifest.Skill:       {home: true, form: tree, before: ".codex/skills/"},
		manifest.Agent:       {form: section, before: "AGENTS.md"},
		manifest.Prompt:      {home: true, form: file, before: ".codex/prompts/", after: ".md"},
		manifest.Instruction: {form: section, before: "AGENTS.md"},
	},
}

// InProject and InHome have the names, in the project and in the folder .codex of the home folder, that deploying
// changes or makes.
var (
	InProject = []string{".cursor", ".claude", ".github", "CLAUDE.md", "AGENTS.md"}
	InHome    = []string{"skills", "prompts"}
)

// Supported tells whether artifacts can be deployed to a platform.
func Supported(platform string) bool { return places[platform] != nil }

// Path returns where an artifact goes, relative to the project; false if that is not in the project, or is a part
// of a file only.
func Path(platform string, t manifest.Type, name string) (string, bool) {
	at, ok := places[platform][t]
	if !ok || at.home || at.form == section {
		return "", false
	}
	return filepath.FromSlash(at.before + name + at.after), true
}
