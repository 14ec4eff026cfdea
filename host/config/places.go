package config

import (
	"fmt"
	"path"
	"path/filepath"

	"github.com/bulkhead-mcp/bulkhead/host/manifest"
)

// Resolve replaces the variable in a path of a manifest's or a config's. missing is the variable's name
// where it has no value, or the path itself where it is none.
func (p Places) Resolve(text, plugin string) (dir, missing string) {
	variable, rest, err := manifest.SplitPath(text)
	if err != nil {
		return "", text // reported where it was read
	}
	if variable == "" {
		return rest, ""
	}
	root := map[string]string{
		manifest.VarProject: p.Project,
		manifest.VarCwd:     p.Cwd,
		manifest.VarHome:    p.Home,
		manifest.VarState:   p.stateOf(plugin),
	}[variable]
	if root == "" {
		return "", variable
	}
	return filepath.Join(root, rest), ""
}

// stateOf is a plugin's own state folder, "" where there is no place for one.
func (p Places) stateOf(plugin string) string {
	if p.State == "" {
		return ""
	}
	return filepath.Join(p.State, plugin)
}

// At names the place of a key of the plugin's table for a person: bulkhead.toml:12. It is that of the
// whole table where the key is not there, and empty without a config file. A key may have an index:
// allow_tools[1].
func (p Plugin) At(key string) string {
	if p.File == "" {
		return ""
	}
	return fmt.Sprintf("%s:%d", path.Base(p.File), lineOf(p.Lines, key, p.Line))
}
