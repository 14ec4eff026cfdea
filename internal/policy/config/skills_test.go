package config

import (
	"strings"
	"testing"
)

func TestSkillDirectories(t *testing.T) {
	for text, want := range map[string]string{
		`skills = ["${project}/.claude/skills", "/srv/skills", "${home}/skills", "${env:DIR}/skills"]`: "",
		`skills = []`:                                 "",
		`skills = "x"`:                                "bulkhead.toml:2: server.skills: ",
		`skills = ["relative"]`:                       `bulkhead.toml:2: server.skills[0]: "relative" `,
		`skills = ["/a", "/a"]`:                       "server.skills[1]: ",
		`skills = ["${state}/skills"]`:                "${state}, which only plugins have",
		`skills = ["${nothing}/skills"]`:              "server.skills[0]: ",
		`skills = ["${project}/../outside"]`:          "server.skills[0]: ",
		`skills = ["${env:ABSENT}/skills"]`:           "bulkhead.toml:2: server.skills[0]: the variable ABSENT is not set",
		`skills = ["${env:STATE}"]`:                   "server.skills[0]: ",
		"skills = [" + manyDirs(maxSkillDirs+1) + "]": "has more than 16 directories",
	} {
		c, problems := Parse("bulkhead.toml", []byte("[server]\n"+text+"\n[[plugins]]\npath = \"x\"\n"))
		if problems.Err() == nil {
			problems = Expand(c, func(name string) (string, bool) {
				value, found := map[string]string{"DIR": "/dir", "STATE": "${state}"}[name]
				return value, found
			})
		}
		switch err := problems.Err(); {
		case want == "" && err != nil, want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: got %v, want %q", text, err, want)
		case want == "" && len(c.Skills) == 4 && c.Skills[3].Path != "/dir/skills":
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
	places := Places{Project: "/home/me/work", Home: "/home/me", NoProject: "why"}
	dirs := []SkillDir{{Path: "${project}/skills", Key: "server.skills[0]"}, {Path: "/home/me/work/skills"}, {Path: "/home", Key: "server.skills[2]"}, {Path: "${home}"}, {Path: "/srv"}}
	got, problems := DecideSkills(dirs, Defaults{Deny: []string{"x"}}, places)
	if len(got.Dirs) != 2 || got.Dirs[0].Path != "/home/me/work/skills" || got.Dirs[1].Path != "/srv" || len(got.Deny) != 1 {
		t.Errorf("got %+v", got)
	}
	if len(problems) != 2 || !strings.Contains(problems.Error(), "server.skills[2]: /home is the root directory, or contains the home directory") {
		t.Errorf("problems: %v", problems)
	}
	places.Project = ""
	if got, problems = DecideSkills(dirs[:1], Defaults{}, places); len(got.Dirs) != 0 || !strings.Contains(problems.Error(), "the project has no skills: why") {
		t.Errorf("without a project: %+v, %v", got, problems)
	}
}
