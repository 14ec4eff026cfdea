package module_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/config"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/fault"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/module"
)

// ready composes a module of the type kind that consists of the given files.
func ready(t *testing.T, kind config.Type, files map[string]string) (*module.Ready, error) {
	t.Helper()
	repo := t.TempDir()
	for path, content := range files {
		at := filepath.Join(repo, "m", path)
		testenv.WriteFile(t, at, content)
	}
	composer := module.Composer{Sources: module.Sources{Repo: repo}}
	return composer.Ready(config.Module{ID: "x:m", Type: kind, Local: &config.Local{Path: "m"}})
}

func TestReadyValidatesType(t *testing.T) {
	const skill = "---\nname: a\ndescription: b\n---\n"
	tests := []struct {
		name    string
		kind    config.Type
		files   map[string]string
		code    fault.Code    // the code of the expected fault; "" for a valid module
		details fault.Details // a subset of the expected details
	}{
		{"instructions", config.Instructions, map[string]string{"AGENTS.md": "", "more.txt": ""}, "", nil},
		{"instructions without AGENTS.md", config.Instructions, map[string]string{"sub/AGENTS.md": ""}, fault.Unexpected, nil},
		{"a skill", config.Skill, map[string]string{"SKILL.md": skill, "x/y.bin": "\xff"}, "", nil},
		{"a skill with CRLF", config.Skill, map[string]string{"SKILL.md": strings.ReplaceAll(skill, "\n", "\r\n")}, "", nil},
		{"a skill without SKILL.md", config.Skill, map[string]string{"skill.md": skill}, fault.ConfigInvalid, fault.Details{"module_id": "x:m", "path": "SKILL.md"}},
		{"a skill without front matter", config.Skill, map[string]string{"SKILL.md": "# a\n"}, fault.ConfigInvalid, fault.Details{"module_id": "x:m", "path": "SKILL.md"}},
		{"a skill with unterminated front matter", config.Skill, map[string]string{"SKILL.md": "---\nname: a\n"}, fault.ConfigInvalid, fault.Details{"module_id": "x:m"}},
		{"a skill whose front matter is a list", config.Skill, map[string]string{"SKILL.md": "---\n- a\n---\n"}, fault.ConfigInvalid, fault.Details{"module_id": "x:m"}},
		{"a skill without description", config.Skill, map[string]string{"SKILL.md": "---\nname: a\n---\n"}, fault.ConfigInvalid, fault.Details{"missing": []string{"description"}}},
		{"a skill without anything", config.Skill, map[string]string{"SKILL.md": "---\nx: a\n---\n"}, fault.ConfigInvalid, fault.Details{"missing": []string{"name", "description"}}},
		{"a skill with a blank description", config.Skill, map[string]string{"SKILL.md": "---\nname: a\ndescription: ' '\n---\n"}, fault.ConfigInvalid, fault.Details{"field": "description"}},
		{"a skill whose name is a number", config.Skill, map[string]string{"SKILL.md": "---\nname: 5\ndescription: b\n---\n"}, fault.ConfigInvalid, fault.Details{"field": "name"}},
		{"a prompt", config.Prompt, map[string]string{"p.md": ""}, "", nil},
		{"a prompt in a subdirectory", config.Prompt, map[string]string{"sub/p.md": ""}, "", nil},
		{"a prompt of two files", config.Prompt, map[string]string{"p.md": "", "q.md": ""}, fault.Unexpected, nil},
		{"a prompt without files", config.Prompt, map[string]string{".git/p.md": ""}, fault.Unexpected, nil},
		{"a prompt with another suffix", config.Prompt, map[string]string{"p.txt": ""}, fault.Unexpected, nil},
		{"a command", config.Command, map[string]string{"c.md": "---\ndescription: d\n---\n"}, "", nil},
		{"a command without front matter", config.Command, map[string]string{"c.md": "do"}, fault.Unexpected, nil},
		{"a command with a blank description", config.Command, map[string]string{"c.md": "---\ndescription: ''\n---\n"}, fault.Unexpected, nil},
		{"a command that runs bash without permission", config.Command, map[string]string{"c.md": "---\ndescription: d\n---\n!bash\n"}, fault.Unexpected, nil},
		{"a command that runs bash in quotes without permission", config.Command, map[string]string{"c.md": "---\ndescription: d\nallowed-tools: Read\n---\n!`bash` x\n"}, fault.Unexpected, nil},
		{"a command with permission in a string", config.Command, map[string]string{"c.md": "---\ndescription: d\nallowed-tools: Read, Bash(\"git status\")\n---\n!bash\n"}, "", nil},
		{"a command with permission in a list", config.Command, map[string]string{"c.md": "---\ndescription: d\nallowed-tools: [Read, 5, 'Bash(ls)']\n---\n!bash\n"}, "", nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := ready(t, test.kind, test.files)
			if test.code == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if err == nil {
				t.Fatal("accepted")
			}
			got := fault.Of(err)
			if got.Code != test.code || !strings.Contains(got.Message, "x:m") {
				t.Errorf("got %s %s", got.Code, got.Message)
			}
			for key, want := range test.details {
				if diff := cmp.Diff(want, got.Details[key]); diff != "" {
					t.Errorf("%s (-want +got)\n%s", key, diff)
				}
			}
		})
	}
}

func TestReadyWithSymlinks(t *testing.T) {
	repo := t.TempDir()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.MkdirAll(filepath.Join(repo, "real", "sub"), 0o755))
	must(os.WriteFile(filepath.Join(repo, "real", "AGENTS.md"), []byte("text"), 0o644))
	must(os.Symlink("real", filepath.Join(repo, "alias")))
	must(os.Symlink("AGENTS.md", filepath.Join(repo, "real", "copy.md")))
	read := func(path string) (*module.Ready, error) {
		composer := module.Composer{Sources: module.Sources{Repo: repo}}
		return composer.Ready(config.Module{ID: "a", Type: config.Instructions, Local: &config.Local{Path: path}})
	}
	got, err := read("alias")
	if err != nil || string(got.Files["copy.md"]) != "text" {
		t.Errorf("a link to the module's directory, and one to a file in it: got %v, %v", got, err)
	}
	must(os.Symlink("sub", filepath.Join(repo, "real", "folder")))
	if _, err := read("real"); err == nil || !strings.Contains(err.Error(), "symbolic link to a directory") {
		t.Errorf("a link to a directory in it: got %v", err)
	}
	if _, err := read(filepath.Join(repo, "none")); err == nil {
		t.Error("Read returned a module that does not exist")
	}
}
