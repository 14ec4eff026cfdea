// Package render converts modules to the desired state, which consists of the root directories of each target and the
// files in these directories. Start with Render. JoinSections and ParseSections write and parse files that aggregate
// the sections of several modules.
package render

import (
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/config"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/disk"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/env"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/fault"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/module"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/output"
)

// Input holds the arguments of Render.
type Input struct {
	Env      env.Env
	Project  string // the root directory of the project
	Targets  []config.Target
	Modules  []config.Module // sorted by id
	Composer *module.Composer
}

// Render returns the desired state, and warnings about modules. It repeats the warnings about a module for each target
// for which the module is rendered.
func Render(in Input) (*output.State, []string, error) {
	var builder output.Builder
	var warnings []string
	for _, target := range in.Targets {
		renderer := &renderer{Input: in, target: target, builder: &builder, warned: map[string]bool{}}
		if err := renderer.render(); err != nil {
			return nil, nil, fmt.Errorf("target %s: %w", target.Name, err)
		}
		warnings = append(warnings, renderer.warnings...)
	}
	return builder.State(), warnings, nil
}

// renderer renders the modules for one target.
type renderer struct {
	Input
	target   config.Target
	builder  *output.Builder
	warnings []string
	warned   map[string]bool // the ids of the modules whose warnings are already in warnings
}

func (r *renderer) render() error {
	switch r.target.Name {
	case config.Codex:
		return r.codex()
	case config.ClaudeCode:
		return r.claudeCode()
	case config.Cursor:
		return r.cursor()
	case config.VSCode:
		return r.vscode()
	case config.JetBrains:
		return r.oneFile("write_guidelines", filepath.Join(r.Project, ".junie"), true, "guidelines.md")
	case config.Zed:
		return r.oneFile("write_rules", r.Project, false, ".rules")
	}
	return fmt.Errorf("this target is not supported")
}

// on returns the value of a boolean option of the target; byDefault if the manifest does not set the option.
func (r *renderer) on(option string, byDefault bool) bool {
	return r.target.Options.Bool(option, byDefault)
}

// root adds a root directory of the target, and returns its path.
func (r *renderer) root(path string, scan bool) string {
	r.builder.AddRoot(output.Root{Target: r.target.Name, Path: path, ScanExtras: scan})
	return path
}

// modules returns the composed modules of the type kind that are rendered for the target, sorted by id.
func (r *renderer) modules(kind config.Type) ([]*module.Ready, error) {
	var all []*module.Ready
	for _, wanted := range r.Modules {
		if wanted.Type != kind || !wanted.For(r.target.Name) {
			continue
		}
		ready, err := r.Composer.Ready(wanted)
		if err != nil {
			return nil, err
		}
		if !r.warned[wanted.ID] {
			r.warned[wanted.ID] = true
			r.warnings = append(r.warnings, ready.Warnings...)
		}
		all = append(all, ready)
	}
	return all, nil
}

func (r *renderer) add(path string, content []byte, origins ...output.Origin) error {
	return r.builder.Add(output.Key{Target: r.target.Name, Path: path}, content, origins...)
}

// addFile adds a copy of one file of a module to the desired state.
func (r *renderer) addFile(path string, ready *module.Ready, file string) error {
	key, origin := output.Key{Target: r.target.Name, Path: path}, output.Origin{Module: ready.Module.ID, Path: file}
	return r.builder.AddSummed(key, ready.Files[file], ready.SHA256(file), origin)
}

// aggregate adds one file with the instructions of all modules. Without modules it adds no file.
func (r *renderer) aggregate(path string, modules []*module.Ready) error {
	if len(modules) == 0 {
		return nil
	}
	var sections []Section
	var origins []output.Origin
	for _, ready := range modules {
		text, err := ready.Text(module.InstructionsFile)
		if err != nil {
			return err
		}
		sections = append(sections, Section{Module: ready.Module.ID, Content: text})
		origins = append(origins, output.Origin{Module: ready.Module.ID, Path: module.InstructionsFile})
	}
	return r.add(path, []byte(JoinSections(sections)), origins...)
}

// oneFile renders a target for which agentpack writes only one file, the instructions in the project.
func (r *renderer) oneFile(option, dir string, scan bool, file string) error {
	instructions, err := r.modules(config.Instructions)
	if err != nil || !r.target.Scope.Project() || !r.on(option, true) {
		return err
	}
	return r.aggregate(filepath.Join(r.root(dir, scan), file), instructions)
}

// skills adds the files of each skill, in a subdirectory of root for each skill.
func (r *renderer) skills(root string, skills []*module.Ready) error {
	for _, skill := range skills {
		dir, err := skillDir(skill.Module.ID)
		if err != nil {
			return err
		}
		for _, file := range skill.Files.Paths() {
			if output.IsOwnFile(path.Base(file)) {
				return fault.New(fault.ConfigInvalid, fault.Details{"module_id": skill.Module.ID, "path": file},
					"module %q contains %s, a name reserved for agentpack's own files", skill.Module.ID, file)
			}
			target := strings.TrimSuffix(root, separator) + separator + dir + separator + filepath.FromSlash(file)
			if err := r.addFile(target, skill, file); err != nil {
				return err
			}
		}
	}
	return nil
}

const separator = string(filepath.Separator)

// skillDir returns the name of the directory for a skill. It returns an error if the name is not a path component,
// because the id of the module is untrusted.
func skillDir(id string) (string, error) {
	dir := env.ModuleName(id)
	if !env.IsPathComponent(dir) || disk.IsReservedName(dir) || output.IsOwnFile(dir) {
		return "", fault.New(fault.ConfigInvalid, fault.Details{"module_id": id, "name": dir},
			"the name %q of module %q cannot be the name of a skill's directory: it is empty, . or .., has a slash or backslash, or is reserved for git or agentpack", dir, id)
	}
	return dir, nil
}

// files adds the only file of each module to the directory root, with the file name that rename returns.
func (r *renderer) files(root string, modules []*module.Ready, rename func(string) string) error {
	for _, ready := range modules {
		file := ready.Single()
		target := filepath.Join(root, rename(path.Base(file)))
		if err := r.addFile(target, ready, file); err != nil {
			return err
		}
	}
	return nil
}

func sameName(file string) string { return file }

// promptName returns the file name that VS Code requires for a prompt file.
func promptName(file string) string {
	if strings.HasSuffix(file, ".prompt.md") {
		return file
	}
	return strings.TrimSuffix(file, ".md") + ".prompt.md"
}

// withFinalNewline returns text with a newline at the end; it adds the newline if text does not end with one.
func withFinalNewline(text []byte) []byte {
	if len(text) > 0 && text[len(text)-1] == '\n' {
		return text
	}
	return append(slices.Clip(text), '\n')
}
