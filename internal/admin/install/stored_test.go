package install_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/admin/admintest"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/install"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/hosttest"
)

// inStore returns name, version and use of the plugins of the store.
func inStore(t *testing.T, w *admintest.Workspace) []string {
	t.Helper()
	c, err := install.ListStore(w.Options())
	if err != nil {
		t.Fatal(err)
	}
	out := []string{}
	for _, p := range c.Plugins {
		use := ""
		if p.Pinned {
			use = " pinned"
		}
		if p.Problem != "" {
			use += " damaged"
		}
		out = append(out, p.Plugin+" "+p.Version+use)
	}
	return out
}

func TestStoreIsListedAndCleared(t *testing.T) {
	w := admintest.New(t)
	hosttest.WantEqual(t, inStore(t, w), []string{})
	releases(t, w, "1.1.0")
	if _, err := updateTo(t, w, "1.1.0"); err != nil {
		t.Fatal(err)
	}
	w.Plugin(t, "second", "")
	addFetched(t, w, w.Archive(t, "second", "1.0.0"), install.Addition{})
	hosttest.WantEqual(t, inStore(t, w), []string{"first 1.0.0", "first 1.1.0 pinned", "second 1.0.0 pinned"})

	done, err := install.ClearStore(t.Context(), w.Options(), "")
	if err != nil || len(done.Removed) != 1 || done.Removed[0].Version != "1.0.0" || len(done.Kept) != 2 {
		t.Errorf("%+v, %v", done, err)
	}
	hosttest.WantEqual(t, inStore(t, w), []string{"first 1.1.0 pinned", "second 1.0.0 pinned"})
	done, err = install.ClearStore(t.Context(), w.Options(), "second")
	if err != nil || len(done.Removed) != 1 || done.Removed[0].Plugin != "second" {
		t.Errorf("%+v, %v", done, err)
	}
	_, err = install.ClearStore(t.Context(), w.Options(), "second")
	hosttest.WantUsage(t, err, `there is no plugin "second"`)

	// It must be known what is pinned.
	w.Config(t, "[sever]\n")
	_, err = install.ClearStore(t.Context(), w.Options(), "")
	hosttest.WantUsage(t, err, "it is not known which plugins are in use", "sever")
	hosttest.WantEqual(t, inStore(t, w), []string{"first 1.1.0"})
}

func TestStoreIsExportedAndImported(t *testing.T) {
	w := admintest.New(t)
	releases(t, w)
	w.Plugin(t, "second", "")
	second := addFetched(t, w, w.Archive(t, "second", "1.0.0"), install.Addition{})
	out := w.Path("usb")
	exported, err := install.ExportStore(w.Options(), nil, out)
	if err != nil || len(exported) != 2 || exported[0].File != filepath.Join(out, "first-1.0.0-"+exported[0].Digest[:8]+".plugin.tar") {
		t.Fatalf("%+v, %v", exported, err)
	}
	if got := w.Read(t, "usb/"+filepath.Base(exported[1].File)); got != w.Read(t, "archives/second-1.0.0.plugin.tar") {
		t.Error("the exported archive differs from the one that was added")
	}

	// Another machine, which has the config only.
	removeAll(t, w, "home/.local")
	removeAll(t, w, "archives")
	imported, err := install.ImportStore(t.Context(), w.Options(), []string{out})
	if err != nil || len(imported) != 2 || imported[0].Problem != "" || imported[1].Problem != "" {
		t.Fatalf("%+v, %v", imported, err)
	}
	hosttest.WantEqual(t, inStore(t, w), []string{"first 1.0.0 pinned", "second 1.0.0 pinned"})
	if got := served(t, w); !slices.Equal(got, []string{"first 1.0.0", "second 1.0.0"}) {
		t.Errorf("served: %q", got)
	}
	c, err := install.ListStore(w.Options())
	if err != nil || c.Plugins[1].From != second.Source.From {
		t.Errorf("the origin is not kept: %+v, %v", c.Plugins[1], err)
	}

	named, err := install.ExportStore(w.Options(), []string{"second"}, w.Path("named"))
	if err != nil || len(named) != 1 || named[0].Plugin != "second" {
		t.Errorf("%+v, %v", named, err)
	}
	_, err = install.ExportStore(w.Options(), []string{"third"}, w.Path("named"))
	hosttest.WantUsage(t, err, `there is no plugin "third"`)
	w.Write(t, "home/.local/share/bulkhead/plugins/"+second.Plugin.Digest+"/it.wasm", "evil")
	damaged, err := install.ExportStore(w.Options(), nil, w.Path("damaged"))
	if err != nil || len(damaged) != 2 || !strings.Contains(damaged[0].Problem+damaged[1].Problem, "is damaged") {
		t.Errorf("%+v, %v", damaged, err)
	}
}

