package config

import (
	"fmt"
	"path/filepath"

	"github.com/bulkhead-mcp/bulkhead/internal/manifest"
)

// Resolve replaces the variable in a path of a manifest or a config. If the variable is unset, missing is its name; if
// text is not a valid path, missing is text.
func (p Places) Resolve(text, plugin string) (dir, missing string) {
	variable, rest, err := manifest.SplitPath(text)
	if err != nil {
		return "", text // reported when it is parsed
	}
	if variable == "" {
		return rest, ""
	}
	root := map[string]string{
		manifest.VarProject: p.Project,
		manifest.VarCwd:     p.Cwd,
		manifest.VarHome:    p.Home,
		manifest.VarState:   p.stateDir(plugin),
	}[variable]
	if root == "" {
		return "", variable
	}
	return filepath.Join(root, rest), ""
}

// stateDir returns a plugin's state directory, "" if there is none.
func (p Places) stateDir(plugin string) string {
	if p.State == "" {
		return ""
	}
	return filepath.Join(p.State, plugin)
}

// At formats the position of a key of the plugin's table for messages: bulkhead.toml:12. It falls back to the
// table's heading if the key is absent, and is empty without a config file. A key may have an index:
// allow_tools[1].
func (p Plugin) At(key string) string {
	if p.File == "" {
		return ""
	}
	return fmt.Sprintf("%s:%d", filepath.Base(p.File), lineOf(p.Lines, key, p.Line))
}
