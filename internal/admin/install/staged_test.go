package install_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/admin/admintest"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/install"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/review"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/source"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/hosttest"
	"github.com/bulkhead-mcp/bulkhead/internal/base/signature"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/catalog"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/discovery"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/store"
)

// stage fetches a plugin for the time of the test.
func stage(t *testing.T, reference string) *install.Staged {
	t.Helper()
	r, err := source.Parse(reference, "/")
	if err != nil {
		t.Fatal(err)
	}
	s, err := install.Stage(t.Context(), &source.Fetcher{}, r, signature.Key{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// addFetched adds the plugin that a reference names to the config.
func addFetched(t *testing.T, w *admintest.Workspace, reference string, a install.Addition) *install.Proposal {
	t.Helper()
	a.Staged = stage(t, reference)
	p, err := install.Propose(w.Options(), a)
	if err == nil {
		err = p.Write(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func pluginStore(t *testing.T, w *admintest.Workspace) store.Store {
	t.Helper()
	s, err := discovery.Store(w.Options().System)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// served returns name and version of each plugin that is served, or its problem.
func served(t *testing.T, w *admintest.Workspace) []string {
	t.Helper()
	view, err := catalog.Look(w.Options())
	if view == nil {
		t.Fatal(err)
	}
	var out []string
	for _, p := range view.Plugins {
		if p.Problem != "" {
			out = append(out, p.Problem)
		} else {
			out = append(out, p.Name+" "+p.Manifest.Version)
		}
	}
	return out
}

func TestFetchedPluginIsAddedToStoreAndConfig(t *testing.T) {
	w := admintest.New(t)
	w.Plugin(t, "first", admintest.AskedFor)
	reference := w.Archive(t, "first", "1.0.0")
	p, err := install.Propose(w.Options(), install.Addition{Staged: stage(t, reference), Choice: review.Choice{ReadOnly: true}})
	if err != nil {
		t.Fatal(err)
	}
	// Nothing is installed before Write.
	if entries, err := os.ReadDir(w.Path("home/.local")); err == nil {
		t.Errorf("a proposal created %v", entries)
	}
	if _, err := os.Stat(w.Path("work/bulkhead.toml")); err == nil {
		t.Error("a proposal created the config")
	}
	if p.Source.From != reference || p.Source.Size != 3072 || len(p.Source.Archive) != 64 || p.Plugin.Dir != pluginStore(t, w).Path(p.Plugin.Digest) {
		t.Errorf("the source is %+v, the directory %s", p.Source, p.Plugin.Dir)
	}
	if err := p.Write(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := "[[plugins]]\nfrom = \"" + reference + "\"\nversion = \"^1.0.0\"\nsha256 = \"" + p.Plugin.Digest + "\"\nread_only = true\n"
	if got := w.Read(t, "work/bulkhead.toml"); !strings.HasPrefix(got, want) {
		t.Errorf("the config is %s", got)
	}
	if got := served(t, w); !slices.Equal(got, []string{"first 1.0.0"}) {
		t.Errorf("served: %q", got)
	}
	// The archive is not needed any more.
	removeAll(t, w, "archives")
	if got := served(t, w); !slices.Equal(got, []string{"first 1.0.0"}) {
		t.Errorf("served without the archive: %q", got)
	}
	_, err = install.Propose(w.Options(), install.Addition{Staged: stage(t, w.Archive(t, "first", "1.0.0"))})
	hosttest.WantUsage(t, err, `plugin "first" is in `, "pass --repin")
}

func TestRepinShowsDifferenceToFetchedPlugin(t *testing.T) {
	for _, reviewed := range []bool{true, false} {
		w := admintest.New(t)
		w.Plugin(t, "first", "")
		addFetched(t, w, w.Archive(t, "first", "1.0.0"), install.Addition{})
		if !reviewed { // then the former version is read from the store
			removeAll(t, w, "state/bulkhead/.reviewed")
		}
		w.Version(t, "first", "1.1.0", admintest.AskedFor)
		reference := w.Archive(t, "first", "1.1.0")
		p := addFetched(t, w, reference, install.Addition{Repin: true})
		if p.Revision == nil || p.Revision.Unknown != "" || !p.Revision.More || p.Revision.Grants == nil {
			t.Errorf("reviewed %v: the comparison is %+v", reviewed, p.Revision)
		}
		config := w.Read(t, "work/bulkhead.toml")
		if !strings.Contains(config, "from = \""+reference+"\"\nversion = \"^1.1.0\"\nsha256 = \""+p.Plugin.Digest+"\"\n") {
			t.Errorf("the config is %s", config)
		}
		if got := served(t, w); !slices.Equal(got, []string{"first 1.1.0"}) {
			t.Errorf("served: %q", got)
		}
		if items, err := pluginStore(t, w).List(); err != nil || len(items) != 2 {
			t.Errorf("the former version does not stay in the store: %+v, %v", items, err)
		}
	}
}

func TestPluginOfAnotherPlaceIsNotReplaced(t *testing.T) {
	w := admintest.New(t)
	dir := w.Plugin(t, "first", "")
	w.Config(t, "[[plugins]]\npath = \""+dir+"\"\n")
	for _, repin := range []bool{true, false} {
		_, err := install.Propose(w.Options(), install.Addition{Staged: stage(t, w.Archive(t, "first", "1.0.0")), Repin: repin})
		hosttest.WantUsage(t, err, `a plugin named "first" is in `, dir, "remove that plugin first")
	}
}

func TestStageRefusesWhatIsNoPlugin(t *testing.T) {
	w := admintest.New(t)
	w.Plugin(t, "first", "")
	w.Write(t, "plugins/first/it.wasm", "another module")
	for reference, want := range map[string]string{
		w.Archive(t, "first", "1.0.0"):                      "and the manifest names",
		"file:" + w.Path("plugins/first/plugin.toml"):       "not the archive of a plugin",
		"file:" + w.Path("none"):                            "no such file",
		w.Archive(t, "first", "1.0.0") + "#sha256=" + zeros: "and the reference names " + zeros,
	} {
		r, err := source.Parse(reference, "/")
		if err != nil {
			t.Fatal(err)
		}
		_, err = install.Stage(t.Context(), &source.Fetcher{}, r, signature.Key{})
		hosttest.WantUsage(t, err, want, r.Label())
	}
}

var zeros = strings.Repeat("0", 64)

// TestConfigIsUnchangedIfTheStoreCannotBeWritten has a file in the place of the store's directory.
func TestConfigIsUnchangedIfTheStoreCannotBeWritten(t *testing.T) {
	w := admintest.New(t)
	w.Plugin(t, "first", "")
	w.Write(t, "home/.local/share/bulkhead", "")
	p, err := install.Propose(w.Options(), install.Addition{Staged: stage(t, w.Archive(t, "first", "1.0.0"))})
	if err == nil {
		err = p.Write(t.Context())
	}
	if err == nil {
		t.Error("Write returned no error")
	}
	if _, err := os.Stat(w.Path("work/bulkhead.toml")); err == nil {
		t.Error("the config was written")
	}
}

// fetchPinned returns state and problem of the plugins of the config.
func fetchPinned(t *testing.T, w *admintest.Workspace) []install.Stored {
	t.Helper()
	stored, err := install.FetchPinned(t.Context(), w.Options(), func(string) *source.Fetcher { return &source.Fetcher{} })
	if err != nil {
		t.Fatal(err)
	}
	return stored
}

func TestPinnedPluginsAreFetched(t *testing.T) {
	w := admintest.New(t)
	w.Plugin(t, "first", "")
	local := w.Plugin(t, "local", "")
	reference := w.Archive(t, "first", "1.0.0")
	p := addFetched(t, w, reference, install.Addition{})
	w.Config(t, w.Read(t, "work/bulkhead.toml")+"\n[[plugins]]\npath = \""+local+"\"\n")
	config := w.Read(t, "work/bulkhead.toml")
	want := install.Stored{Plugin: "first", Version: "1.0.0", From: reference, Digest: p.Plugin.Digest, At: "bulkhead.toml:2", State: install.Present}
	hosttest.WantEqual(t, fetchPinned(t, w), []install.Stored{want})

	// A second machine has an empty store.
	removeAll(t, w, "home/.local")
	if got := served(t, w); !strings.Contains(got[0], "bulkhead update --pinned") || got[1] != "local 1.0.0" {
		t.Errorf("served without a store: %q", got)
	}
	want.State = install.Fetched
	hosttest.WantEqual(t, fetchPinned(t, w), []install.Stored{want})
	if got := served(t, w); got[0] != "first 1.0.0" {
		t.Errorf("served: %q", got)
	}

	// A damaged plugin is fetched again.
	w.Write(t, "home/.local/share/bulkhead/plugins/"+p.Plugin.Digest+"/it.wasm", "evil")
	hosttest.WantEqual(t, fetchPinned(t, w), []install.Stored{want})

	// What the reference names has changed.
	removeAll(t, w, "home/.local")
	w.Version(t, "first", "6.6.6", "")
	if err := os.Rename(strings.TrimPrefix(w.Archive(t, "first", "6.6.6"), "file:"), strings.TrimPrefix(reference, "file:")); err != nil {
		t.Fatal(err)
	}
	got := fetchPinned(t, w)
	if len(got) != 1 || got[0].State != install.Failed || !strings.Contains(got[0].Problem, "is now first 6.6.6") || !strings.Contains(got[0].Problem, "the config pins "+p.Plugin.Digest) {
		t.Errorf("got %+v", got)
	}
	if items, err := pluginStore(t, w).List(); err != nil || items != nil {
		t.Errorf("the store has %+v, %v", items, err)
	}
	if w.Read(t, "work/bulkhead.toml") != config {
		t.Error("the config was changed")
	}
}

func TestPinnedPluginsOfUntrustedConfigAreNotFetched(t *testing.T) {
	w := admintest.New(t)
	w.Plugin(t, "first", "")
	addFetched(t, w, w.Archive(t, "first", "1.0.0"), install.Addition{})
	removeAll(t, w, "home/.local")
	removeAll(t, w, "state")
	_, err := install.FetchPinned(t.Context(), w.Discovering(), func(string) *source.Fetcher {
		t.Error("a reference of an untrusted config is fetched")
		return &source.Fetcher{}
	})
	hosttest.WantUsage(t, err, "is not trusted")
	removeAll(t, w, "work/bulkhead.toml")
	_, err = install.FetchPinned(t.Context(), w.Discovering(), nil)
	hosttest.WantUsage(t, err, "so nothing is pinned")
}

func TestVerifyNamesTheRemedyForTheStore(t *testing.T) {
	w := admintest.New(t)
	w.Plugin(t, "first", "")
	p := addFetched(t, w, w.Archive(t, "first", "1.0.0"), install.Addition{})
	dir := pluginStore(t, w).Path(p.Plugin.Digest)
	for _, damage := range []func() error{
		func() error { return os.WriteFile(filepath.Join(dir, "it.wasm"), []byte("evil"), 0o600) },
		func() error { return os.WriteFile(filepath.Join(dir, "plugin.toml"), []byte("manifest = 1\n"), 0o600) },
		func() error { return os.RemoveAll(dir) },
	} {
		if err := damage(); err != nil {
			t.Fatal(err)
		}
		pins, err := install.Verify(w.Options())
		if err != nil || !slices.ContainsFunc(pins, func(p install.Pin) bool { return p.Broken() && strings.Contains(p.Remedy, "bulkhead update --pinned") }) {
			t.Errorf("got %+v, %v", pins, err)
		}
	}
}
