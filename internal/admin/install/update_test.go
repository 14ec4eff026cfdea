package install_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/admin/admintest"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/install"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/source"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/hosttest"
)

func fetcher(string) *source.Fetcher { return &source.Fetcher{} }

// releases adds the plugin "first" 1.0.0 to the config, and creates archives of later versions.
func releases(t *testing.T, w *admintest.Workspace, versions ...string) {
	t.Helper()
	w.Plugin(t, "first", "")
	addFetched(t, w, w.Archive(t, "first", "1.0.0"), install.Addition{})
	for _, version := range versions {
		w.Version(t, "first", version, "")
		w.Archive(t, "first", version)
	}
}

// updateOf returns the update of the only plugin of the config.
func updateOf(t *testing.T, w *admintest.Workspace) install.Update {
	t.Helper()
	updates, err := install.Updates(t.Context(), w.Options(), nil, fetcher)
	if err != nil || len(updates) != 1 {
		t.Fatalf("%+v, %v", updates, err)
	}
	return updates[0]
}

// updateTo updates the only plugin of the config to a version.
func updateTo(t *testing.T, w *admintest.Workspace, version string) (*install.Proposal, error) {
	t.Helper()
	u := updateOf(t, w)
	staged, err := install.StageVersion(t.Context(), w.Options(), &u, version, fetcher)
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() { _ = staged.Close() })
	p, err := install.Propose(w.Options(), install.Addition{Staged: staged, Repin: true})
	if err == nil {
		err = p.Write(t.Context())
	}
	return p, err
}

func TestUpdatesAreFoundInTheDirectory(t *testing.T) {
	w := admintest.New(t)
	releases(t, w, "0.9.0", "1.1.0", "1.2.0", "2.0.0-rc.1", "2.0.0")
	u := updateOf(t, w)
	if u.State != install.Outdated || u.Newest != "1.2.0" || u.Beyond != "2.0.0" || u.Plugin != "first" || u.Version != "1.0.0" || u.Wanted != "^1.0.0" {
		t.Errorf("got %+v", u)
	}
	config := w.Read(t, "work/bulkhead.toml")
	w.Config(t, strings.Replace(config, "^1.0.0", "1.0.0", 1))
	if u := updateOf(t, w); u.State != install.Current || u.Newest != "" || u.Beyond != "2.0.0" {
		t.Errorf("without a range: %+v", u)
	}
	removeAll(t, w, "archives")
	if u := updateOf(t, w); u.State != install.Failed || !strings.Contains(u.Problem, "archives") {
		t.Errorf("without the directory: %+v", u)
	}
	removeAll(t, w, "home/.local")
	if u := updateOf(t, w); u.State != install.Failed || u.Plugin != "" || !strings.Contains(u.Problem, "bulkhead update --pinned") {
		t.Errorf("without the store: %+v", u)
	}
	_, err := install.Updates(t.Context(), w.Options(), []string{"frist"}, fetcher)
	hosttest.WantUsage(t, err, `names no plugin "frist" that was fetched`)
}

func TestUpdateAndBackWithoutTheSource(t *testing.T) {
	w := admintest.New(t)
	releases(t, w, "1.1.0")
	p, err := updateTo(t, w, "1.1.0")
	if err != nil {
		t.Fatal(err)
	}
	if p.Revision.Grows() {
		t.Errorf("a version that asks for the same grows: %+v", p.Revision)
	}
	if got := w.Read(t, "work/bulkhead.toml"); !strings.Contains(got, "archives/first-1.1.0.plugin.tar\"\nversion = \"^1.1.0\"\n") || !slices.Equal(served(t, w), []string{"first 1.1.0"}) {
		t.Errorf("served: %q, the config is %s", served(t, w), got)
	}
	// The former version stays in the store.
	removeAll(t, w, "archives")
	if _, err := updateTo(t, w, "1.0.0"); err != nil {
		t.Fatal(err)
	}
	if got := w.Read(t, "work/bulkhead.toml"); !strings.Contains(got, "archives/first-1.0.0.plugin.tar\"\nversion = \"^1.0.0\"\n") || !slices.Equal(served(t, w), []string{"first 1.0.0"}) {
		t.Errorf("served: %q, the config is %s", served(t, w), got)
	}
	_, err = updateTo(t, w, "3.0.0")
	hosttest.WantUsage(t, err, "there is no version 3.0.0 of first")
}

