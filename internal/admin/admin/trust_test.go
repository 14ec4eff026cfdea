package admin_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/admin/admin"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/review"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/catalog"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/discovery"
)

// trust records consent to the config or plugins at path; if path is empty, to the config or plugins that a host discovers.
func (w *workspace) trust(t *testing.T, path string) *admin.TrustProposal {
	t.Helper()
	p, err := admin.ProposeTrust(w.discovering(), path)
	if err == nil {
		err = p.Write()
	}
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// add adds a plugin to the config, and returns whether the config is trusted afterwards.
func (w *workspace) add(t *testing.T, o discovery.Options, name string) admin.ConfigTrust {
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

// isUsed reports whether a host uses the config that it discovers.
func (w *workspace) isUsed() bool {
	_, err := catalog.Look(w.discovering())
	return err == nil
}

func TestEditKeepsButDoesNotEstablishTrust(t *testing.T) {
	const mine = "[[plugins]]\npath = \"../plugins/first\"\n"
	for name, c := range map[string]struct {
		before func(w *workspace) // runs before the edit
		named  bool               // whether --config names the config
		want   bool               // whether the config is trusted after the edit
	}{
		"a new config":                         {want: true},
		"a new config, named":                  {named: true, want: true},
		"a trusted config":                     {before: func(w *workspace) { w.config(t, mine); w.trust(t, "") }, want: true},
		"a trusted config, named":              {before: func(w *workspace) { w.config(t, mine); w.trust(t, "") }, named: true, want: true},
		"an untrusted config":                  {before: func(w *workspace) { w.config(t, mine) }},
		"an untrusted config, named":           {before: func(w *workspace) { w.config(t, mine) }, named: true},
		"a config that changed since":          {before: func(w *workspace) { w.config(t, mine); w.trust(t, ""); w.config(t, mine+"# changed\n") }},
		"a config that replaced a trusted one": {before: func(w *workspace) { w.config(t, "# here\n"+mine); w.trust(t, ""); w.config(t, mine) }},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorkspace(t)
			w.plugin(t, "first", "")
			if c.before != nil {
				c.before(w)
			}
			o := w.discovering()
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
				if got.Trusted != c.want || w.isUsed() != c.want {
					t.Errorf("edit %d: got %+v; the host uses the config: %v", i, got, w.isUsed())
				}
				if !c.want && !strings.Contains(got.Message(), "bulkhead trust "+w.path("work/bulkhead.toml")) {
					t.Errorf("edit %d: the message does not name the command: %q", i, got.Message())
				}
			}
		})
	}
}

func TestEditOfFileThatIsNotDiscoveredRecordsNoTrust(t *testing.T) {
	w := newWorkspace(t)
	o := w.discovering()
	o.ConfigFile = "team.toml"
	if got := w.add(t, o, "first"); got != (admin.ConfigTrust{}) {
		t.Errorf("adding to a config that no host discovers: got %+v, want no statement about trust", got)
	}
	if list, err := admin.ListTrust(o); len(list) > 0 || err != nil {
		t.Errorf("adding to a config that no host discovers created trust records: %+v, %v", list, err)
	}
}

func TestEditReportsThatTrustCannotBeRecorded(t *testing.T) {
	w := newWorkspace(t)
	w.write(t, "state", "no directory")
	if got := w.add(t, w.discovering(), "first"); got.Trusted || !strings.Contains(got.Message(), "is not a directory") {
		t.Errorf("without a usable state directory: got %+v with the message %s", got, got.Message())
	}
}

// TestTrustRecordsTheReviewedContent changes the file between the review and the consent.
func TestTrustRecordsTheReviewedContent(t *testing.T) {
	w := newWorkspace(t)
	w.plugin(t, "first", "")
	w.config(t, "[[plugins]]\npath = \"../plugins/first\"\n")
	p, err := admin.ProposeTrust(w.discovering(), "")
	if err != nil || p.State != admin.NotTrusted || len(p.Plugins) != 1 || p.Plugins[0].Name != "first" || p.Plugins[0].Pinned {
		t.Fatalf("ProposeTrust returned %+v, %v; want the untrusted config with the plugin first", p, err)
	}
	w.config(t, "[[plugins]]\npath = \"../plugins/first\"\nfs = [{ path = \"/\", access = \"rw\" }]\n")
	if err := p.Write(); err != nil {
		t.Fatal(err)
	}
	if w.isUsed() {
		t.Error("the host uses a config that differs from the reviewed one")
	}
}