func TestImportRefusesHostileDirectories(t *testing.T) {
	w := admintest.New(t)
	w.Plugin(t, "first", "")
	archive := strings.TrimPrefix(w.Archive(t, "first", "1.0.0"), "file:")
	for name, c := range map[string]struct{ file, content, want string }{
		"no archive":                   {"archives/x.plugin.tar", "x", "not the archive of a plugin"},
		"an origin of another archive": {"archives/first-1.0.0.plugin.tar.origin.json", `{"from":"file:/x","archive":"` + zeros + `"}`, "the origin of another archive"},
		"an origin that is not JSON":   {"archives/first-1.0.0.plugin.tar.origin.json", "x", "invalid character"},
		"a huge origin":                {"archives/first-1.0.0.plugin.tar.origin.json", strings.Repeat("x", 1<<20), "too large"},
	} {
		t.Run(name, func(t *testing.T) {
			w.Write(t, c.file, c.content)
			defer os.Remove(w.Path(c.file))
			imported, err := install.ImportStore(t.Context(), w.Options(), []string{w.Path("archives")})
			if err != nil || !slices.ContainsFunc(imported, func(e install.Exported) bool { return strings.Contains(e.Problem, c.want) }) {
				t.Errorf("%+v, %v; want %q", imported, err, c.want)
			}
			for _, left := range inStore(t, w) {
				if left != "first 1.0.0" {
					t.Errorf("the store has %s", left)
				}
			}
			removeAll(t, w, "home/.local")
		})
	}
	for path, want := range map[string]string{w.Path("none"): "no such file", w.Path("work"): "contains no archives"} {
		_, err := install.ImportStore(t.Context(), w.Options(), []string{path})
		hosttest.WantUsage(t, err, want)
	}
	if imported, err := install.ImportStore(t.Context(), w.Options(), []string{archive}); err != nil || len(imported) != 1 || imported[0].Problem != "" {
		t.Errorf("a single archive: %+v, %v", imported, err)
	}
}

// TestImportedVersionIsMarked imports a version that claims the source of the config, which the author of the directory could have made up.
func TestImportedVersionIsMarked(t *testing.T) {
	w := admintest.New(t)
	releases(t, w, "1.1.0")
	if _, err := updateTo(t, w, "1.1.0"); err != nil {
		t.Fatal(err)
	}
	if _, err := install.ExportStore(w.Options(), []string{"first"}, w.Path("usb")); err != nil {
		t.Fatal(err)
	}
	if _, err := updateTo(t, w, "1.0.0"); err != nil {
		t.Fatal(err)
	}
	removeAll(t, w, "home/.local")
	removeAll(t, w, "archives")
	if _, err := install.ImportStore(t.Context(), w.Options(), []string{w.Path("usb")}); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(w.Path("archives"), 0o755); err != nil {
		t.Fatal(err)
	}
	p, err := updateTo(t, w, "1.1.0")
	if err != nil || !p.Source.Imported || !strings.HasSuffix(p.NeedsConsent("1.0.0"), "was imported") {
		t.Errorf("%+v, %v", p, err)
	}
}

func TestExportKeepsSignature(t *testing.T) {
	w := admintest.New(t)
	w.Plugin(t, "first", "")
	author, other := newKey(t), newKey(t)
	reference := w.Archive(t, "first", "1.0.0")
	signArchive(t, reference, author)
	staged, err := stageSigned(t, reference, author.Public())
	if err != nil {
		t.Fatal(err)
	}
	p, err := install.Propose(w.Options(), install.Addition{Staged: staged})
	if err == nil {
		err = p.Write(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	exported, err := install.ExportStore(w.Options(), nil, w.Path("usb"))
	if err != nil || len(exported) != 1 {
		t.Fatalf("%+v, %v", exported, err)
	}
	file := strings.TrimPrefix(exported[0].File, w.Dir+"/")
	if w.Read(t, file+".minisig") != w.Read(t, "archives/first-1.0.0.plugin.tar.minisig") {
		t.Error("the exported signature differs from the one that was fetched")
	}
	problem := func() string {
		t.Helper()
		removeAll(t, w, "home/.local")
		imported, err := install.ImportStore(t.Context(), w.Options(), []string{w.Path("usb")})
		if err != nil || len(imported) != 1 {
			t.Fatalf("%+v, %v", imported, err)
		}
		return imported[0].Problem
	}
	signArchive(t, "file:"+w.Path(file), other)
	if got := problem(); !strings.Contains(got, "signed with another key") {
		t.Errorf("a signature of another key: %q", got)
	}
	removeAll(t, w, file+".minisig")
	if got := problem(); !strings.Contains(got, "must be signed with") {
		t.Errorf("without the signature: %q", got)
	}
	signArchive(t, "file:"+w.Path(file), author)
	if got := problem(); got != "" {
		t.Error(got)
	}
	if _, origin, err := pluginStore(t, w).Export(exported[0].Digest); err != nil || origin.Signer != author.Public().String() || !origin.Imported {
		t.Errorf("%+v, %v", origin, err)
	}
}
