package admin_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/host"
	"github.com/bulkhead-mcp/bulkhead/host/admin"
	"github.com/bulkhead-mcp/bulkhead/host/review"
)

// trust has the user agree to what is at path; empty: to what a host finds.
func (w *world) trust(t *testing.T, path string) *admin.TrustProposal {
	t.Helper()
	p, err := admin.ProposeTrust(w.unnamed(), path)
	if err == nil {
		err = p.Write()
	}
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// add adds a plugin to the config that a host finds, and says whether that is trusted then.
func (w *world) add(t *testing.T, o host.Options, name string) admin.ConfigTrust {
	t.Helper()
	p, err := admin.Propose(o, admin.Addition{Dir: w.plugin(t, name, ""), Choice: review.Choice{}})
	if err == nil {
		err = p.Write()
	}
	if err != nil {
		t.Fatal(err)
	}
	return p.Trust
}

// obeyed tells whether a host obeys the config that it finds.
func (w *world) obeyed() bool {
	_, err := host.Look(w.unnamed())
	return err == nil
}

func TestAnEditKeepsTrustAndGivesNone(t *testing.T) {
	const mine = "[[plugins]]\npath = \"../plugins/first\"\n"
	for name, c := range map[string]struct {
		before func(w *world) // the edit
		named  bool           // the config is, by --config
		want   bool
	}{
		"a config that the edit makes":           {want: true},
		"one that it makes where it is named":    {named: true, want: true},
		"one that is trusted":                    {before: func(w *world) { w.config(t, mine); w.trust(t, "") }, want: true},
		"one that is trusted, and named":         {before: func(w *world) { w.config(t, mine); w.trust(t, "") }, named: true, want: true},
		"one that nobody trusts":                 {before: func(w *world) { w.config(t, mine) }},
		"one that nobody trusts, and is named":   {before: func(w *world) { w.config(t, mine) }, named: true},
		"one that changed since":                 {before: func(w *world) { w.config(t, mine); w.trust(t, ""); w.config(t, mine+"# changed\n") }},
		"one that came to where one was removed": {before: func(w *world) { w.config(t, "# here\n"+mine); w.trust(t, ""); w.config(t, mine) }},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.plugin(t, "first", "")
			if c.before != nil {
				c.before(w)
			}
			o := w.unnamed()
			if c.named {
				o.ConfigFile = "bulkhead.toml"
			}
			for i, edit := range []func() admin.ConfigTrust{
				func() admin.ConfigTrust { return w.add(t, o, "second") },
				func() admin.ConfigTrust { return w.add(t, o, "third") },
				func() admin.ConfigTrust {
					gone, err := admin.Remove(o, "third")
					if err != nil {
						t.Fatal(err)
					}
					return gone.Trust
				},
			} {
				got := edit()
				if got.Trusted != c.want || w.obeyed() != c.want {
					t.Errorf("edit %d: %+v, obeyed: %v", i, got, w.obeyed())
				}
				if !c.want && !strings.Contains(got.Words(), "bulkhead trust "+w.path("work/bulkhead.toml")) {
					t.Errorf("edit %d says %q", i, got.Words())
				}
			}
		})
	}
}

func TestAnEditOfAnotherFileIsNoMatterOfTrust(t *testing.T) {
	w := newWorld(t)
	o := w.unnamed()
	o.ConfigFile = "team.toml"
	if got := w.add(t, o, "first"); got != (admin.ConfigTrust{}) {
		t.Errorf("%+v", got)
	}
	if list, err := admin.ListTrust(o); len(list) > 0 || err != nil {
		t.Errorf("%+v, %v", list, err)
	}
}

func TestAnEditThatCannotBeRecordedSaysSo(t *testing.T) {
	w := newWorld(t)
	w.write(t, "state", "no directory")
	if got := w.add(t, w.unnamed(), "first"); got.Trusted || !strings.Contains(got.Words(), "is not a directory") {
		t.Errorf("%+v: %s", got, got.Words())
	}
}

// TestWhatIsReviewedIsWhatIsTrusted: the file may change between the review and the yes.
func TestWhatIsReviewedIsWhatIsTrusted(t *testing.T) {
	w := newWorld(t)
	w.plugin(t, "first", "")
	w.config(t, "[[plugins]]\npath = \"../plugins/first\"\n")
	p, err := admin.ProposeTrust(w.unnamed(), "")
	if err != nil || p.State != admin.NotTrusted || len(p.Plugins) != 1 || p.Plugins[0].Name != "first" || p.Plugins[0].Pinned {
		t.Fatalf("%+v, %v", p, err)
	}
	w.config(t, "[[plugins]]\npath = \"../plugins/first\"\nfs = [{ path = \"/\", access = \"rw\" }]\n")
	if err := p.Write(); err != nil {
		t.Fatal(err)
	}
	if w.obeyed() {
		t.Error("what was not reviewed is obeyed")
	}
}

