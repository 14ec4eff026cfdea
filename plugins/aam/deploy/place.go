// Package deploy deploys the artifacts of packages to platforms, which are the programs that use artifacts, and
// undeploys artifacts. A Plan collects changes and stages them in a transaction; no file changes before the transaction
// commits. The file place.go maps artifacts to paths, render.go renders their content, and section.go edits sections of
// files that also contain other text.
package deploy

import (
	"path/filepath"

	"github.com/bulkhead-mcp/bulkhead/plugins/aam/manifest"
)

// The names of the platforms.
const (
	Cursor  = "cursor"
	Claude  = "claude"
	Copilot = "copilot"
	Codex   = "codex"
)

// form says how a platform stores an artifact.
type form int

const (
	tree    form = iota // a directory for the artifact alone
	file                // a file for the artifact alone
	section             // a section of a file that other artifacts and the user share
)

// place describes the paths of all artifacts of one type on a platform. Such a path consists of the field before, the
// name of the artifact, and the field after.
type place struct {
	home        bool // the path is below the home directory instead of the project
	form        form
	before      string // slash-separated; for a section, the path of the whole file
	after       string
	description bool // the file is a Cursor rule, which begins with a description
}

// places maps each platform and each type of artifacts to a place.
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

// InProject contains the names of the entries of the project that deployments change. InHome contains the names of the
// entries of the directory .codex in the home directory that deployments change.
var (
	InProject = []string{".cursor", ".claude", ".github", "CLAUDE.md", "AGENTS.md"}
	InHome    = []string{"skills", "prompts"}
)

// Artifact identifies a deployed artifact on a platform.
type Artifact struct {
	Platform string
	Type     manifest.Type
	Name     string
}

// Platforms returns the names of the platforms.
func Platforms() []string { return []string{Cursor, Claude, Copilot, Codex} }

// Supported reports whether artifacts can be deployed to the given platform.
func Supported(platform string) bool { return places[platform] != nil }

// Path returns the path of a deployed artifact, relative to the project. It returns false if the artifact is deployed
// outside of the project, or as a section of a file.
func Path(platform string, t manifest.Type, name string) (string, bool) {
	at, ok := places[platform][t]
	if !ok || at.home || at.form == section {
		return "", false
	}
	return filepath.FromSlash(at.before + name + at.after), true
}
