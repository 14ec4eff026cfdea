package projectskills

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
)

func TestWatchedFollowsFiles(t *testing.T) {
	s, dir := newSource(t)
	s.Dirs = append(s.Dirs, config.SkillDir{Path: filepath.Join(dir, "absent")})
	s.Deny = []string{"**/hidden"}
	write := func(name, content string) { testenv.WriteFile(t, filepath.Join(dir, name), content) }
	var seen []string
	differs := func(what string, want bool) {
		t.Helper()
		_, state := s.watched()
		if known := slices.Contains(seen, state); known == want {
			t.Errorf("%s: the state differs: %v", what, !known)
		}
		seen = append(seen, state)
	}
	differs("an empty directory", true)
	write("skills/a/SKILL.md", "one")
	differs("a new skill", true)
	write("skills/a/.hidden", "")
	write("skills/a/hidden", "")
	write("skills/b/no-skill", "")
	write("other/b/SKILL.md", "")
	differs("files of no skill", false)
	write("skills/a/SKILL.md", "longer")
	differs("a changed file", true)
	old := time.Unix(1, 0)
	if err := os.Chtimes(filepath.Join(dir, "skills/a/SKILL.md"), old, old); err != nil {
		t.Fatal(err)
	}
	differs("another time", true)
	write("skills/a/more/x", "")
	differs("a file in a directory", true)
	var want []string
	for _, name := range []string{"skills", "skills/a", "skills/a/SKILL.md", "skills/a/more", "skills/a/more/x", "skills/b", "absent"} {
		want = append(want, filepath.Join(dir, name))
	}
	if got, _ := s.watched(); !slices.Equal(got, want) {
		t.Errorf("watched: %q", got)
	}
	for i := range maxWatched + 10 {
		write(fmt.Sprintf("skills/a/many/%04d", i), "")
	}
	if got, _ := s.watched(); len(got) != maxWatched {
		t.Errorf("%d paths are watched", len(got))
	}
}

// TestNothingBehindASymbolicLinkIsWatched has links in each place from which one could lead outside of the project.
func TestNothingBehindASymbolicLinkIsWatched(t *testing.T) {
	s, dir := newSource(t)
	outside := testenv.Tree(t, map[string]string{"b/SKILL.md": ""})
	writeSkill(t, dir, "a")
	for _, name := range []string{"linked", "skills/c", "skills/a/d"} {
		if err := os.Symlink(outside, filepath.Join(dir, name)); err != nil {
			t.Skip(err)
		}
	}
	for _, name := range []string{"linked", "linked/b"} {
		s.Dirs = append(s.Dirs, config.SkillDir{Path: filepath.Join(dir, name)})
	}
	want := []string{"skills", "skills/a", "skills/a/SKILL.md"}
	for i := range want {
		want[i] = filepath.Join(dir, want[i])
	}
	before, state := s.watched()
	if !slices.Equal(before, want) {
		t.Errorf("watched: %q", before)
	}
	testenv.WriteFile(t, filepath.Join(outside, "b/SKILL.md"), "changed")
	if _, now := s.watched(); now != state {
		t.Error("the state depends on files outside of the project")
	}
}
