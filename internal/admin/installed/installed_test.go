package installed

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/host"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/admintest"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/install"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/review"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/source"
	"github.com/bulkhead-mcp/bulkhead/internal/base/signature"
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

// TestFetchedVersionsHaveTheDifference has a later version of the same source in the store, and one of another source.
func TestFetchedVersionsHaveTheDifference(t *testing.T) {
	w := admintest.New(t)
	add := func(version, more string) string {
		t.Helper()
		if more != "" {
			w.Version(t, "first", version, more)
		}
		reference, err := source.Parse(w.Archive(t, "first", version), "/")
		if err != nil {
			t.Fatal(err)
		}
		staged, err := install.Stage(t.Context(), &source.Fetcher{}, reference, signature.Key{})
		if err != nil {
			t.Fatal(err)
		}
		defer staged.Close()
		p, err := install.Propose(w.Options(), install.Addition{Staged: staged, Repin: version != "1.0.0"})
		if err == nil {
			err = p.Write(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
		return w.Read(t, "work/bulkhead.toml")
	}
	w.Plugin(t, "first", "")
	before := add("1.0.0", "")
	add("1.1.0", "[capabilities]\nhttp = ['https://a.example']\n")
	w.Config(t, before)
	all, err := List(w.Options())
	if err != nil || len(all.Plugins) != 1 || len(all.Plugins[0].Newer) != 1 {
		t.Fatalf("got %+v, %v", all, err)
	}
	u := all.Plugins[0].Newer[0]
	if u.Version != "1.1.0" || !u.More || u.Problem != "" || !slices.ContainsFunc(u.Changes, func(c review.Change) bool { return c.More && strings.Contains(c.New+c.Words, "https://a.example") }) {
		t.Errorf("got %+v", u)
	}
	if want := "bulkhead update --to 1.1.0 first --config "; !strings.HasPrefix(u.Command.Line, want) {
		t.Errorf("the command is %q, want %q", u.Command.Line, want)
	}
	w.Config(t, strings.Replace(before, "archives/", "elsewhere/", 1))
	if all, err = List(w.Options()); err != nil || len(all.Plugins) != 1 || len(all.Plugins[0].Newer) != 0 {
		t.Errorf("a version of another source counts as an update: %+v, %v", all, err)
	}
}
