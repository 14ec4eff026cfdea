// Package config reads the two files at the top of a config repo: the manifest agentpack.yaml and the lockfile
// agentpack.lock.json. Call LoadManifest, then Manifest.Select for the modules of a profile, and LoadLock for the
// lockfile. The package neither reads the files of modules nor writes any file.
package config

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/disk"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/fault"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/yamldoc"
	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem"
)

// ManifestFile is the name of the manifest in a config repo.
const ManifestFile = "agentpack.yaml"

const (
	maxManifest = 4 << 20 // maximum size of a manifest, in bytes
	maxModules  = 10_000
)

// The names of the supported targets.
const (
	ClaudeCode = "claude_code"
	Codex      = "codex"
	Cursor     = "cursor"
	JetBrains  = "jetbrains"
	VSCode     = "vscode"
	Zed        = "zed"
)

// Targets are the names of targets that a manifest may use, sorted.
var Targets = []string{ClaudeCode, Codex, Cursor, JetBrains, VSCode, Zed}

// Manifest is the content of a valid agentpack.yaml.
type Manifest struct {
	Repo     string // the directory of the config repo
	Profiles map[string]Profile
	Targets  []Target // sorted by name
	Modules  []Module // all modules, in the order of the file
}

// Profile selects modules by tag and by id. ExcludeModules takes precedence over the other fields.
type Profile struct {
	IncludeTags    []string
	IncludeModules []string
	ExcludeModules []string
}

// Target is a program, such as an editor, for which agentpack renders modules.
type Target struct {
	Name    string
	Scope   Scope
	Options Options
}

// Scope says whether a target writes into the directories of the user, into those of the project, or into both.
type Scope string

const (
	ScopeUser    Scope = "user"
	ScopeProject Scope = "project"
	ScopeBoth    Scope = "both"
)

// User reports whether the target writes into the user's directories.
func (s Scope) User() bool { return s == ScopeUser || s == ScopeBoth }

// Project reports whether the target writes into the project's directories.
func (s Scope) Project() bool { return s == ScopeProject || s == ScopeBoth }

// Type is the kind of content that a module has.
type Type string

const (
	Instructions Type = "instructions"
	Skill        Type = "skill"
	Prompt       Type = "prompt"
	Command      Type = "command"
)

// Module is one module of the manifest. Exactly one of its fields Local and Git is set.
type Module struct {
	ID      string
	Type    Type
	Enabled bool
	Tags    []string
	Targets []string // the names of the targets for which the module is rendered; empty for all targets
	Local   *Local
	Git     *Git
}

// Local is a module source in the file system. Path is the path of a file or directory, absolute or relative to the
// config repo.
type Local struct{ Path string }

// Git is a module source in another git repository.
type Git struct {
	URL    string
	Ref    string // the name of a branch or tag, or a commit hash
	Subdir string // the subdirectory with the module's files; "" for the whole repository
}

// For reports whether the module is rendered for the target with the given name.
func (m Module) For(target string) bool {
	return len(m.Targets) == 0 || slices.Contains(m.Targets, target)
}

// Target returns the target with the given name, and whether the manifest has that target.
func (m *Manifest) Target(name string) (Target, bool) {
	for _, target := range m.Targets {
		if target.Name == name {
			return target, true
		}
	}
	return Target{}, false
}

// Module returns the module with the given id, and whether the manifest has that module.
func (m *Manifest) Module(id string) (Module, bool) {
	for _, module := range m.Modules {
		if module.ID == id {
			return module, true
		}
	}
	return Module{}, false
}

// LoadManifest reads the manifest of the config repo in the directory repo.
func LoadManifest(repo string) (*Manifest, error) {
	path := filepath.Join(repo, ManifestFile)
	if found, ok := disk.Derived(manifests, path, maxManifest); ok && found.valid {
		found.Repo = repo
		return &found.Manifest, nil
	}
	text, err := disk.Read(path, maxManifest)
	if filesystem.IsAbsent(err) {
		return nil, fault.New(fault.ConfigMissing, fault.Details{
			"path": path, "path_posix": filepath.ToSlash(path),
			"hint": "name the config repo with the argument repo, or set AGENTPACK_HOME; its directory has to be granted to the plugin",
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

// ParseManifest decodes and validates the text of a manifest. It returns the first error as a fault.
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

// addPath adds the path of the manifest to a fault about the manifest.
func addPath(err error, path string) error {
	located := fault.Of(err)
	if located.Details["path"] == nil {
		located.Details["path"] = path
		located.Details["path_posix"] = filepath.ToSlash(path)
	}
	return located
}

// Select returns those modules of a profile that are enabled, not excluded, and included by tag or id. The modules are
// sorted by id.
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
