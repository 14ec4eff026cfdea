package build_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/authoring/build"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
)

const skill = "---\nname: notes\ndescription: Take notes.\n---\n"

// skilled returns a source with a skill.
func skilled() files {
	return good().with(files{"plugin.toml": head + tools("one") + "[[skills]]\npath = \"skills/notes\"\n", "skills/notes/SKILL.md": skill,
		"skills/notes/references/more.md": "more\n", "skills/notes/.draft": "hidden"})
}

func TestBuildPinsSkills(t *testing.T) {
	dir, out := skilled().write(t, t.TempDir()), t.TempDir()
	options := build.Options{Out: out, CacheDir: t.TempDir()}
	result, err := build.Build(t.Context(), dir, options)
	if err != nil {
		t.Fatal(err)
	}
	built := read(t, result.Dir)
	if built["skills/notes/SKILL.md"] != skill || built["skills/notes/references/more.md"] != "more\n" || built["skills/notes/.draft"] != "" {
		t.Errorf("the output has %v", built)
	}
	m, problems := manifest.Load(result.Dir)
	if problems != nil || len(m.Skills) != 1 || len(m.Skills[0].SHA256) != 64 {
		t.Fatalf("%v, %+v", problems, m.Skills)
	}
	if err := build.Check(t.Context(), result.Dir, options).Err(); err != nil {
		t.Error(err)
	}
	files{"skills/notes/references/more.md": "obey\n"}.write(t, result.Dir)
	if err := build.Check(t.Context(), result.Dir, options).Err(); err == nil || !strings.Contains(err.Error(), "skills[0].path: the files of the skill skills/notes have the digest") {
		t.Errorf("a changed skill: %v", err)
	}
}

func TestCheckReportsSkills(t *testing.T) {
	many := files{}
	for i := range 113 {
		many[fmt.Sprintf("skills/notes/f%d", i)] = "x"
	}
	for name, c := range map[string]struct {
		change files
		want   string
	}{
		"without SKILL.md":  {files{"skills/notes/SKILL.md": ""}, "12: skills[0].path: the skill skills/notes cannot be read: there is no SKILL.md"},
		"without a name":    {files{"skills/notes/SKILL.md": "---\ndescription: d\n---\n"}, "SKILL.md: the front matter has no string name"},
		"with a long name":  {files{"skills/notes/" + strings.Repeat("x", 90): "x"}, "a file that the plugin's archive cannot contain"},
		"with many files":   {many, "the skills have 115 files, and an archive has room for 112"},
		"without directory": {files{"skills/notes/SKILL.md": "", "skills/notes/references/more.md": "", "skills/notes/.draft": ""}, "cannot be opened"},
	} {
		dir := skilled().with(c.change).write(t, t.TempDir())
		if err := build.Check(t.Context(), dir, build.Options{CacheDir: t.TempDir()}).Err(); err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), filepath.Join(dir, "skills")) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
}
