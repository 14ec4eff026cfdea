package demo

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// chapter is the part of the conversation about one plugin.
type chapter struct {
	plugin string
	about  string
	steps  []step
}

// step is one request of the conversation and the expected answer. Exactly one of tool, prompt and resource is set.
type step struct {
	tool      string
	arguments map[string]any // a string value "${name}" is replaced by a saved value
	prompt    string
	resource  string
	comment   string                 // printed below the request
	shows     []string               // paths of the members of the structured answer to print; nil prints the text
	contains  []string               // expected substrings of the answer
	isError   bool                   // the tool is expected to answer with an error
	saves     map[string]string      // paths of members of the structured answer to save, and their names
	check     func(dir string) error // checks the files in the workspace
}

// args abbreviates the type in the table below.
type args = map[string]any

var chapters = []chapter{
	{"chant", "specs of planned work, in the project's directory .chant", []step{
		{tool: "chant_status", arguments: args{"brief": true}, contains: []string{"1 pending | 1 completed | 1 blocked"}},
		{tool: "chant_finalize", arguments: args{"id": "003-m9c"}, comment: "the plugin refuses, and the model reads the reason",
			contains: []string{"Current status: Blocked"}, isError: true, check: fileContains("orchard/.chant/specs/2026-05-04-003-m9c.md", "\nstatus: pending\n")},
		{tool: "chant_spec_update", arguments: args{"id": "002-h2k", "status": "in_progress"}, comment: "changes the file",
			contains: []string{"2026-05-04-002-h2k"}, check: fileContains("orchard/.chant/specs/2026-05-04-002-h2k.md", "\nstatus: in_progress\n")},
		{tool: "chant_finalize", arguments: args{"id": "002-h2k"}, comment: "all its acceptance criteria are checked",
			contains: []string{"2026-05-04-002-h2k"}, check: fileContains("orchard/.chant/specs/2026-05-04-002-h2k.md", "\nstatus: completed\n")},
	}},
	{"openspec", "the requirements of a project, and proposed changes to them", []step{
		{tool: "openspec_validate", arguments: args{"name": "heed-the-forecast", "strict": true}, comment: "validates a proposed change",
			shows: []string{"summary.totals"}, contains: []string{`"passed":1`, `"failed":0`}},
		{tool: "openspec_archive", arguments: args{"name": "heed-the-forecast"}, comment: "merges it into the spec, in one transaction",
			shows: []string{"archive.change", "archive.archivedAs"}, check: fileContains("orchard/openspec/specs/watering/spec.md", "### Requirement: Forecast")},
		{resource: "openspec://specs/watering", comment: "a client can attach the current requirements", contains: []string{"### Requirement: Dry soil", "### Requirement: Forecast"}},
	}},
	{"mcpkg", "prompts and resources, stored per project", []step{
		{tool: "create_prompt", arguments: args{"name": "harvest", "content": "Which apples are ripe today?"}, contains: []string{"harvest"}},
		{prompt: "harvest", comment: "every client can offer it now", contains: []string{"Which apples are ripe today?"}},
	}},
	{"agentpack", "one repository of rules and prompts for all coding agents of a user", []step{
		{tool: "deploy", arguments: args{}, comment: "a plan to review; it writes nothing",
			shows:    []string{"data.summary", "data.changes.0.path", "data.changes.1.path", "data.confirm_token_expires_at"},
			contains: []string{`"op":"create"`}, saves: map[string]string{"data.confirm_token": "token"}, check: notExists("home/.codex/prompts/standup.md")},
		{tool: "deploy_apply", arguments: args{"yes": true, "confirm_token": "${token}"}, comment: "executes exactly that plan",
			shows: []string{"data.applied", "data.summary"}, contains: []string{`"applied":true`}, check: fileContains("home/.codex/prompts/standup.md", "what is ripe today")},
		{tool: "deploy_apply", arguments: args{"yes": true, "confirm_token": "${token}"}, comment: "a token is valid once",
			shows: []string{"errors.0.code", "errors.0.message"}, contains: []string{"E_CONFIRM_TOKEN_MISMATCH"}, isError: true},
	}},
	{"aam", "packages of skills, agents and prompts; its write tools require allow_write", []step{
		{tool: "aam_registry_add", arguments: args{"name": "team", "url": "${registry}", "set_default": true},
			shows: []string{"name", "accessible"}, contains: []string{`"accessible":true`}},
		{tool: "aam_create_package", arguments: args{"name": "orchard-kit", "description": "Care for apple trees"}, comment: "from the skills in the project",
			shows: []string{"artifacts_included"}, contains: []string{`"skills":1`}, check: fileContains("orchard/aam.yaml", "orchard-kit")},
		{tool: "aam_publish", arguments: args{}, shows: []string{"package_name", "version", "registry"}, contains: []string{`"version":"0.1.0"`},
			check: fileContains("home/registry/index.yaml", "orchard-kit")},
		{tool: "aam_install", arguments: args{"packages": []string{"orchard-kit"}}, comment: "deploys to Claude Code, as configured in the project",
			shows: []string{"installed.0.name", "installed.0.version", "installed.0.artifacts"}, contains: []string{`"failed":[]`},
			check: fileContains("orchard/.claude/skills/prune/SKILL.md", "# Prune")},
		{resource: "aam://packages/installed", shows: []string{"0.name"}, contains: []string{"orchard-kit"}},
		{tool: "aam_uninstall", arguments: args{"package_name": "orchard-kit"}, comment: "removes only the files that it deployed",
			shows: []string{"files_removed"}, check: notExists("orchard/.claude/skills/prune")},
	}},
}

// fileContains checks that a file contains text.
func fileContains(name, text string) func(string) error {
	return func(dir string) error {
		content, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
		if err == nil && !strings.Contains(string(content), text) {
			err = fmt.Errorf("%s does not contain %q", name, text)
		}
		return err
	}
}

// notExists checks that a path does not exist.
func notExists(name string) func(string) error {
	return func(dir string) error {
		if _, err := os.Lstat(filepath.Join(dir, filepath.FromSlash(name))); !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%s exists (%v)", name, err)
		}
		return nil
	}
}
