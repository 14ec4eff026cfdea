// Package manifest reads agentpack.yaml: which modules a config repo has, which of them belong to which
// profile, and which targets they are rendered for. Load reads and checks it; Select picks the modules of a
// profile. It looks at no module's files.
package config

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/disk"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/fault"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/yamldoc"
)

// File is the manifest's name in a config repo.
const ManifestFile = "agentpack.yaml"

const (
	maxManifest = 4 << 20 // bytes of a manifest
	maxModules  = 10_000
)

// The targets that there are.
const (
	ClaudeCode = "claude_code"
	Codex      = "codex"
	Cursor     = "cursor"
	JetBrains  = "jetbrains"
	VSCode     = "vscode"
	Zed        = "zed"
)

// Targets are the names that a manifest may use, sorted.
var Targets = []string{ClaudeCode, Codex, Cursor, JetBrains, VSCode, Zed}

// Manifest is a valid agentpack.yaml.
type Manifest struct {
	Repo     string // the folder it is in
	Profiles map[string]Profile
	Targets  []Target // by name
	Modules  []Module // in the file's order
}

// Profile says which modules belong together. ExcludeModules wins.
type Profile struct {
	IncludeTags    []string
	IncludeModules []string
	ExcludeModules []string
}

// Target is a program that modules are rendered for.
type Target struct {
	Name    string
	Scope   Scope
	Options Options
}

// Scope says whose folders a target writes into.
type Scope string

// The scopes.
const (
	ScopeUser    Scope = "user"
	ScopeProject Scope = "project"
	ScopeBoth    Scope = "both"
)

// User tells whether the user's own folders are written into.
func (s Scope) User() bool { return s == ScopeUser || s == ScopeBoth }

// Project tells whether the project's folders are.
func (s Scope) Project() bool { return s == ScopeProject || s == ScopeBoth }

// Type is what a module is.
type Type string

// The types.
const (
	Instructions Type = "instructions"
	Skill        Type = "skill"
	Prompt       Type = "prompt"
	Command      Type = "command"
)

// Module is one building block. Exactly one of Local and Git is its source.
type Module struct {
	ID      string
	Type    Type
	Enabled bool
	Tags    []string
	Targets []string // none: all
	Local   *Local
	Git     *Git
}

// Local is a module in a file or folder; its Path is relative to the repo, or absolute.
type Local struct{ Path string }

// Git is a module in a repository of its own.
type Git struct {
	URL    string
	Ref    string // branch, tag or commit
	Subdir string // "": the whole repository
}

// For tells whether the module is rendered for a target.
func (m Module) For(target string) bool {
	return len(m.Targets) == 0 || slices.Contains(m.Targets, target)
}

// Target returns a target by its name.
func (m *Manifest) Target(name string) (Target, bool) {
	for _, target := range m.Targets {
		if target.Name == name {
			return target, true
		}
	}
	return Target{}, false
}

// Module returns a module by its id.
func (m *Manifest) Module(id string) (Module, bool) {
	for _, module := range m.Modules {
		if module.ID == id {
			return module, true
		}
	}
	return Module{}, false
}

// Load reads the manifest of the config repo in a folder.
func LoadManifest(repo string) (*Manifest, error) {
	path := filepath.Join(repo, ManifestFile)
	text, err := disk.Read(path, maxManifest)
	if disk.IsMissing(err) {
		return nil, fault.New(fault.ConfigMissing, fault.Details{
			"path": path, "path_posix": filepath.ToSlash(path),
			"hint": "name the config repo with the argument repo, or set AGENTPACK_HOME; its folder has to be granted to the plugin",
		}, "there is no config manifest %s", path)
	}
	if err != nil {
		return nil, fault.IO(path, err)
	}
	manifest, err := ParseManifest(text)
	if err != nil {
		return nil, addPath(err, path)
	}
	manifest.Repo = repo
	return manifest, nil
}

// Parse reads a manifest's text. The first thing that is wrong with it is a fault.
func ParseManifest(text []byte) (*Manifest, error) {
	document, err := yamldoc.Parse(text)
	if err != nil {
		return nil, invalid(err)
	}
	manifest, version, err := read(document)
	if err != nil {
		return nil, invalid(err)
	}
	if version != 1 {
		return nil, fault.New(fault.ConfigUnsupportedVersion, fault.Details{"version": version, "supported": []int{1}},
			"%s has the version %d; only version 1 is supported", ManifestFile, version)
	}
	return manifest, manifest.validate()
}

func invalid(err error) error {
	text := err.Error()
	return fault.New(fault.ConfigInvalid, fault.Details{"error": text}, "%s is not valid: %s", ManifestFile, text)
}

// locate adds the file's path to what is wrong with it.
func addPath(err error, path string) error {
	wrong := fault.Of(err)
	if wrong.Details["path"] == nil {
		wrong.Details["path"] = path
		wrong.Details["path_posix"] = filepath.ToSlash(path)
	}
	return wrong
}

// Select returns the modules of a profile, by id: enabled, not excluded, and included by a tag or by name.
func (m *Manifest) Select(profile string) ([]Module, error) {
	wanted, ok := m.Profiles[profile]
	if !ok {
		return nil, fault.New(fault.Unexpected, nil, "there is no profile %q in %s", profile, ManifestFile)
	}
	tags, included, excluded := setOf(wanted.IncludeTags), setOf(wanted.IncludeModules), setOf(wanted.ExcludeModules)
	var selected []Module
	for _, module := range m.Modules {
		tagged := slices.ContainsFunc(module.Tags, func(tag string) bool { return tags[tag] })
		if module.Enabled && !excluded[module.ID] && (tagged || included[module.ID]) {
			selected = append(selected, module)
		}
	}
	slices.SortFunc(selected, func(a, b Module) int { return strings.Compare(a.ID, b.ID) })
	return selected, nil
}

func setOf(texts []string) map[string]bool {
	set := make(map[string]bool, len(texts))
	for _, text := range texts {
		set[text] = true
	}
	return set
}
