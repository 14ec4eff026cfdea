package discovery

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"
	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
	"github.com/bulkhead-mcp/bulkhead/internal/base/visible"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
)

// scriptName is the name of the plugin that runs the scripts of clients. It is part of the host: no config names it.
const scriptName = "script"

// isHost reports whether the candidate is the runner of scripts.
func (c Candidate) isHost() bool {
	return c.Manifest != nil && c.Manifest.Module.Kind == manifest.KindScript
}

// Alone reports whether a single plugin was found, besides the runner of scripts.
func (f *Found) Alone() bool {
	own := 0
	for _, c := range f.Candidates {
		if c.isHost() {
			own++
		}
	}
	return len(f.Candidates) == own+1
}

// refuseHost adds a problem to each table of the config that names the runner of scripts.
func refuseHost(plugins []Candidate) []Candidate {
	for i := range plugins {
		if c := &plugins[i]; c.isHost() {
			c.Problems = append(slices.Clone(c.Problems), tomlfile.Problem{File: c.Entry.File, Line: c.Entry.Line, Key: c.Entry.Key,
				What:   "the plugin runs the scripts of clients, and the host starts it itself",
				Remedy: fmt.Sprintf("remove the table, and write tools = %q in [server]", config.ToolsCode)})
		}
	}
	return plugins
}

// withoutHost removes the runner of scripts from the plugins of a directory.
func withoutHost(plugins []Candidate) []Candidate {
	return slices.DeleteFunc(plugins, Candidate.isHost)
}

// addScript adds the runner of scripts as the last plugin, if clients call tools by scripts. It is in the directory of plugins that the user
// names, or else beside the program.
func (f *Found) addScript() error {
	if f.ToolMode() != config.ToolsCode || len(f.Candidates) == 0 {
		return nil
	}
	o := f.Options
	beside, _ := usualFolders(o.System)
	var watched []string // files without which it is not found
	for _, dir := range slices.Compact([]string{installDir(o), beside}) {
		dir = filepath.Join(dir, scriptName)
		watched = append(watched, filepath.Join(dir, manifest.FileName))
		if !hasManifest(dir) {
			continue
		}
		found := readManifests(o, entries([]string{dir}))
		switch c := found[0]; {
		case c.Problems.Err() == nil && !c.isHost():
			return usage.Errorf("%s: its kind is not %q: remove that plugin, or give it another name", dir, manifest.KindScript)
		case c.Problems.Err() == nil && !c.isBuilt():
			return f.noScript(dir+" is not built", append(watched, c.Manifest.ModuleFile()))
		}
		if filepath.Dir(dir) == beside {
			if err := checkInstalled(o.System, found); err != nil {
				return &usage.Error{Err: err}
			}
		}
		f.Candidates = append(f.Candidates, found...)
		f.folders = append(f.folders, dir)
		return nil
	}
	return f.noScript(fmt.Sprintf("%s contains no plugin %s", cmp.Or(installDir(o), beside), scriptName), watched)
}

// noScriptError is the error of a host that cannot run scripts.
type noScriptError struct {
	error
	watched []string // files of which one has to change
}

func (f *Found) noScript(why string, watched []string) error {
	beside, _ := usualFolders(f.Options.System)
	return &usage.Error{Err: &noScriptError{watched: watched, error: fmt.Errorf("tools = %q needs the plugin that runs scripts: %s\n%s, which needs Node.js; or choose tools = %q",
		config.ToolsCode, why, fmt.Sprintf("unpack a release archive, which has it beside the program, or build it in a checkout with `bulkhead plugin build -o %s plugins/%s`", visible.ShellWord(beside), scriptName), config.ToolsSearch)}}
}
