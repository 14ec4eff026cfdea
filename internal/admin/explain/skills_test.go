package explain_test

import (
	"slices"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/admin/admintest"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/explain"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/hosttest"
)

func TestSkillsOfProjectThatClientsGet(t *testing.T) {
	w := admintest.New(t)
	w.Plugin(t, "first", "")
	w.World.Write(t, hosttest.Skill("work/skills", "a"))
	w.World.Write(t, hosttest.Skill("work/skills", "b"))
	w.Write(t, "work/skills/broken/SKILL.md", "")
	plugins := "[[plugins]]\npath = \"../plugins/first\"\n"
	w.Config(t, plugins)
	if found, err := explain.Grants(w.Options(), explain.Question{}); err != nil || found.Skills != nil {
		t.Errorf("without the key: %+v, %v", found.Skills, err)
	}
	w.Config(t, "[server]\nname = \"x\"\nskills = [\"${project}/skills\"]\n"+plugins+
		"[[clients]]\nname = \"one\"\nmatch = { tokens = [\"one\"] }\nallow_resources = [\"skill://_project/a/*\"]\n"+
		"[[clients]]\nname = \"none\"\nmatch = { tokens = [\"none\"] }\nplugins = [\"first\"]\n")
	for client, want := range map[string][]string{"": {"a", "b"}, "one": {"a"}, "none": {}, "local": {}} {
		found, err := explain.Grants(w.Options(), explain.Question{OfClient: client != "", Client: client})
		if err != nil || found.Skills == nil || !slices.Equal(found.Skills.Names, want) {
			t.Errorf("%q: got %+v, %v, want %q", client, found.Skills, err, want)
		}
		if client == "" && (len(found.Skills.Problems) != 1 || found.Skills.Problems[0].File != w.Path("work/skills/broken")) {
			t.Errorf("problems: %+v", found.Skills.Problems)
		}
	}
	if found, err := explain.Grants(w.Options(), explain.Question{Tool: "first_read"}); err != nil || found.Skills != nil {
		t.Errorf("for one tool: %+v, %v", found.Skills, err)
	}
}
