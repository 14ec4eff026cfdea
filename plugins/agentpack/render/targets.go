package render

import (
	"path/filepath"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"

	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/config"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/env"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/module"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/output"
)

// CodexHome returns the home directory of Codex: the value of the target's option codex_home, or else of the variable
// CODEX_HOME, or else ~/.codex.
func CodexHome(at env.Env, codex config.Target) string {
	home := codex.Options.Text("codex_home")
	if home == "" {
		home = strings.TrimSpace(at.Var("CODEX_HOME"))
	}
	if home == "" {
		home = "~/.codex"
	}
	return at.AbsolutePath(home)
}

func (r *renderer) codex() error {
	instructions, err := r.modules(config.Instructions)
	if err != nil {
		return err
	}
	skills, err := r.modules(config.Skill)
	if err != nil {
		return err
	}
	home := CodexHome(r.Env, r.target)
	if r.target.Scope.User() && r.on("write_agents_global", true) {
		if err := r.aggregate(filepath.Join(r.root(home, false), "AGENTS.md"), instructions); err != nil {
			return err
		}
	}
	if r.target.Scope.User() && r.on("write_user_prompts", true) {
		if err := r.prompts(filepath.Join(home, "prompts"), sameName); err != nil {
			return err
		}
	}
	if r.target.Scope.User() && r.on("write_user_skills", true) {
		if err := r.skills(r.root(filepath.Join(home, "skills"), true), skills); err != nil {
			return err
		}
	}
	if r.target.Scope.Project() && r.on("write_agents_repo_root", true) {
		if err := r.aggregate(filepath.Join(r.root(r.Project, false), "AGENTS.md"), instructions); err != nil {
			return err
		}
	}
	if r.target.Scope.Project() && r.on("write_repo_skills", true) {
		return r.skills(r.root(filepath.Join(r.Project, ".codex", "skills"), true), skills)
	}
	return nil
}

// prompts adds all prompts to a directory that is scanned for unmanaged files.
func (r *renderer) prompts(dir string, rename func(string) string) error {
	prompts, err := r.modules(config.Prompt)
	if err != nil {
		return err
	}
	return r.files(r.root(dir, true), prompts, rename)
}

func (r *renderer) claudeCode() error {
	commands, err := r.modules(config.Command)
	if err != nil {
		return err
	}
	for _, place := range []struct {
		allowed bool
		option  string
		base    string
	}{
		{r.target.Scope.User(), "user", r.Env.Home},
		{r.target.Scope.Project(), "repo", r.Project},
	} {
		if !place.allowed {
			continue
		}
		if r.on("write_"+place.option+"_commands", true) {
			if err := r.files(r.root(filepath.Join(place.base, ".claude", "commands"), true), commands, sameName); err != nil {
				return err
			}
		}
		if !r.on("write_"+place.option+"_skills", false) {
			continue
		}
		skills, err := r.modules(config.Skill)
		if err != nil {
			return err
		}
		if err := r.skills(r.root(filepath.Join(place.base, ".claude", "skills"), true), skills); err != nil {
			return err
		}
	}
	return nil
}

func (r *renderer) cursor() error {
	if !r.target.Scope.Project() || !r.on("write_rules", true) {
		return nil
	}
	root := r.root(filepath.Join(r.Project, ".cursor", "rules"), true)
	instructions, err := r.modules(config.Instructions)
	if err != nil {
		return err
	}
	for _, ready := range instructions {
		id := ready.Module.ID
		rule := withFinalNewline(append(CursorHeader(id), ready.Files[module.InstructionsFile]...))
		origin := output.Origin{Module: id, Path: module.InstructionsFile}
		if err := r.add(filepath.Join(root, env.ModuleKey(id)+".mdc"), rule, origin); err != nil {
			return err
		}
	}
	return nil
}

// CursorHeader returns the generated header of a Cursor rule, which precedes the instructions of a module.
func CursorHeader(id string) []byte {
	header := rawjson.AppendQuote([]byte("---\ndescription: "), "agentpack: "+id)
	return append(header, "\nglobs: []\nalwaysApply: true\n---\n\n"...)
}

func (r *renderer) vscode() error {
	instructions, err := r.modules(config.Instructions)
	if err != nil || !r.target.Scope.Project() {
		return err
	}
	github := filepath.Join(r.Project, ".github")
	if r.on("write_instructions", true) {
		if err := r.aggregate(filepath.Join(r.root(github, false), "copilot-instructions.md"), instructions); err != nil {
			return err
		}
	}
	if r.on("write_prompts", true) {
		return r.prompts(filepath.Join(github, "prompts"), promptName)
	}
	return nil
}
