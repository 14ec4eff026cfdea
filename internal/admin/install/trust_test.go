package install_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/admin/admintest"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/doctor"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/explain"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/install"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/review"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/hosttest"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/catalog"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/discovery"
)

// trustIn records consent to the config or plugins at path; if path is empty, to the config or plugins that a host discovers.
func trustIn(t *testing.T, w *admintest.Workspace, path string) *install.TrustProposal {
	t.Helper()
	p, err := install.ProposeTrust(w.Discovering(), path)
	if err == nil {
		err = p.Write()
	}
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// addTo adds a plugin to the config, and returns whether the config is trusted afterwards.
func addTo(t *testing.T, w *admintest.Workspace, o discovery.Options, name string) install.ConfigTrust {
	t.Helper()
	p, err := install.Propose(o, install.Addition{Dir: w.Plugin(t, name, ""), Choice: review.Choice{}})
	if err == nil {
		err = p.Write(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	return p.Trust
}

// isUsed reports whether a host uses the config that it discovers.
func isUsed(w *admintest.Workspace) bool {
	_, err := catalog.Look(w.Discovering())
	return err == nil
}

func TestEditKeepsButDoesNotEstablishTrust(t *testing.T) {
	const mine = "[[plugins]]\npath = \"../plugins/first\"\n"
	for name, c := range map[string]struct {
		before func(w *admintest.Workspace) // runs before the edit
		named  bool                         // whether --config names the config
		want   bool                         // whether the config is trusted after the edit
	}{
		"a new config":                         {want: true},
		"a new config, named":                  {named: true, want: true},
		"a trusted config":                     {before: func(w *admintest.Workspace) { w.Config(t, mine); trustIn(t, w, "") }, want: true},
		"a trusted config, named":              {before: func(w *admintest.Workspace) { w.Config(t, mine); trustIn(t, w, "") }, named: true, want: true},
		"an untrusted config":                  {before: func(w *admintest.Workspace) { w.Config(t, mine) }},
		"an untrusted config, named":           {before: func(w *admintest.Workspace) { w.Config(t, mine) }, named: true},
		"a config that changed since":          {before: func(w *admintest.Workspace) { w.Config(t, mine); trustIn(t, w, ""); w.Config(t, mine+"# changed\n") }},
		"a config that replaced a trusted one": {before: func(w *admintest.Workspace) { w.Config(t, "# here\n"+mine); trustIn(t, w, ""); w.Config(t, mine) }},
	} {
		t.Run(name, func(t *testing.T) {
			w := admintest.New(t)
			w.Plugin(t, "first", "")
			if c.before != nil {
				c.before(w)
			}
			o := w.Discovering()
			if c.named {
				o.ConfigFile = "bulkhead.toml"
			}
			for i, edit := range []func() install.ConfigTrust{
				func() install.ConfigTrust { return addTo(t, w, o, "second") },
				func() install.ConfigTrust { return addTo(t, w, o, "third") },
				func() install.ConfigTrust {
					gone, err := install.Remove(o, "third")
					if err != nil {
						t.Fatal(err)
					}
					return gone.Trust
				},
			} {
				got := edit()
				if got.Trusted != c.want || isUsed(w) != c.want {
					t.Errorf("edit %d: got %+v; the host uses the config: %v", i, got, isUsed(w))
				}
				if !c.want && !strings.Contains(got.Message(), "bulkhead trust "+w.Path("work/bulkhead.toml")) {
					t.Errorf("edit %d: the message does not name the command: %q", i, got.Message())
				}
			}
		})
	}
}

func TestEditOfFileThatIsNotDiscoveredRecordsNoTrust(t *testing.T) {
	w := admintest.New(t)
	o := w.Discovering()
	o.ConfigFile = "team.toml"
	if got := addTo(t, w, o, "first"); got != (install.ConfigTrust{}) {
		t.Errorf("adding to a config that no host discovers: got %+v, want no statement about trust", got)
	}
	if list, err := install.ListTrust(o); len(list) > 0 || err != nil {
		t.Errorf("adding to a config that no host discovers created trust records: %+v, %v", list, err)
	}
}

func TestEditReportsThatTrustCannotBeRecorded(t *testing.T) {
	w := admintest.New(t)
	w.Write(t, "state", "no directory")
	if got := addTo(t, w, w.Discovering(), "first"); got.Trusted || !strings.Contains(got.Message(), "is not a directory") {
		t.Errorf("without a usable state directory: got %+v with the message %s", got, got.Message())
	}
}

// TestTrustRecordsTheReviewedContent changes the file between the review and the consent.
func TestTrustRecordsTheReviewedContent(t *testing.T) {
	w := admintest.New(t)
	w.Plugin(t, "first", "")
	w.Config(t, "[[plugins]]\npath = \"../plugins/first\"\n")
	p, err := install.ProposeTrust(w.Discovering(), "")
	if err != nil || p.State != install.NotTrusted || len(p.Plugins) != 1 || p.Plugins[0].Name != "first" || p.Plugins[0].Pinned {
		t.Fatalf("ProposeTrust returned %+v, %v; want the untrusted config with the plugin first", p, err)
	}
	w.Config(t, "[[plugins]]\npath = \"../plugins/first\"\nfs = [{ path = \"/\", access = \"rw\" }]\n")
	if err := p.Write(); err != nil {
		t.Fatal(err)
	}
	if isUsed(w) {
		t.Error("the host uses a config that differs from the reviewed one")
	}
}

func TestTrustRecordsTheCanonicalPath(t *testing.T) {
	w := admintest.New(t)
	w.Plugin(t, "first", "")
	w.Config(t, "[[plugins]]\npath = \"../plugins/first\"\n")
	if err := os.Symlink("work", w.Path("link")); err != nil {
		t.Fatal(err)
	}
	want := w.Path("work/bulkhead.toml")
	for _, path := range []string{"", ".", "bulkhead.toml", "../work/./bulkhead.toml", want, w.Path("link"), w.Path("link/bulkhead.toml")} {
		if p := trustIn(t, w, path); p.Path != want || p.Kind != install.TrustConfig {
			t.Errorf("ProposeTrust(%q) returned %+v, want the config at its canonical path", path, p)
		}
		if got, _, err := install.Revoke(w.Discovering(), path); got != want || err != nil {
			t.Errorf("Revoke(%q) returned %q, %v; want the canonical path", path, got, err)
		}
		_, _, err := install.Revoke(w.Discovering(), path)
		hosttest.WantUsage(t, err, want+" is not trusted")
	}
}

// Directories of plugins are no projects.
func TestTrustedProjectsAreThoseOfConfigs(t *testing.T) {
	w := admintest.New(t)
	w.Plugin(t, "first", "")
	w.Config(t, "[[plugins]]\npath = \"../plugins/first\"\n")
	trustIn(t, w, "")
	if err := os.MkdirAll(w.Path("else/dist"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(w.Path("else/dist/plugins"), os.DirFS(w.Path("plugins"))); err != nil {
		t.Fatal(err)
	}
	if p := trustIn(t, w, "../else/dist/plugins"); p.Kind != install.TrustPlugins {
		t.Fatalf("%+v", p)
	}
	got, err := install.TrustedProjects(w.Discovering())
	if len(got) != 1 || got[0] != w.Path("work") || err != nil {
		t.Errorf("got %q, %v; want only the directory of the config", got, err)
	}
}

func TestTrustOfPluginsDependsOnTheirManifests(t *testing.T) {
	w := admintest.New(t)
	w.Plugin(t, "first", "")
	if err := os.MkdirAll(w.Path("work/dist"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(w.Path("plugins"), w.Path("work/dist/plugins")); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"", "dist/plugins"} {
		if p := trustIn(t, w, path); p.Kind != install.TrustPlugins || p.Path != w.Path("work/dist/plugins") || !isUsed(w) {
			t.Errorf("ProposeTrust(%q) returned %+v, or the trusted plugins are not used", path, p)
		}
	}
	manifest := w.Read(t, "work/dist/plugins/first/plugin.toml")
	w.Write(t, "work/dist/plugins/first/plugin.toml", manifest+"# changed\n")
	list, err := install.ListTrust(w.Discovering())
	if err != nil || len(list) != 1 || list[0].State != install.Changed || isUsed(w) {
		t.Errorf("after a manifest changed, ListTrust returned %+v, %v; want one record, Changed, and the plugins unused", list, err)
	}
	w.Write(t, "work/dist/plugins/first/plugin.toml", strings.Replace(manifest, "sha256", "# sha256", 1))
	_, err = install.ProposeTrust(w.Discovering(), "")
	hosttest.WantUsage(t, err, "does not contain the digest of its module")
}

func TestTrustRefuses(t *testing.T) {
	w := admintest.New(t)
	w.Plugin(t, "first", "")
	_, err := install.ProposeTrust(w.Discovering(), "")
	hosttest.WantUsage(t, err, "there is no "+w.Path("work/bulkhead.toml"), "no dist/plugins")
	_, err = install.ProposeTrust(w.Discovering(), w.Path("plugins"))
	hosttest.WantUsage(t, err, "is not a dist/plugins", "--plugins")
	_, err = install.ProposeTrust(w.Discovering(), w.Path("plugins/first/plugin.toml"))
	hosttest.WantUsage(t, err, "discovers only files named bulkhead.toml", "--config")
	_, err = install.ProposeTrust(w.Discovering(), "none")
	hosttest.WantUsage(t, err, "work/none: no such file")
	w.Config(t, "[sever]\n")
	_, err = install.ProposeTrust(w.Discovering(), "")
	hosttest.WantUsage(t, err, "sever: is not a known key")
	if err := os.MkdirAll(filepath.Join(w.Path("state"), "bulkhead"), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(w.Path("state/bulkhead"), 0o777); err != nil {
		t.Fatal(err)
	}
	w.Config(t, "[[plugins]]\npath = \"../plugins/first\"\n")
	_, err = install.ProposeTrust(w.Discovering(), "")
	hosttest.WantUsage(t, err, "can be written by others")
	if _, err := install.ListTrust(w.Discovering()); err == nil {
		t.Error("ListTrust accepts records that other users can write")
	}
}

func TestUntrustedConfigErrorsNameTheCommand(t *testing.T) {
	w := admintest.New(t)
	w.Plugin(t, "first", "")
	w.Config(t, "[[plugins]]\npath = \"../plugins/first\"\n")
	command := "bulkhead trust " + w.Path("work/bulkhead.toml")
	if got := admintest.Found(t, doctor.Examine(t.Context(), w.Discovering()), "config", "is not trusted"); got.Outcome != doctor.CheckFailed || !strings.Contains(got.Remedy, command) {
		t.Errorf("the check of an untrusted config is %+v, want it failed with the command that trusts the config", got)
	}
	_, err := install.Verify(w.Discovering())
	hosttest.WantUsage(t, err, command)
	_, err = explain.Grants(w.Discovering(), explain.Question{})
	hosttest.WantUsage(t, err, command)
	trustIn(t, w, "")
	admintest.Found(t, doctor.Examine(t.Context(), w.Discovering()), "config", "plugins: 1")
	if err := os.WriteFile(w.Path("state/bulkhead/.trust/x.json"), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := admintest.Found(t, doctor.Examine(t.Context(), w.Discovering()), "trust", "x.json is ignored"); got.Outcome != doctor.CheckFailed || got.Remedy == "" {
		t.Errorf("the check of an invalid trust record is %+v, want it failed with a remedy", got)
	}
	o := w.Discovering()
	o.NoConfig, o.PluginsDir = true, w.Path("plugins")
	admintest.Found(t, doctor.Examine(t.Context(), o), "config", "ignored (--no-config)")
}
