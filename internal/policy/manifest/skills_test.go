package manifest_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
)

func TestParseReadsSkills(t *testing.T) {
	digest := strings.Repeat("a", 64)
	m, problems := manifest.Parse("plugin.toml", []byte(small+"[[skills]]\npath = 'skills/take-notes'\nsha256 = '"+digest+"'\n[[skills]]\npath = 'tidy'\n"))
	if problems != nil {
		t.Fatal(problems)
	}
	want := []manifest.Skill{{Path: "skills/take-notes", Name: "take-notes", SHA256: digest, Line: 12}, {Path: "tidy", Name: "tidy", Line: 15}}
	if fmt.Sprint(m.Skills) != fmt.Sprint(want) {
		t.Errorf("got %v, want %v", m.Skills, want)
	}
	if s, found := m.Skill("tidy"); !found || s.Path != "tidy" {
		t.Errorf("got %v, %v", s, found)
	}
}

func TestParseRefusesSkills(t *testing.T) {
	many := ""
	for i := range 65 {
		many += fmt.Sprintf("[[skills]]\npath = 's%d'\n", i)
	}
	for text, want := range map[string]string{
		"[[skills]]\n":                                         "12: skills[0].path: is missing",
		"[[skills]]\npath = '../x'\n":                          "13: skills[0].path: \"../x\" is not a clean relative path",
		"[[skills]]\npath = '/x'\n":                            "is not a clean relative path",
		"[[skills]]\npath = 'a//x'\n":                          "is not a clean relative path",
		"[[skills]]\npath = '.'\n":                             "is not a clean relative path",
		"[[skills]]\npath = '.hidden/x'\n":                     "is not a clean relative path",
		"[[skills]]\npath = 'a\\\\x'\n":                        "is not a clean relative path",
		"[[skills]]\npath = 'My-Skill'\n":                      `ends in "My-Skill", which is not a valid name of a skill`,
		"[[skills]]\npath = 'a--b'\n":                          "is not a valid name of a skill",
		"[[skills]]\npath = 'a-'\n":                            "is not a valid name of a skill",
		"[[skills]]\npath = 'a'\nsha256 = 'x'\n":               "sha256: is not a SHA-256 in hex",
		"[[skills]]\npath = 'a'\nname = 'a'\n":                 "14: skills[0].name: is not a known key",
		"[[skills]]\npath = 'a/x'\n[[skills]]\npath = 'b/x'\n": "is the name of the skill in line 12",
		many: "is one of more than 64 skills",
		"[offers]\nresources = ['skill://notes/x']\n[[skills]]\npath = 'x'\n": "13: offers.resources[0]: \"skill://notes/x\" overlaps with skill://notes/",
		"[offers]\nresources = ['skill://']\n[[skills]]\npath = 'x'\n":        "overlaps with skill://notes/",
	} {
		_, problems := manifest.Parse("plugin.toml", []byte(small+text))
		if err := problems.Err(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.200q: got %v, want %q", text, err, want)
		}
	}
}
