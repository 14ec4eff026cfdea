package discovery

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

func TestSkillsStateFollowsFiles(t *testing.T) {
	dir := t.TempDir()
	write := func(name, content string) { testenv.WriteFile(t, filepath.Join(dir, name), content) }
	f := &Found{Places: config.Places{Project: dir}}
	if f.skillFiles().state() != "" || f.watchedSkills() != nil {
		t.Error("a config without the key has a state")
	}
	f.SkillDirs = []config.SkillDir{{Path: "${project}/skills"}, {Path: "${project}/absent"}}
	seen := []string{f.skillFiles().state()}
	differs := func(what string, want bool) {
		t.Helper()
		state := f.skillFiles().state()
		if known := slices.Contains(seen, state); known == want {
			t.Errorf("%s: the state differs: %v", what, !known)
		}
		seen = append(seen, state)
	}
	write("skills/a/SKILL.md", "one")
	differs("a new skill", true)
	write("skills/a/.hidden", "")
	write("other/b/SKILL.md", "")
	differs("files of no skill", false)
	write("skills/a/SKILL.md", "longer")
	differs("a changed file", true)
	old := time.Unix(1, 0)
	if err := os.Chtimes(filepath.Join(dir, "skills/a/SKILL.md"), old, old); err != nil {
		t.Fatal(err)
	}
	differs("another time", true)
	var want []string
	for _, name := range []string{"skills", "skills/a", "skills/a/SKILL.md", "absent"} {
		want = append(want, filepath.Join(dir, name))
	}
	if got := f.watchedSkills(); !slices.Equal(got, want) {
		t.Errorf("watched: %q", got)
	}
	for i := range maxSkillFiles + 10 {
		write(fmt.Sprintf("skills/many/%04d", i), "")
	}
	if n := len(f.watchedSkills()); n != maxSkillFiles+2 {
		t.Errorf("%d paths are watched", n)
	}
	if err := os.Symlink(dir+"/other", filepath.Join(dir, "skills/0")); err != nil {
		t.Skip(err)
	}
	if slices.Contains(f.watchedSkills(), filepath.Join(dir, "skills/0/b")) {
		t.Error("a symbolic link is followed")
	}
}