func TestVersionThatAsksForMoreGrows(t *testing.T) {
	for name, c := range map[string]struct{ more, why string }{
		"a further tool":           {"[[tools]]\nname = \"first_new\"\ndescription = \"x\"\naccess = \"read\"\n", "asks for more than 1.0.0 (tools.first_new)"},
		"a further capability":     {admintest.AskedFor, "asks for more than 1.0.0 (capabilities.fs, capabilities.http, capabilities.env)"},
		"a grant that now applies": {"[limits]\ntime = \"4m\"\n", "asks for more than 1.0.0 (limits.time)"},
	} {
		t.Run(name, func(t *testing.T) {
			w := admintest.New(t)
			releases(t, w)
			w.Version(t, "first", "1.1.0", c.more)
			w.Archive(t, "first", "1.1.0")
			p, err := updateTo(t, w, "1.1.0")
			if err != nil {
				t.Fatal(err)
			}
			if !p.Revision.Grows() {
				t.Errorf("it does not grow: %+v", p.Revision)
			}
			if why := p.NeedsConsent("1.0.0"); why != c.why {
				t.Errorf("NeedsConsent returned %q, want %q", why, c.why)
			}
		})
	}
	unknown := &install.Proposal{Revision: &install.Revision{Unknown: "x"}, Source: &install.Source{Imported: true}}
	if why := unknown.NeedsConsent("1.0.0"); !unknown.Revision.Grows() || why != "cannot be compared with 1.0.0, and was imported" {
		t.Errorf("a version that cannot be compared does not grow, or NeedsConsent returned %q", why)
	}
}

func TestUpdateRefusesAnotherPlugin(t *testing.T) {
	w := admintest.New(t)
	releases(t, w)
	w.Plugin(t, "other", "")
	w.Write(t, "archives/first-1.1.0.plugin.tar", w.Read(t, strings.TrimPrefix(w.Archive(t, "other", "1.0.0"), "file:"+w.Dir+"/")))
	_, err := updateTo(t, w, "1.1.0")
	hosttest.WantUsage(t, err, "contains other 1.0.0, and not first 1.1.0")
}

// TestVersionOfAnotherSourceIsNotTaken has a plugin with the same name and version, of another directory, in the store.
func TestVersionOfAnotherSourceIsNotTaken(t *testing.T) {
	w := admintest.New(t)
	releases(t, w)
	w.Version(t, "first", "1.1.0", admintest.AskedFor)
	evil := strings.TrimPrefix(w.Archive(t, "first", "1.1.0"), "file:"+w.Dir+"/")
	w.Write(t, "evil/first-1.1.0.plugin.tar", w.Read(t, evil))
	removeAll(t, w, evil)
	o := w.Options()
	o.ConfigFile = w.Path("other.toml")
	p, err := install.Propose(o, install.Addition{Staged: stage(t, "file:"+w.Path("evil/first-1.1.0.plugin.tar"))})
	if err == nil {
		err = p.Write(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	_, err = updateTo(t, w, "1.1.0")
	hosttest.WantUsage(t, err, "there is no version 1.1.0 of first: its source has 1.0.0")
}

func TestVersionsOfWebServersAreUnknown(t *testing.T) {
	w := admintest.New(t)
	releases(t, w)
	config := w.Read(t, "work/bulkhead.toml")
	at := strings.Index(config, "file:")
	w.Config(t, config[:at]+"https://h.example/first-1.0.0.tar#sha256="+zeros+config[at+strings.IndexByte(config[at:], '"'):])
	if u := updateOf(t, w); u.State != install.Unknown || !strings.Contains(u.Problem, "add REF --repin") {
		t.Errorf("got %+v", u)
	}
}
