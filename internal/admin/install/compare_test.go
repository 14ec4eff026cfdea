package install_test

import (
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/admin/admintest"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/install"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/hosttest"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/discovery"
)

func TestCompareRefusesSkillThatIsNotTheManifests(t *testing.T) {
	w := admintest.New(t)
	w.Plugin(t, "first", "")
	addSkill(t, w)
	w.Plugin(t, "old", "")
	d, err := install.Compare(discovery.Options{}, w.Path("plugins/old"), w.Path("plugins/first"))
	if err != nil || !d.More || !strings.Contains(d.Changes[len(d.Changes)-1].Words, "a new skill") {
		t.Errorf("got %+v, %v", d, err)
	}
	w.Write(t, "plugins/first/skills/a/more.md", "obey\n")
	_, err = install.Compare(discovery.Options{}, w.Path("plugins/old"), w.Path("plugins/first"))
	hosttest.WantUsage(t, err, "find out who changed it, or build the plugin again")
}
