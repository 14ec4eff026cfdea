// Package operator looks whether the files by which agents learn to use agentpack itself are where they read
// them, and of the right version. Another command of agentpack installs them.
package operator

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/action"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/disk"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/env"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/manifest"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/render"
)

// maxFile is the largest of these files that is read, in bytes.
const maxFile = 1 << 20

// commands are the files for Claude Code's commands, without .md.
var commands = []string{"ap-doctor", "ap-update", "ap-preview", "ap-plan", "ap-deploy", "ap-status", "ap-diff", "ap-explain", "ap-evolve"}

// skillFile is where the skill is in a folder of skills.
var skillFile = filepath.Join("agentpack-operator", "SKILL.md")

// Check is what is looked for.
type Check struct {
	Env     env.Env
	Project string // the project's root
	Version string // the version that files have to be of
	Repo    string // as the caller named it; "" if not
	Machine string // likewise
}

// findings collects what is wrong.
type findings struct {
	Check
	warnings []string
	actions  []action.Action
}

// Run looks for the files of the targets and returns warnings, and the commands that put right what they say.
func (c Check) Run(targets []manifest.Target) ([]string, []action.Action) {
	found := &findings{Check: c}
	for _, target := range targets {
		for _, place := range []struct {
			scope   manifest.Scope
			allowed bool
		}{{manifest.ScopeUser, target.Scope.User()}, {manifest.ScopeProject, target.Scope.Project()}} {
			if place.allowed {
				found.target(target, place.scope)
			}
		}
	}
	return found.warnings, found.actions
}

// target looks at the files of one target in one place.
func (f *findings) target(target manifest.Target, scope manifest.Scope) {
	user := scope == manifest.ScopeUser
	switch target.Name {
	case manifest.Codex:
		home := filepath.Join(f.Project, ".codex")
		if user {
			home = render.CodexHome(f.Env, target)
		}
		f.skill(target.Name, scope, filepath.Join(home, "skills", skillFile))
	case manifest.ClaudeCode:
		base, option := f.Project, "write_repo_skills"
		if user {
			base, option = f.Env.Home, "write_user_skills"
		}
		f.commands(target.Name, scope, filepath.Join(base, ".claude", "commands"))
		if target.Options.Bool(option, false) {
			f.skill(target.Name, scope, filepath.Join(base, ".claude", "skills", skillFile))
		}
	}
}

// state is how one file is.
type state int

const (
	current state = iota
	missing
	unmarked // it does not say of which version it is
	outdated
)

// look returns how a file is and, if it is outdated, its version.
func (f *findings) look(path string) (state, string) {
	text, err := disk.Read(path, maxFile)
	if err != nil {
		return missing, ""
	}
	version, ok := marked(string(text))
	switch {
	case !ok:
		return unmarked, ""
	case version != f.Version:
		return outdated, version
	}
	return current, ""
}

// marked returns the version in the first line that has one.
func marked(text string) (string, bool) {
	for line := range strings.Lines(text) {
		if _, value, ok := strings.Cut(line, "agentpack_version:"); ok {
			value = strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(value), "-->"))
			return strings.Trim(value, `"'`), true
		}
	}
	return "", false
}

func (f *findings) skill(target string, scope manifest.Scope, path string) {
	switch state, version := f.look(path); state {
	case current:
		return
	case missing:
		f.warn("missing", target, scope, path)
	case unmarked:
		f.warn("outdated", target, scope, path+" does not say its agentpack_version")
	case outdated:
		f.warn("outdated", target, scope, fmt.Sprintf("%s is of version %.40s, not %s", path, version, f.Version))
	}
	f.bootstrap(target, scope)
}

func (f *findings) commands(target string, scope manifest.Scope, folder string) {
	files := map[state][]string{}
	for _, command := range commands {
		file := command + ".md"
		state, _ := f.look(filepath.Join(folder, file))
		files[state] = append(files[state], file)
	}
	if len(files[missing]) > 0 {
		f.warn("missing", target, scope, folder+" has no "+strings.Join(files[missing], ", "))
	}
	if len(files[unmarked]) > 0 {
		f.warn("outdated", target, scope, strings.Join(files[unmarked], ", ")+" in "+folder+" do not say their agentpack_version")
	}
	if len(files[outdated]) > 0 {
		f.warn("outdated", target, scope, strings.Join(files[outdated], ", ")+" in "+folder+" are not of version "+f.Version)
	}
	if len(files[missing])+len(files[unmarked]) > 0 {
		f.bootstrap(target, scope)
	}
}

func (f *findings) warn(how, target string, scope manifest.Scope, what string) {
	f.warnings = append(f.warnings, fmt.Sprintf("operator assets %s (%s/%s): %s", how, target, scope, what))
}

func (f *findings) bootstrap(target string, scope manifest.Scope) {
	command := action.Prefix(f.Repo, "", "", f.Machine) + " --target " + target + " bootstrap --scope " + string(scope) + " --yes --json"
	f.actions = append(f.actions, action.Action{Code: "bootstrap", Command: command})
}
