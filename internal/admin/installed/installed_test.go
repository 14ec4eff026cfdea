package installed

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/host"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/admintest"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/discovery"
)

func TestMain(m *testing.M) {
	host.RunChild()
	os.Exit(m.Run())
}

func TestListHasPinsAndCommands(t *testing.T) {
	w := admintest.NewGranted(t)
	content := w.Read(t, "work/bulkhead.toml")
	list := func() []string {
		all, err := List(w.Options())
		if err != nil || all.Problem != "" || all.Unpinned != "" {
			t.Fatalf("got %+v, %v", all, err)
		}
		var got []string
		for _, p := range all.Plugins {
			state := ""
			for _, pin := range p.Pins {
				state += " " + pin.State
			}
			got = append(got, fmt.Sprintf("%s %s served=%v pinned=%v%s %d/%d", p.Name, p.Version, p.Problem == "", p.Pinned(), state, p.Offered, p.Tools))
		}
		return got
	}
	want := []string{
		"first 1.0.0 served=true pinned=false not pinned ok 1/2", "second 1.0.0 served=true pinned=false not pinned ok 2/2", "broken 1.0.0 served=false pinned=false not pinned ok 0/2",
	}
	if diff := cmp.Diff(want, list()); diff != "" {
		t.Errorf("(want -, got +)\n%s", diff)
	}
	digest := ""
	all, err := List(w.Options())
	if err != nil {
		t.Fatal(err)
	}
	digest = all.Plugins[1].Pins[0].Found
	w.Config(t, strings.Replace(content, "prefix = \"x_\"\n", fmt.Sprintf("prefix = \"x_\"\nsha256 = %q\n", digest), 1))
	want[1] = "second 1.0.0 served=true pinned=true ok ok 2/2"
	if diff := cmp.Diff(want, list()); diff != "" {
		t.Errorf("pinned (want -, got +)\n%s", diff)
	}
	w.Write(t, "plugins/second/it.wasm", "another module")
	if got := list()[1]; !strings.Contains(got, "pinned=false ok changed") {
		t.Errorf("a changed module: got %s", got)
	}
	config := " --config " + w.Path("work/bulkhead.toml")
	for i, line := range []string{"bulkhead add --repin " + w.Path("plugins/first") + config, "bulkhead remove first" + config} {
		if got := all.Plugins[0].Commands[i].Line; got != line {
			t.Errorf("command %d is %q, want %q", i, got, line)
		}
	}
}

func TestCommandsOfFetchedPluginsAskForUpdates(t *testing.T) {
	got := commands(discovery.Options{}, &Plugin{Name: "it's", From: "https://plugins.example/it.plugin.tar"})
	if len(got) == 0 || got[0].Line != `bulkhead update --check 'it'\''s'` {
		t.Errorf("got %q", got)
	}
}
