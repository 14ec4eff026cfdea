//go:build unix

package tests

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// TestServerOffersSkillsOfProject serves a project over stdio, in which skills appear and change while the server runs.
func TestServerOffersSkillsOfProject(t *testing.T) {
	t.Parallel()
	log := filepath.Join(t.TempDir(), "audit.jsonl")
	s := serveLive(t, strings.Replace(tables("hello"), "\n\n", "\nskills = [\"${project}/.claude/skills\"]\n\n", 1)+fmt.Sprintf("[audit]\nfile = %q\n", log))
	request := func(method, params string) string {
		t.Helper()
		return s.ask(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`, method, params))
	}
	if got := request("skills/list", `{}`); got != `{"jsonrpc":"2.0","id":1,"result":{"skills":[]}}` {
		t.Errorf("before there is a directory: %s", got)
	}
	changed := func(name, content string) {
		t.Helper()
		putFile(t, filepath.Join(s.dir, ".claude", "skills", name), content)
		if got := s.receive(); got != `{"jsonrpc":"2.0","method":"notifications/resources/list_changed"}` {
			t.Fatalf("got %s, want a notification", got)
		}
	}
	changed("rules/SKILL.md", "---\nname: rules\ndescription: Keep them.\n---\nBe brief.\n")
	if got := request("skills/list", `{}`); !strings.Contains(got, `{"uri":"skill://_project/rules/SKILL.md","frontmatter":{"name":"rules","description":"Keep them."},"resources":[{`) {
		t.Errorf("list: %s", got)
	}
	changed("rules/SKILL.md", "---\nname: rules\ndescription: Keep them.\n---\nBe very brief.\n")
	if got := request("resources/read", `{"uri":"skill://_project/rules/SKILL.md"}`); !strings.Contains(got, "Be very brief.") {
		t.Errorf("read: %s", got)
	}
	changed("broken/SKILL.md", "---\nname: broken\n---\n")
	if got := request("resources/list", `{}`); strings.Contains(got, "broken") || !strings.Contains(got, "skill://_project/rules/SKILL.md") {
		t.Errorf("resources: %s", got)
	}
	s.waitForLog("skills/broken: the skill is not offered: SKILL.md: the front matter has no string description", "remedy: correct it")
	s.mustCall("hello_greet", `{"name":"Ada"}`)
	s.end()

	found := false
	for line := range strings.Lines(readFile(t, log)) {
		var record struct{ Kind, Method, Tool, Plugin, Outcome string }
		if err := json.Unmarshal([]byte(line), &record); err != nil {
			t.Fatal(err)
		}
		found = found || record.Method == "resources/read" && record.Tool == "skill://_project/rules/SKILL.md" && record.Outcome == "ok" && record.Plugin == ""
	}
	if !found {
		t.Errorf("the audit log has no record of the skill: %s", readFile(t, log))
	}

	cmd := programCommand(t, "tools", "--config", s.config, "--project", s.dir, "--json")
	cmd.Dir = s.dir
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var tools struct {
		Skills struct {
			Skills   []string
			Problems []struct{ File, Problem, Remedy string }
		} `json:"project_skills"`
	}
	if err := json.Unmarshal(out, &tools); err != nil || len(tools.Skills.Skills) != 1 || tools.Skills.Skills[0] != "rules" || len(tools.Skills.Problems) != 1 ||
		tools.Skills.Problems[0].File != filepath.Join(s.dir, ".claude/skills/broken") {
		t.Errorf("tools: %+v, %v", tools, err)
	}
}
