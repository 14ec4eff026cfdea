// Package deploy deploys the artifacts of packages to platforms, which are the programs that use artifacts, and
// undeploys them. A Plan collects changes and is staged in a transaction; nothing is written before the transaction
// commits. place.go maps artifacts to paths, render.go renders their content, and section.go edits sections of files
// that also contain other text.
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

// form determines how an artifact is stored on a platform.
type form int

const (
	tree    form = iota // a directory of its own
	file                // a file of its own
	section             // a section of a file
)

// place describes the path of the artifacts of one type on a platform. It consists of the field "before", the name of
// the artifact, and the field "after".
type place struct {
	home        bool // the path is below the home directory instead of the project
	form        form
	before      string // slash-separated; the whole path of a section
	after       string
	description bool // a Cursor rule, which begins with a description
}

// places maps platforms and types to paths.
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

// InProject names the entries of the project that deployments change, InHome those of the directory .codex in the home
// directory.
var (
	InProject = []string{".cursor", ".claude", ".github", "CLAUDE.md", "AGENTS.md"}
	InHome    = []string{"skills", "prompts"}
)

// Artifact identifies an artifact on a platform.
type Artifact struct {
	Platform string
	Type     manifest.Type
	Name     string
}

// Platforms returns the names of the platforms.
func Platforms() []string { return []string{Cursor, Claude, Copilot, Codex} }

// Supported reports whether artifacts can be deployed to a platform.
func Supported(platform string) bool { return places[platform] != nil }

// Path returns the path of a deployed artifact relative to the project. It returns false if the artifact is deployed
// outside of the project, or as a section of a file.
func Path(platform string, t manifest.Type, name string) (string, bool) {
	at, ok := places[platform][t]
	if !ok || at.home || at.form == section {
		return "", false
	}
	return filepath.FromSlash(at.before + name + at.after), true
}
