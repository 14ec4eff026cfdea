package doctor_test

import (
	"os"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/admin/admintest"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/doctor"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/install"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/discovery"
)

func TestFetchedPluginsAreExamined(t *testing.T) {
	w := admintest.New(t)
	w.Plugin(t, "first", "")
	archive := strings.TrimPrefix(w.Archive(t, "first", "1.0.0"), "file:")
	imported, err := install.ImportStore(t.Context(), w.Options(), []string{archive})
	if err != nil || len(imported) != 1 || imported[0].Problem != "" {
		t.Fatalf("%+v, %v", imported, err)
	}
	if c := admintest.Found(t, doctor.Examine(t.Context(), w.Discovering()), "fetched plugins", ": 1, 0.0 MB, all intact"); c.Outcome != doctor.CheckOK {
		t.Errorf("got %+v", c)
	}
	s, err := discovery.Store(w.Options().System)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(s.Dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if c := admintest.Found(t, doctor.Examine(t.Context(), w.Discovering()), "fetched plugins", "can be written by others"); c.Outcome != doctor.CheckFailed || c.Remedy == "" {
		t.Errorf("got %+v", c)
	}
	if err := os.Chmod(s.Dir, 0o700); err != nil {
		t.Fatal(err)
	}
	w.Write(t, "home/.local/share/bulkhead/plugins/"+imported[0].Digest+"/it.wasm", "evil")
	if c := admintest.Found(t, doctor.Examine(t.Context(), w.Discovering()), "fetched plugins", "is damaged"); c.Outcome != doctor.CheckFailed || !strings.Contains(c.Remedy, "update --pinned") {
		t.Errorf("got %+v", c)
	}
}
