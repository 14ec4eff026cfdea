package config_test

import (
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
)

func TestSkillDirectories(t *testing.T) {
	for text, want := range map[string]string{
		`skills = ["${project}/.claude/skills", "/srv/skills", "${home}/skills", "${env:DIR}/skills"]`: "",
		`skills = []`:                        "",
		`skills = "x"`:                       "bulkhead.toml:2: server.skills: ",
		`skills = ["relative"]`:              `bulkhead.toml:2: server.skills[0]: "relative" `,
		`skills = ["/a", "/a"]`:              "server.skills[1]: ",
		`skills = ["${state}/skills"]`:       "${state}, which only plugins have",
		`skills = ["${nothing}/skills"]`:     "server.skills[0]: ",
		`skills = ["${project}/../outside"]`: "server.skills[0]: ",
		`skills = ["${env:ABSENT}/skills"]`:  "bulkhead.toml:2: server.skills[0]: the variable ABSENT is not set",
		`skills = ["${env:STATE}"]`:          "server.skills[0]: ",
		"skills = [" + manyDirs(17) + "]":    "has more than 16 directories",
	} {
		c, problems := config.Parse("bulkhead.toml", []byte("[server]\n"+onHost(text)+"\n[[plugins]]\npath = \"x\"\n"))
		if problems.Err() == nil {
			problems = config.Expand(c, func(name string) (string, bool) {
				value, found := map[string]string{"DIR": hostPath("/dir"), "STATE": "${state}"}[name]
				return value, found
			})
		}
		switch err := problems.Err(); {
		case want == "" && err != nil, want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: got %v, want %q", text, err, want)
		case want == "" && len(c.Skills) == 4 && c.Skills[3].Path != hostPath("/dir/skills"):
			t.Errorf("%s: %+v", text, c.Skills)
		}
	}
}

func manyDirs(n int) string {
	var items []string
	for i := range n {
		items = append(items, `"/`+strings.Repeat("a", i+1)+`"`)
	}
	return strings.Join(items, ",")
}

func TestDecideSkills(t *testing.T) {
	places := config.Places{Project: hostPath("/home/me/work"), Home: hostPath("/home/me"), NoProject: "why"}
	dirs := []config.SkillDir{{Path: "${project}/skills", Key: "server.skills[0]"}, {Path: hostPath("/home/me/work/skills")}, {Path: hostPath("/home"), Key: "server.skills[2]"}, {Path: "${home}"}, {Path: hostPath("/srv")}}
	got, problems := config.DecideSkills(dirs, config.Defaults{Deny: []string{"x"}}, places)
	if len(got.Dirs) != 2 || got.Dirs[0].Path != hostPath("/home/me/work/skills") || got.Dirs[1].Path != hostPath("/srv") || len(got.Deny) != 1 {
		t.Errorf("got %+v", got)
	}
	if len(problems) != 2 || !strings.Contains(problems.Error(), "server.skills[2]: "+hostPath("/home")+" is the root directory, or contains the home directory") {
		t.Errorf("problems: %v", problems)
	}
	places.Project = ""
	if got, problems = config.DecideSkills(dirs[:1], config.Defaults{}, places); len(got.Dirs) != 0 || !strings.Contains(problems.Error(), "the project has no skills: why") {
		t.Errorf("without a project: %+v, %v", got, problems)
	}
}