func TestThePathThatIsTrustedIs(t *testing.T) {
	w := newWorld(t)
	w.plugin(t, "first", "")
	w.config(t, "[[plugins]]\npath = \"../plugins/first\"\n")
	if err := os.Symlink("work", w.path("link")); err != nil {
		t.Fatal(err)
	}
	want := w.path("work/bulkhead.toml")
	for _, path := range []string{"", ".", "bulkhead.toml", "../work/./bulkhead.toml", want, w.path("link"), w.path("link/bulkhead.toml")} {
		if p := w.trust(t, path); p.Path != want || p.Kind != admin.TrustConfig {
			t.Errorf("%q: %+v", path, p)
		}
		if got, err := admin.Revoke(w.unnamed(), path); got != want || err != nil {
			t.Errorf("%q: %q, %v", path, got, err)
		}
		_, err := admin.Revoke(w.unnamed(), path)
		wantUsage(t, err, want+" is not trusted")
	}
}

func TestPluginsOfADirectoryAreTrustedByTheirManifests(t *testing.T) {
	w := newWorld(t)
	w.plugin(t, "first", "")
	if err := os.MkdirAll(w.path("work/dist"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(w.path("plugins"), w.path("work/dist/plugins")); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"", "dist/plugins"} {
		if p := w.trust(t, path); p.Kind != admin.TrustPlugins || p.Path != w.path("work/dist/plugins") || !w.obeyed() {
			t.Errorf("%q: %+v", path, p)
		}
	}
	manifest := w.read(t, "work/dist/plugins/first/plugin.toml")
	w.write(t, "work/dist/plugins/first/plugin.toml", manifest+"# changed\n")
	list, err := admin.ListTrust(w.unnamed())
	if err != nil || len(list) != 1 || list[0].State != admin.Changed || w.obeyed() {
		t.Errorf("%+v, %v", list, err)
	}
	w.write(t, "work/dist/plugins/first/plugin.toml", strings.Replace(manifest, "sha256", "# sha256", 1))
	_, err = admin.ProposeTrust(w.unnamed(), "")
	wantUsage(t, err, "does not name the digest of its module")
}

func TestTrustRefuses(t *testing.T) {
	w := newWorld(t)
	w.plugin(t, "first", "")
	_, err := admin.ProposeTrust(w.unnamed(), "")
	wantUsage(t, err, "there is no "+w.path("work/bulkhead.toml"), "no dist/plugins")
	_, err = admin.ProposeTrust(w.unnamed(), w.path("plugins"))
	wantUsage(t, err, "is no dist/plugins", "--plugins")
	_, err = admin.ProposeTrust(w.unnamed(), w.path("plugins/first/plugin.toml"))
	wantUsage(t, err, "is not a bulkhead.toml", "--config")
	_, err = admin.ProposeTrust(w.unnamed(), "none")
	wantUsage(t, err, "work/none: no such file")
	w.config(t, "[sever]\n")
	_, err = admin.ProposeTrust(w.unnamed(), "")
	wantUsage(t, err, "sever: is not a known key")
	if err := os.MkdirAll(filepath.Join(w.path("state"), "bulkhead"), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(w.path("state/bulkhead"), 0o777); err != nil {
		t.Fatal(err)
	}
	w.config(t, "[[plugins]]\npath = \"../plugins/first\"\n")
	_, err = admin.ProposeTrust(w.unnamed(), "")
	wantUsage(t, err, "can be written by others")
	if _, err := admin.ListTrust(w.unnamed()); err == nil {
		t.Error("a list that others can write is given")
	}
}

func TestExamineNamesWhatTrustNeeds(t *testing.T) {
	w := newWorld(t)
	w.plugin(t, "first", "")
	w.config(t, "[[plugins]]\npath = \"../plugins/first\"\n")
	command := "bulkhead trust " + w.path("work/bulkhead.toml")
	if got := found(t, admin.Examine(t.Context(), w.unnamed()), "config", "is not trusted"); got.Outcome != admin.Failed || !strings.Contains(got.Remedy, command) {
		t.Errorf("%+v", got)
	}
	_, err := admin.Verify(w.unnamed())
	wantUsage(t, err, command)
	_, err = admin.Explain(w.unnamed(), admin.Question{})
	wantUsage(t, err, command)
	w.trust(t, "")
	found(t, admin.Examine(t.Context(), w.unnamed()), "config", "plugins: 1")
	if err := os.WriteFile(w.path("state/bulkhead/.trust/x.json"), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := found(t, admin.Examine(t.Context(), w.unnamed()), "trust", "x.json is ignored"); got.Outcome != admin.Failed || got.Remedy == "" {
		t.Errorf("%+v", got)
	}
	o := w.unnamed()
	o.NoConfig, o.PluginsDir = true, w.path("plugins")
	found(t, admin.Examine(t.Context(), o), "config", "none is looked for")
}