func TestTrustRecordsTheCanonicalPath(t *testing.T) {
	w := newWorkspace(t)
	w.plugin(t, "first", "")
	w.config(t, "[[plugins]]\npath = \"../plugins/first\"\n")
	if err := os.Symlink("work", w.path("link")); err != nil {
		t.Fatal(err)
	}
	want := w.path("work/bulkhead.toml")
	for _, path := range []string{"", ".", "bulkhead.toml", "../work/./bulkhead.toml", want, w.path("link"), w.path("link/bulkhead.toml")} {
		if p := w.trust(t, path); p.Path != want || p.Kind != admin.TrustConfig {
			t.Errorf("ProposeTrust(%q) returned %+v, want the config at its canonical path", path, p)
		}
		if got, err := admin.Revoke(w.discovering(), path); got != want || err != nil {
			t.Errorf("Revoke(%q) returned %q, %v; want the canonical path", path, got, err)
		}
		_, err := admin.Revoke(w.discovering(), path)
		wantUsage(t, err, want+" is not trusted")
	}
}

func TestTrustOfPluginsDependsOnTheirManifests(t *testing.T) {
	w := newWorkspace(t)
	w.plugin(t, "first", "")
	if err := os.MkdirAll(w.path("work/dist"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(w.path("plugins"), w.path("work/dist/plugins")); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"", "dist/plugins"} {
		if p := w.trust(t, path); p.Kind != admin.TrustPlugins || p.Path != w.path("work/dist/plugins") || !w.isUsed() {
			t.Errorf("ProposeTrust(%q) returned %+v, or the trusted plugins are not used", path, p)
		}
	}
	manifest := w.read(t, "work/dist/plugins/first/plugin.toml")
	w.write(t, "work/dist/plugins/first/plugin.toml", manifest+"# changed\n")
	list, err := admin.ListTrust(w.discovering())
	if err != nil || len(list) != 1 || list[0].State != admin.Changed || w.isUsed() {
		t.Errorf("after a manifest changed, ListTrust returned %+v, %v; want one record, Changed, and the plugins unused", list, err)
	}
	w.write(t, "work/dist/plugins/first/plugin.toml", strings.Replace(manifest, "sha256", "# sha256", 1))
	_, err = admin.ProposeTrust(w.discovering(), "")
	wantUsage(t, err, "does not contain the digest of its module")
}

func TestTrustRefuses(t *testing.T) {
	w := newWorkspace(t)
	w.plugin(t, "first", "")
	_, err := admin.ProposeTrust(w.discovering(), "")
	wantUsage(t, err, "there is no "+w.path("work/bulkhead.toml"), "no dist/plugins")
	_, err = admin.ProposeTrust(w.discovering(), w.path("plugins"))
	wantUsage(t, err, "is not a dist/plugins", "--plugins")
	_, err = admin.ProposeTrust(w.discovering(), w.path("plugins/first/plugin.toml"))
	wantUsage(t, err, "discovers only files named bulkhead.toml", "--config")
	_, err = admin.ProposeTrust(w.discovering(), "none")
	wantUsage(t, err, "work/none: no such file")
	w.config(t, "[sever]\n")
	_, err = admin.ProposeTrust(w.discovering(), "")
	wantUsage(t, err, "sever: is not a known key")
	if err := os.MkdirAll(filepath.Join(w.path("state"), "bulkhead"), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(w.path("state/bulkhead"), 0o777); err != nil {
		t.Fatal(err)
	}
	w.config(t, "[[plugins]]\npath = \"../plugins/first\"\n")
	_, err = admin.ProposeTrust(w.discovering(), "")
	wantUsage(t, err, "can be written by others")
	if _, err := admin.ListTrust(w.discovering()); err == nil {
		t.Error("ListTrust accepts records that other users can write")
	}
}

func TestUntrustedConfigErrorsNameTheCommand(t *testing.T) {
	w := newWorkspace(t)
	w.plugin(t, "first", "")
	w.config(t, "[[plugins]]\npath = \"../plugins/first\"\n")
	command := "bulkhead trust " + w.path("work/bulkhead.toml")
	if got := found(t, admin.Examine(t.Context(), w.discovering()), "config", "is not trusted"); got.Outcome != admin.CheckFailed || !strings.Contains(got.Remedy, command) {
		t.Errorf("the check of an untrusted config is %+v, want it failed with the command that trusts the config", got)
	}
	_, err := admin.Verify(w.discovering())
	wantUsage(t, err, command)
	_, err = admin.Explain(w.discovering(), admin.Question{})
	wantUsage(t, err, command)
	w.trust(t, "")
	found(t, admin.Examine(t.Context(), w.discovering()), "config", "plugins: 1")
	if err := os.WriteFile(w.path("state/bulkhead/.trust/x.json"), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := found(t, admin.Examine(t.Context(), w.discovering()), "trust", "x.json is ignored"); got.Outcome != admin.CheckFailed || got.Remedy == "" {
		t.Errorf("the check of an invalid trust record is %+v, want it failed with a remedy", got)
	}
	o := w.discovering()
	o.NoConfig, o.PluginsDir = true, w.path("plugins")
	found(t, admin.Examine(t.Context(), o), "config", "ignored (--no-config)")
}
