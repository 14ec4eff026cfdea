// Package operator looks whether the files by which agents learn to use agentpack itself are where they read
// them, and of the right version. Another command of agentpack installs them.
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

// maxFile is the largest of these files that is read, in bytes.
const maxOperatorFile = 1 << 20

// commands are the files for Claude Code's commands, without .md.
var operatorCommands = []string{"ap-doctor", "ap-update", "ap-preview", "ap-plan", "ap-deploy", "ap-status", "ap-diff", "ap-explain", "ap-evolve"}

// skillFile is where the skill is in a folder of skills.
var operatorSkill = filepath.Join("agentpack-operator", "SKILL.md")

// Check is what is looked for.
type OperatorCheck struct {
	Env     env.Env
	Project string // the project's root
	Version string // the version that files have to be of
	Repo    string // as the caller named it; "" if not
	Machine string // likewise
}

// findings collects what is wrong.
type operatorFindings struct {
	OperatorCheck
	warnings []string
	actions  []Action
}

// Run looks for the files of the targets and returns warnings, and the commands that put right what they say.
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

// target looks at the files of one target in one place.
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

// state is how one file is.
type assetState int

const (
	assetCurrent assetState = iota
	assetMissing
	assetUnmarked // it does not say of which version it is
	assetOutdated
)

// look returns how a file is and, if it is outdated, its version.
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

// marked returns the version in the first line that has one.
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
		f.warn("outdated", target, scope, path+" does not say its agentpack_version")
	case assetOutdated:
		f.warn("outdated", target, scope, fmt.Sprintf("%s is of version %.40s, not %s", path, version, f.Version))
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
		f.warn("outdated", target, scope, strings.Join(files[assetUnmarked], ", ")+" in "+dir+" do not say their agentpack_version")
	}
	if len(files[assetOutdated]) > 0 {
		f.warn("outdated", target, scope, strings.Join(files[assetOutdated], ", ")+" in "+dir+" are not of version "+f.Version)
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
