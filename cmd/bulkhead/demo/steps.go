package demo

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// chapter is what is shown of one plugin.
type chapter struct {
	plugin string
	about  string
	steps  []step
}

// step is one request of the conversation and what it should come to. Exactly one of tool, prompt and resource
// says what is asked for.
type step struct {
	tool      string
	arguments map[string]any // "${name}" in a text stands for a value that is known by then
	prompt    string
	resource  string
	why       string            // for whoever reads along
	shows     []string          // members of the structured answer that are printed, by path; none: the text is
	says      []string          // in the answer
	refused   bool              // the answer is an error that the model reads
	keeps     map[string]string // members of the structured answer, by path, and the names under which they are known then
	check     func(dir string) error
}

// args shortens the table below.
type args = map[string]any

var story = []chapter{
	{"chant", "specs of what is to be done, in the project's folder .chant", []step{
		{tool: "chant_status", arguments: args{"brief": true}, says: []string{"1 pending | 1 completed | 1 blocked"}},
		{tool: "chant_finalize", arguments: args{"id": "003-m9c"}, why: "the plugin refuses, and the model reads why",
			says: []string{"Current status: Blocked"}, refused: true, check: holds("orchard/.chant/specs/2026-05-04-003-m9c.md", "\nstatus: pending\n")},
		{tool: "chant_spec_update", arguments: args{"id": "002-h2k", "status": "in_progress"}, why: "changes the file",
			says: []string{"2026-05-04-002-h2k"}, check: holds("orchard/.chant/specs/2026-05-04-002-h2k.md", "\nstatus: in_progress\n")},
		{tool: "chant_finalize", arguments: args{"id": "002-h2k"}, why: "all its criteria are ticked",
			says: []string{"2026-05-04-002-h2k"}, check: holds("orchard/.chant/specs/2026-05-04-002-h2k.md", "\nstatus: completed\n")},
	}},
	{"openspec", "what is required of a project now, and what is to become of that", []step{
		{tool: "openspec_validate", arguments: args{"name": "heed-the-forecast", "strict": true}, why: "a change that is proposed",
			shows: []string{"summary.totals"}, says: []string{`"passed":1`, `"failed":0`}},
		{tool: "openspec_archive", arguments: args{"name": "heed-the-forecast"}, why: "merges it into the spec, all of it or nothing",
			shows: []string{"archive.change", "archive.archivedAs"}, check: holds("orchard/openspec/specs/watering/spec.md", "### Requirement: Forecast")},
		{resource: "openspec://specs/watering", why: "a client can attach what is required now", says: []string{"### Requirement: Dry soil", "### Requirement: Forecast"}},
	}},
	{"mcpkg", "prompts and resources, kept for a project", []step{
		{tool: "create_prompt", arguments: args{"name": "harvest", "content": "Which apples are ripe today?"}, says: []string{"harvest"}},
		{prompt: "harvest", why: "from now on every client can offer it", says: []string{"Which apples are ripe today?"}},
	}},
	{"agentpack", "one repo of rules and prompts, for all coding agents of a person", []step{
		{tool: "deploy", arguments: args{}, why: "a plan to look at; nothing is written yet",
			shows: []string{"data.summary", "data.changes.0.path", "data.changes.1.path", "data.confirm_token_expires_at"},
			says:  []string{`"op":"create"`}, keeps: map[string]string{"data.confirm_token": "token"}, check: gone("home/.codex/prompts/standup.md")},
		{tool: "deploy_apply", arguments: args{"yes": true, "confirm_token": "${token}"}, why: "writes that plan and no other",
			shows: []string{"data.applied", "data.summary"}, says: []string{`"applied":true`}, check: holds("home/.codex/prompts/standup.md", "what is ripe today")},
		{tool: "deploy_apply", arguments: args{"yes": true, "confirm_token": "${token}"}, why: "a token is good for one use",
			shows: []string{"errors.0.code", "errors.0.message"}, says: []string{"E_CONFIRM_TOKEN_MISMATCH"}, refused: true},
	}},
	{"aam", "packages of skills and the like; its tools that write exist only on the admin's word", []step{
		{tool: "aam_registry_add", arguments: args{"name": "team", "url": "${registry}", "set_default": true},
			shows: []string{"name", "accessible"}, says: []string{`"accessible":true`}},
		{tool: "aam_create_package", arguments: args{"name": "orchard-kit", "description": "Care for apple trees"}, why: "of what it finds in the project",
			shows: []string{"artifacts_included"}, says: []string{`"skills":1`}, check: holds("orchard/aam.yaml", "orchard-kit")},
		{tool: "aam_publish", arguments: args{}, shows: []string{"package_name", "version", "registry"}, says: []string{`"version":"0.1.0"`},
			check: holds("home/registry/index.yaml", "orchard-kit")},
		{tool: "aam_install", arguments: args{"packages": []string{"orchard-kit"}}, why: "for Claude Code, as the project's configuration says",
			shows: []string{"installed.0.name", "installed.0.version", "installed.0.artifacts"}, says: []string{`"failed":[]`},
			check: holds("orchard/.claude/skills/prune/SKILL.md", "# Prune")},
		{resource: "aam://packages/installed", shows: []string{"0.name"}, says: []string{"orchard-kit"}},
		{tool: "aam_uninstall", arguments: args{"package_name": "orchard-kit"}, why: "takes away what was deployed, and no more",
			shows: []string{"files_removed"}, check: gone("orchard/.claude/skills/prune")},
	}},
}

// holds wants a file to have a text in it.
func holds(name, text string) func(string) error {
	return func(dir string) error {
		content, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
		if err == nil && !strings.Contains(string(content), text) {
			err = fmt.Errorf("%s does not say %q", name, text)
		}
		return err
	}
}

// gone wants nothing to be at a path.
func gone(name string) func(string) error {
	return func(dir string) error {
		if _, err := os.Lstat(filepath.Join(dir, filepath.FromSlash(name))); !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%s is there (%v)", name, err)
		}
		return nil
	}
}
