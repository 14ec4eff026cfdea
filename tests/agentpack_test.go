//go:build unix

package tests

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// initialized is the part of the response to initialize that clients depend on.
type initialized struct {
	Version string `json:"protocolVersion"`
	Server  struct {
		Name string `json:"name"`
	} `json:"serverInfo"`
	Capabilities map[string]any `json:"capabilities"`
}

// TestAgentpackNegotiatesProtocolVersion checks that the server answers with the requested version if it supports that
// version, else with its newest, and that it writes no log lines to stdout.
func TestAgentpackNegotiatesProtocolVersion(t *testing.T) {
	t.Parallel()
	for asked, want := range map[string]string{
		"2025-03-26": "2025-03-26", "2025-06-18": "2025-06-18",
		"1999-01-01": "2025-06-18", "2024-11-05": "2025-06-18", "2025-11-25": "2025-06-18", "": "2025-06-18",
	} {
		t.Run("asked for "+asked, func(t *testing.T) {
			s := startServer(t, programCommand(t, "serve", "--plugins", built.plugins(t), "--plugin", "agentpack", "--project", t.TempDir()))
			var answer struct {
				Result initialized `json:"result"`
			}
			line := s.ask(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":%q,"capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`, asked))
			if err := json.Unmarshal([]byte(line), &answer); err != nil {
				t.Fatal(err)
			}
			expected := initialized{Version: want, Capabilities: map[string]any{"tools": map[string]any{}}}
			expected.Server.Name = "agentpack"
			if diff := cmp.Diff(expected, answer.Result); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			s.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
			s.wantToolError("plan", `{}`, `"command":"plan"`, "HOME")
			s.wantToolError("rollback", `{}`, `"E_CONFIRM_REQUIRED"`)
			s.end()
			if !strings.Contains(s.log.String(), "bulkhead.agentpack") {
				t.Error("nothing was logged: the test does not show that stdout is free of log lines")
			}
		})
	}
}

// TestAgentpackEnvelopeReportsHostFailures checks that the envelope of a failure has the tool's command, which may differ
// from the tool's name.
func TestAgentpackEnvelopeReportsHostFailures(t *testing.T) {
	t.Parallel()
	p := newTestUser(t, agentpackRepo(manyPrompts, "v1\n"))
	p.plugins = copyPlugins(t, "agentpack")
	editFile(t, filepath.Join(p.plugins, "agentpack", "plugin.toml"), replaceOnce(`time       = "2m"`, `time       = "1ms"`))
	before := snapshot(t, p.home)
	s := p.serve("--plugin", "agentpack")
	for i, test := range []struct{ tool, arguments, command, id, path string }{
		{"plan", `{}`, "plan", "plan", `["plan"]`},
		{"deploy_apply", `{"yes":true,"confirm_token":"x","dry_run":true}`, "deploy", "deploy --apply", `["deploy","--apply"]`},
		{"evolve_propose", `{"dry_run":true}`, "evolve.propose", "evolve propose", `["evolve","propose"]`},
		{"evolve_restore", `{"dry_run":true}`, "evolve.restore", "evolve restore", `["evolve","restore"]`},
		{"explain", `{"kind":"diff"}`, "explain", "explain", `["explain"]`},
	} {
		envelope := fmt.Sprintf(`{"schema_version":1,"ok":false,"command":%q,"command_id":%q,"command_path":%s,"version":"0.9.1","data":{},"warnings":[],`+
			`"errors":[{"code":"E_UNEXPECTED","message":"%s ran past its time limit of 1ms","details":{"host_code":"timeout"}}]}`, test.command, test.id, test.path, test.tool)
		want := members{"jsonrpc": "2.0", "id": float64(i + 1), "result": members{
			"content": []any{members{"type": "text", "text": envelope}}, "structuredContent": decodeJSON(t, envelope), "isError": true,
			"_meta": members{"bulkhead/error": members{"code": "timeout", "plugin": "agentpack"}},
		}}
		if diff := cmp.Diff(any(want), decodeJSON(t, s.ask(callLine(i+1, test.tool, test.arguments)))); diff != "" {
			t.Errorf("%s (-want +got)\n%s", test.tool, diff)
		}
	}
	s.end()
	if diff := cmp.Diff(before, snapshot(t, p.home)); diff != "" {
		t.Errorf("something was written (-before +after)\n%s", diff)
	}
}

// serveAgentpack starts a server of agentpack with the directories that its manifest requests.
func (p *testUser) serveAgentpack() *server {
	p.t.Helper()
	config := p.path("bulkhead.toml")
	putFile(p.t, config, fmt.Sprintf("[[plugins]]\npath = %q\nenv = { HOME = \"${env:HOME}\" }\n", filepath.Join(p.plugins, "agentpack")))
	cmd := p.command("--plugin", "agentpack")
	cmd.Args[slices.Index(cmd.Args, "--config")+1] = config
	return startServer(p.t, cmd)
}

// TestAgentpackDeploysIntoFreshHome checks that a deploy creates absent directories that the manifest requests, and writes to
// the target of a requested directory that is a symbolic link.
func TestAgentpackDeploysIntoFreshHome(t *testing.T) {
	t.Parallel()
	files := agentpackRepo(1, "v1\n")
	const repo = "home/.agentpack/repo/"
	files[repo+"agentpack.yaml"] = strings.Replace(files[repo+"agentpack.yaml"], "modules:\n",
		"  claude_code: {mode: files, scope: user}\nmodules:\n  - {id: 'command:c', type: command, tags: [base], source: {local_path: {path: modules/c}}}\n", 1)
	files[repo+"modules/c/c.md"] = "---\ndescription: d\n---\nc\n"
	files["home/dotfiles/codex/own"] = ""
	p := newTestUser(t, files)
	if err := errors.Join(os.Remove(p.path("home/.codex")), os.Symlink("dotfiles/codex", p.path("home/.codex"))); err != nil {
		t.Fatal(err)
	}
	s := p.serveAgentpack()
	if e := s.agentpack("deploy_apply", confirmArguments(s.planDeploy(2))); !e.OK || !e.Data.Applied {
		t.Fatalf("%+v", e)
	}
	s.end()
	got := snapshot(t, p.home)
	if got[".claude/commands/c.md"] != files[repo+"modules/c/c.md"] || got["dotfiles/codex/prompts/prompt-000.md"] != "v1\n" {
		t.Errorf("got %q", got)
	}
	if target, err := os.Readlink(p.path("home/.codex")); err != nil || target != "dotfiles/codex" {
		t.Errorf("the link: %q, %v", target, err)
	}
}

// TestAgentpackReplacesLinksAndSharesLinkedDirectory has a link in a directory of codex, and a granted directory of
// claude_code that is a link to a directory of codex. The sandbox shows the latter as a directory.
func TestAgentpackReplacesLinksAndSharesLinkedDirectory(t *testing.T) {
	t.Parallel()
	const repo = "home/.agentpack/repo/"
	manifest := func(tags string) string {
		return "version: 1\nprofiles: {default: {include_tags: [" + tags + "]}}\ntargets:\n  codex: {mode: files, scope: user}\n" +
			"  claude_code: {mode: files, scope: user, options: {write_user_skills: true}}\nmodules:\n" +
			"  - {id: 'skill:s', type: skill, tags: [skill], source: {local_path: {path: modules/s}}}\n" +
			"  - {id: 'instructions:i', type: instructions, tags: [all], source: {local_path: {path: modules/i}}}\n"
	}
	const skill = "---\nname: s\ndescription: d\n---\n"
	p := newTestUser(t, map[string]string{
		repo + "agentpack.yaml": manifest("skill"), repo + "modules/s/SKILL.md": skill, repo + "modules/i/AGENTS.md": "theirs\n",
		"home/.codex/skills/own/SKILL.md": "own", "home/.codex/CLAUDE.md": "mine\n", "home/.claude/settings.json": "{}",
	})
	links := map[string]string{"home/.claude/skills": "../.codex/skills", "home/.codex/AGENTS.md": "CLAUDE.md"}
	for path, target := range links {
		if err := os.Symlink(target, p.path(path)); err != nil {
			t.Fatal(err)
		}
	}
	before := snapshot(t, p.home)
	s := p.serveAgentpack()
	deploy := func(changes int) string {
		t.Helper()
		e := s.agentpack("deploy_apply", jsonOf(t, members{"yes": true, "adopt": true, "confirm_token": s.planDeploy(changes)}))
		if !e.OK || !e.Data.Applied {
			t.Fatalf("%+v", e)
		}
		return e.Data.SnapshotID
	}
	first := deploy(2)
	putFile(t, p.path(repo+"agentpack.yaml"), manifest("skill, all"))
	deploy(1)
	if got := snapshot(t, p.home); got[".codex/AGENTS.md"] != "theirs\n" || got[".codex/CLAUDE.md"] != "mine\n" || got[".codex/skills/s/SKILL.md"] != skill {
		t.Errorf("got %q, %q and %q", got[".codex/AGENTS.md"], got[".codex/CLAUDE.md"], got[".codex/skills/s/SKILL.md"])
	}
	if e := s.agentpack("rollback", jsonOf(t, members{"to": first, "yes": true})); !e.OK {
		t.Fatalf("%+v", e)
	}
	s.end()
	after := snapshot(t, p.home)
	for _, path := range []string{".codex/AGENTS.md", ".codex/CLAUDE.md", ".codex/skills/own/SKILL.md"} {
		if after[path] != before[path] {
			t.Errorf("%s: got %q, want %q", path, after[path], before[path])
		}
	}
	for path, want := range links {
		if target, err := os.Readlink(p.path(path)); err != nil || target != want {
			t.Errorf("the link %s: %q, %v", path, target, err)
		}
	}
}

// TestAgentpackSkipsNamesThatAreNotUTF8 has such names in modules that are read on their own, and in modules that are read
// in one scan.
func TestAgentpackSkipsNamesThatAreNotUTF8(t *testing.T) {
	t.Parallel()
	for _, modules := range []int{1, 5} {
		p := newTestUser(t, agentpackRepo(modules, "v1\n"))
		for _, path := range []string{"home/.agentpack/repo/modules/prompt-000/x\xff.md", "home/.codex/prompts/y\xff.md"} {
			if err := os.MkdirAll(filepath.Dir(p.path(path)), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(p.path(path), []byte("x"), 0o644); err != nil {
				t.Skipf("this file system has no such names: %v", err)
			}
		}
		s := p.serveAgentpack()
		for _, tool := range []string{"plan", "status", "doctor"} {
			if e := s.agentpack(tool, `{}`); !e.OK || !strings.Contains(strings.Join(e.Warnings, "\n"), `x\xff.md" is left out`) {
				t.Errorf("%d modules: %s: %+v", modules, tool, e)
			}
		}
		if e := s.agentpack("deploy_apply", confirmArguments(s.planDeploy(modules))); !e.OK || !e.Data.Applied {
			t.Errorf("%d modules: %+v", modules, e)
		}
		if e := s.agentpack("status", `{}`); !e.OK || !strings.Contains(strings.Join(e.Warnings, "\n"), `y\xff.md" is not reported`) {
			t.Errorf("%d modules: status: %+v", modules, e)
		}
		s.end()
	}
}
