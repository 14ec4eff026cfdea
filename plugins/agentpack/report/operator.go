package report

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/config"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/disk"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/env"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/render"
)

// maxOperatorFile is the maximum size of an operator asset, in bytes.
const maxOperatorFile = 1 << 20

// operatorCommands are the names of the command files for Claude Code, without .md.
var operatorCommands = []string{"ap-doctor", "ap-update", "ap-preview", "ap-plan", "ap-deploy", "ap-status", "ap-diff", "ap-explain", "ap-evolve"}

// operatorSkill is the path of the operator skill in a directory of skills.
var operatorSkill = filepath.Join("agentpack-operator", "SKILL.md")

// OperatorCheck checks whether the operator assets exist and have the expected version. Operator assets are files that
// tell agents how to use agentpack. The command bootstrap of agentpack installs them.
type OperatorCheck struct {
	Env     env.Env
	Project string // the root directory of the project
	Version string // the version that the assets should have
	Repo    string // the argument repo of the call; may be ""
	Machine string // the argument machine of the call; may be ""
}

// operatorFindings collects the warnings about operator assets, and the actions that resolve them.
type operatorFindings struct {
	OperatorCheck
	warnings []string
	actions  []Action
}

// Run checks the operator assets of the given targets. It returns warnings, and actions that resolve the warnings.
func (c OperatorCheck) Run(targets []config.Target) ([]string, []Action) {
	found := &operatorFindings{OperatorCheck: c}
	for _, target := range targets {
		for _, place := range []struct {
			scope   config.Scope
			allowed bool
		}{{config.ScopeUser, target.Scope.User()}, {config.ScopeProject, target.Scope.Project()}} {
			if place.allowed {
				found.target(target, place.scope)
			}
		}
	}
	return found.warnings, found.actions
}

// target checks the operator assets of one target in one scope.
func (f *operatorFindings) target(target config.Target, scope config.Scope) {
	user := scope == config.ScopeUser
	switch target.Name {
	case config.Codex:
		home := filepath.Join(f.Project, ".codex")
		if user {
			home = render.CodexHome(f.Env, target)
		}
		f.skill(target.Name, scope, filepath.Join(home, "skills", operatorSkill))
	case config.ClaudeCode:
		base, option := f.Project, "write_repo_skills"
		if user {
			base, option = f.Env.Home, "write_user_skills"
		}
		f.commands(target.Name, scope, filepath.Join(base, ".claude", "commands"))
		if target.Options.Bool(option, false) {
			f.skill(target.Name, scope, filepath.Join(base, ".claude", "skills", operatorSkill))
		}
	}
}

// assetState is the state of one operator asset.
type assetState int

const (
	assetCurrent assetState = iota
	assetMissing
	assetUnmarked // the file does not state a version
	assetOutdated
)

// inspect returns the state of the operator asset at path and, if the asset is outdated, its version.
func (f *operatorFindings) inspect(path string) (assetState, string) {
	text, err := disk.Read(path, maxOperatorFile)
	if err != nil {
		return assetMissing, ""
	}
	version, ok := markedVersion(string(text))
	switch {
	case !ok:
		return assetUnmarked, ""
	case version != f.Version:
		return assetOutdated, version
	}
	return assetCurrent, ""
}

// markedVersion returns the version that the first line with a version states.
func markedVersion(text string) (string, bool) {
	for line := range strings.Lines(text) {
		if _, value, ok := strings.Cut(line, "agentpack_version:"); ok {
			value = strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(value), "-->"))
			return strings.Trim(value, `"'`), true
		}
	}
	return "", false
}

func (f *operatorFindings) skill(target string, scope config.Scope, path string) {
	switch state, version := f.inspect(path); state {
	case assetCurrent:
		return
	case assetMissing:
		f.warn("missing", target, scope, path)
	case assetUnmarked:
		f.warn("outdated", target, scope, path+" has no agentpack_version")
	case assetOutdated:
		f.warn("outdated", target, scope, fmt.Sprintf("%s has version %.40s, not %s", path, version, f.Version))
	}
	f.bootstrap(target, scope)
}

func (f *operatorFindings) commands(target string, scope config.Scope, dir string) {
	files := map[assetState][]string{}
	for _, command := range operatorCommands {
		file := command + ".md"
		state, _ := f.inspect(filepath.Join(dir, file))
		files[state] = append(files[state], file)
	}
	if len(files[assetMissing]) > 0 {
		f.warn("missing", target, scope, dir+" has no "+strings.Join(files[assetMissing], ", "))
	}
	if len(files[assetUnmarked]) > 0 {
		f.warn("outdated", target, scope, strings.Join(files[assetUnmarked], ", ")+" in "+dir+" have no agentpack_version")
	}
	if len(files[assetOutdated]) > 0 {
		f.warn("outdated", target, scope, strings.Join(files[assetOutdated], ", ")+" in "+dir+" do not have version "+f.Version)
	}
	if len(files[assetMissing])+len(files[assetUnmarked]) > 0 {
		f.bootstrap(target, scope)
	}
}

func (f *operatorFindings) warn(how, target string, scope config.Scope, what string) {
	f.warnings = append(f.warnings, fmt.Sprintf("operator assets %s (%s/%s): %s", how, target, scope, what))
}

func (f *operatorFindings) bootstrap(target string, scope config.Scope) {
	command := CommandPrefix(f.Repo, "", "", f.Machine) + " --target " + target + " bootstrap --scope " + string(scope) + " --yes --json"
	f.actions = append(f.actions, Action{Code: "bootstrap", Command: command})
}
