package config

import (
	"path/filepath"

	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
)

// Resolve replaces the variable in text, a path of a manifest or a config. If the variable is unset, missing is the name of the
// variable. If text is not a valid path, missing is text.
func (p Places) Resolve(text, plugin string) (dir, missing string) {
	variable, rest, err := manifest.SplitPath(text)
	if err != nil {
		return "", text // invalid paths are reported when the manifest or config is parsed
	}
	if variable == "" {
		return rest, ""
	}
	root := map[string]string{
		manifest.VarProject: p.Project,
		manifest.VarCwd:     p.Cwd,
		manifest.VarHome:    p.Home,
		manifest.VarState:   p.StateDir(plugin),
	}[variable]
	if root == "" {
		return "", variable
	}
	return filepath.Join(root, rest), ""
}

// StateDir returns the state directory of the named plugin; empty if there is none.
func (p Places) StateDir(plugin string) string {
	if p.State == "" {
		return ""
	}
	return filepath.Join(p.State, p.StatePart, plugin)
}

// At formats the position of a key of the plugin's table for messages: bulkhead.toml:12. If the key is absent, At uses the line
// of the table's heading. Without a config file, At returns an empty string. A key may have an index: allow_tools[1].
func (p Plugin) At(key string) string {
	if p.File == "" {
		return ""
	}
	return p.Position(key).String()
}

// Position returns the position of a key like At. Without a config file it is the zero value.
func (p Plugin) Position(key string) Position {
	return Position{p.File, lineOf(p.Lines, key, p.Line)}
}

// SamePlace reports whether p and other, of plugins with the same name, may be two versions of one plugin: in one directory, or both from
// the store, where each version has its own directory.
func (p Plugin) SamePlace(other Plugin) bool {
	return p.Path == other.Path || p.From != "" && other.From != ""
}
