package projectskills

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
	"github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/skills"
)

// newSource returns the Source of a new directory, and the directory.
func newSource(t *testing.T) (Source, string) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := Source{places: config.Places{Project: dir}}
	s.Dirs = []config.SkillDir{{Path: filepath.Join(dir, "skills"), File: "bulkhead.toml", Key: "server.skills[0]", Line: 3}}
	testenv.WriteFile(t, filepath.Join(dir, "skills/.keep"), "")
	return s, dir
}

func writeSkill(t *testing.T, dir, name string) {
	t.Helper()
	testenv.WriteFile(t, filepath.Join(dir, "skills", name, "SKILL.md"), "---\nname: "+name+"\ndescription: d\n---\n")
}

// names returns the names of skills.
func names(list []*skills.Skill) (out []string) {
	for _, s := range list {
		out = append(out, s.Name)
	}
	return out
}

// wantProblem checks that exactly n problems contain a text.
func wantProblem(t *testing.T, ps tomlfile.Problems, n int, text string) {
	t.Helper()
	got := 0
	for _, p := range ps {
		if strings.Contains(p.String(), text) && p.Warning && p.Remedy != "" {
			got++
		}
	}
	if got != n {
		t.Errorf("%d problems contain %q, want %d: %.2000s", got, text, n, ps.Error())
	}
}

// TestListIsBounded checks that skills are not read without end, whether or not they can be offered.
func TestListIsBounded(t *testing.T) {
	t.Run("number", func(t *testing.T) {
		s, dir := newSource(t)
		for i := range maxSkills / 2 {
			writeSkill(t, dir, fmt.Sprintf("a%02d", i))
			testenv.WriteFile(t, filepath.Join(dir, fmt.Sprintf("skills/b%02d/SKILL.md", i)), "malformed")
		}
		writeSkill(t, dir, "c")
		list, problems := s.List(t.Context())
		if len(list) != maxSkills/2 || slices.Contains(names(list), "c") {
			t.Errorf("got %q", names(list))
		}
		wantProblem(t, problems, 1, "c: the skill is not listed, since the project has 64 before it")
		wantProblem(t, problems, maxSkills/2, "no front matter")
	})
	t.Run("directories that are no skills", func(t *testing.T) {
		s, dir := newSource(t)
		for i := range 2 * maxSkills {
			testenv.WriteFile(t, filepath.Join(dir, fmt.Sprintf("skills/a%d/x", i)), "")
		}
		writeSkill(t, dir, "b")
		if list, _ := s.List(t.Context()); !slices.Equal(names(list), []string{"b"}) {
			t.Errorf("got %q", names(list))
		}
	})
	t.Run("bytes", func(t *testing.T) {
		s, dir := newSource(t)
		for _, name := range []string{"a", "b", "c", "d"} {
			writeSkill(t, dir, name)
			for i := range 4 {
				testenv.WriteFile(t, filepath.Join(dir, fmt.Sprintf("skills/%s/f%d", name, i)), "")
				if err := os.Truncate(filepath.Join(dir, "skills", name, fmt.Sprintf("f%d", i)), skills.MaxFile-1<<10); err != nil {
					t.Fatal(err)
				}
			}
		}
		testenv.WriteFile(t, filepath.Join(dir, "skills/a/too-much"), strings.Repeat("x", 8<<10)) // fails, and counts nevertheless
		list, problems := s.List(t.Context())
		if got := names(list); !slices.Equal(got, []string{"b", "c"}) {
			t.Errorf("got %q", got)
		}
		wantProblem(t, problems, 1, "d: the skill is not listed, since the files of those before it have 32 MiB")
		wantProblem(t, problems, 1, "its files have more than 16 MiB")
	})
	t.Run("entries", func(t *testing.T) {
		s, dir := newSource(t)
		writeSkill(t, dir, "a")
		for i := range 4 * skills.MaxFiles {
			testenv.WriteFile(t, filepath.Join(dir, fmt.Sprintf("skills/f%d", i)), "")
		}
		list, problems := s.List(t.Context())
		if len(list) != 0 {
			t.Errorf("got %q", names(list))
		}
		wantProblem(t, problems, 1, "bulkhead.toml:3: server.skills[0]: ")
	})
	t.Run("problems", func(t *testing.T) {
		s, dir := newSource(t)
		for i := range 2 * maxProblems {
			testenv.WriteFile(t, filepath.Join(dir, fmt.Sprintf("skills/Bad%d/x", i)), "")
		}
		_, problems := s.List(t.Context())
		if len(problems) != maxProblems+1 {
			t.Errorf("%d problems", len(problems))
		}
		wantProblem(t, problems, 1, "64 more problems of skills are not shown")
	})
}

// TestOpenFindsWhatListReads checks that both decide for the same directory if two have a skill of one name.
func TestOpenFindsWhatListReads(t *testing.T) {
	s, dir := newSource(t)
	s.Dirs = append(s.Dirs, config.SkillDir{Path: filepath.Join(dir, "more/skills")}, config.SkillDir{Path: filepath.Join(dir, "absent")})
	writeSkill(t, dir, "first")
	writeSkill(t, dir+"/more", "first")
	writeSkill(t, dir+"/more", "second")
	testenv.WriteFile(t, filepath.Join(dir, "skills/broken/SKILL.md"), "malformed")
	writeSkill(t, dir+"/more", "broken")
	testenv.WriteFile(t, filepath.Join(dir, "skills/empty/x"), "")
	writeSkill(t, dir+"/more", "empty")
	testenv.WriteFile(t, filepath.Join(dir, "skills/first/own"), "")
	list, problems := s.List(t.Context())
	if got := names(list); !slices.Equal(got, []string{"first", "empty", "second"}) {
		t.Errorf("got %q", got)
	}
	wantProblem(t, problems, 2, "which the config names first, has one of this name")
	wantProblem(t, problems, 1, "empty: the skill is not offered: there is no SKILL.md")
	for name, files := range map[string]int{"first": 2, "second": 1, "broken": -1, "empty": 1, "none": 0} {
		opened, err := s.Open(name)
		if err != nil || (opened == nil) != (name == "none") {
			t.Fatalf("%s: %v, %v", name, opened, err)
		}
		if opened == nil {
			continue
		}
		defer opened.Close()
		loaded, err := opened.Load(t.Context())
		if (err != nil) != (files < 0) || err == nil && len(loaded.Files) != files {
			t.Errorf("%s: %+v, %v", name, loaded, err)
		}
	}
}

func TestListStopsWhenItIsCancelled(t *testing.T) {
	s, dir := newSource(t)
	writeSkill(t, dir, "a")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if list, _ := s.List(ctx); len(list) != 0 {
		t.Errorf("got %q", names(list))
	}
}
