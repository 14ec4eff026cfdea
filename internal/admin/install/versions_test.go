package install_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/admin/admintest"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/install"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/source"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/hosttest"
	"github.com/bulkhead-mcp/bulkhead/internal/base/signature"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/store"
)

// digestsOf returns the digests of the plugin.toml and of the module in the archive of a version of "first".
func digestsOf(t *testing.T, w *admintest.Workspace, version string) (manifest, module string) {
	t.Helper()
	data, err := os.ReadFile(w.Path("archives/first-" + version + ".plugin.tar"))
	if err != nil {
		t.Fatal(err)
	}
	p, err := store.Open(data)
	if err != nil {
		t.Fatal(err)
	}
	return p.Manifest.Digest, p.Manifest.Module.SHA256
}

// revoke publishes and fetches a list with versions of "first".
func revoke(t *testing.T, w *admintest.Workspace, list *published, serial int, versions ...string) {
	t.Helper()
	var digests []string
	for _, version := range versions {
		digest, _ := digestsOf(t, w, version)
		digests = append(digests, digest)
	}
	list.set(t, serial, digests...)
	fetchList(t, w)
}

// newReleases publishes an empty list, pins "first" 1.0.0, and creates archives of other versions.
func newReleases(t *testing.T, versions ...string) (*admintest.Workspace, *published) {
	t.Helper()
	w := admintest.New(t)
	list := publishList(t, w)
	list.set(t, 1)
	fetchList(t, w)
	releases(t, w, versions...)
	return w, list
}

// settled returns the update of the only plugin as `bulkhead update --check` does.
func settled(t *testing.T, w *admintest.Workspace) install.Update {
	t.Helper()
	u := updateOf(t, w)
	u.Settle(t.Context(), w.Options(), fetcher)
	return u
}

func skipped(u install.Update) []string {
	var out []string
	for _, s := range u.Skipped {
		out = append(out, s.Version)
	}
	return out
}

// TestRevokedVersionsAreNotChosen revokes versions that were never fetched, whose digests only their archives say.
func TestRevokedVersionsAreNotChosen(t *testing.T) {
	w, list := newReleases(t, "1.1.0", "1.2.0", "2.0.0", "2.1.0")
	for i, c := range []struct {
		revoked        []string
		newest, beyond string
		skipped        []string
	}{
		{nil, "1.2.0", "2.1.0", nil},
		{[]string{"1.2.0"}, "1.1.0", "2.1.0", []string{"1.2.0"}},
		{[]string{"1.2.0", "2.1.0"}, "1.1.0", "2.0.0", []string{"2.1.0", "1.2.0"}},
		{[]string{"1.2.0", "2.1.0", "1.1.0", "2.0.0"}, "", "", []string{"2.1.0", "2.0.0", "1.2.0", "1.1.0"}},
	} {
		revoke(t, w, list, i+2, c.revoked...)
		u := settled(t, w)
		state := install.Outdated
		if c.newest == "" {
			state = install.Current
		}
		if u.State != state || u.Newest != c.newest || u.Beyond != c.beyond || u.Former != "" || u.Refused != "" || !slices.Equal(skipped(u), c.skipped) {
			t.Errorf("revoked %q: %+v", c.revoked, u)
		}
		u = updateOf(t, w)
		s, err := install.StageNewest(t.Context(), w.Options(), &u, fetcher)
		switch {
		case err != nil || (s == nil) != (c.newest == ""):
			t.Errorf("revoked %q: %v, %v", c.revoked, s, err)
		case s != nil:
			if s.Version() != c.newest {
				t.Errorf("revoked %q: %s is chosen", c.revoked, s.Version())
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestRevokedModuleIsNotChosen revokes the module that every version has.
func TestRevokedModuleIsNotChosen(t *testing.T) {
	w, list := newReleases(t, "1.1.0")
	_, module := digestsOf(t, w, "1.1.0")
	list.set(t, 2, module)
	fetchList(t, w)
	if u := settled(t, w); u.Newest != "" || u.State != install.Current || !strings.Contains(u.Refused, "it has no other version that is not revoked: remove it with `bulkhead remove first`") {
		t.Errorf("got %+v", u)
	}
}

// TestRemedyOfRevokedPinWorks revokes the pinned version: the command that is named pins another one.
func TestRemedyOfRevokedPinWorks(t *testing.T) {
	for name, c := range map[string]struct {
		versions, revoked []string
		withoutSource     bool
		remedy, to        string
	}{
		"a newer version":         {versions: []string{"0.9.0", "1.1.0", "2.0.0"}, remedy: "update it to 1.1.0 with `bulkhead update first`", to: "1.1.0"},
		"an older version":        {versions: []string{"0.8.0", "0.9.0", "1.1.0"}, revoked: []string{"1.1.0"}, remedy: "`bulkhead update first --to 0.9.0`", to: "0.9.0"},
		"beyond the range":        {versions: []string{"2.0.0"}, remedy: "`bulkhead update first --to 2.0.0`", to: "2.0.0"},
		"the second oldest":       {versions: []string{"0.8.0", "0.9.0"}, revoked: []string{"0.9.0"}, remedy: "`bulkhead update first --to 0.8.0`", to: "0.8.0"},
		"none":                    {versions: []string{"0.9.0"}, revoked: []string{"0.9.0"}, remedy: "remove it with `bulkhead remove first`"},
		"none and no source":      {withoutSource: true, remedy: "its other versions are not known now: try again, or remove it with `bulkhead remove first`"},
		"a pre-release is no way": {versions: []string{"1.1.0-rc.1", "0.9.0-rc.1"}, remedy: "it has no other version that is not revoked"},
	} {
		t.Run(name, func(t *testing.T) {
			w, list := newReleases(t, c.versions...)
			revoke(t, w, list, 2, append(c.revoked, "1.0.0")...)
			if c.withoutSource {
				removeAll(t, w, "archives")
			}
			if u := settled(t, w); !strings.Contains(u.Refused, "first 1.0.0 is revoked") || !strings.Contains(u.Refused, c.remedy) {
				t.Errorf("got %+v, want %s", u, c.remedy)
			}
			if c.to == "" {
				return
			}
			if _, err := updateTo(t, w, c.to); err != nil {
				t.Error(err)
			}
			hosttest.WantEqual(t, served(t, w), []string{"first " + c.to})
		})
	}
}

// TestFormerVersionIsFoundInStore updates, revokes the new version, and takes the source away.
func TestFormerVersionIsFoundInStore(t *testing.T) {
	w, list := newReleases(t, "1.1.0")
	if _, err := updateTo(t, w, "1.1.0"); err != nil {
		t.Fatal(err)
	}
	revoke(t, w, list, 2, "1.1.0")
	removeAll(t, w, "archives")
	if u := settled(t, w); u.State != install.Failed || u.Former != "1.0.0" || !strings.Contains(u.Refused, "`bulkhead update first --to 1.0.0`") {
		t.Errorf("got %+v", u)
	}
	if _, err := updateTo(t, w, "1.0.0"); err != nil {
		t.Error(err)
	}
}

// TestRevokedVersionIsRefusedByName asks for a revoked version: the error is about that one, and not about the pinned one.
func TestRevokedVersionIsRefusedByName(t *testing.T) {
	w, list := newReleases(t, "1.1.0", "1.2.0")
	revoke(t, w, list, 2, "1.2.0")
	_, err := updateTo(t, w, "1.2.0")
	hosttest.WantUsage(t, err, "first 1.2.0 is revoked with the reason", "still pinned: 1.0.0; update it to 1.1.0 with `bulkhead update first`")
	if strings.Contains(err.Error(), "plugins[0]") {
		t.Errorf("the error names the table of the pinned version: %v", err)
	}
	revoke(t, w, list, 3, "1.2.0", "1.1.0")
	_, err = updateTo(t, w, "1.2.0")
	hosttest.WantUsage(t, err, "still pinned: 1.0.0; keep 1.0.0 until there is a newer version that is not revoked")

	_, err = install.Propose(w.Options(), install.Addition{Staged: stage(t, "file:"+w.Path("archives/first-1.1.0.plugin.tar")), Repin: true})
	hosttest.WantUsage(t, err, "first 1.1.0 is revoked with the reason", "it is not pinned; `bulkhead update --check first`")
	_, err = install.Propose(w.Options(), install.Addition{Staged: stage(t, "file:"+w.Path("archives/first-1.0.0.plugin.tar"))})
	hosttest.WantUsage(t, err, "is in ", " already: `bulkhead update first` updates it")
}

// TestRevokedPluginOfTheStoreIsNotFetched counts what `bulkhead update --pinned` fetches.
func TestRevokedPluginOfTheStoreIsNotFetched(t *testing.T) {
	w, list := newReleases(t)
	revoke(t, w, list, 2, "1.0.0")
	fetches := 0
	stored, err := install.FetchPinned(t.Context(), w.Options(), func(string) *source.Fetcher { fetches++; return &source.Fetcher{} })
	if err != nil || len(stored) != 1 || stored[0].State != install.Refused || fetches != 0 {
		t.Errorf("%+v after %d fetches, %v", stored, fetches, err)
	}
}

func TestVerifySaysWhatIsRevoked(t *testing.T) {
	w, list := newReleases(t)
	revoke(t, w, list, 2, "1.0.0")
	pins, err := install.Verify(w.Options())
	if err != nil || pins[0].State != install.Revoked || !pins[0].Broken() || !strings.Contains(pins[0].Reason, "first 1.0.0 is revoked") || pins[0].Remedy == "" {
		t.Errorf("%+v, %v", pins, err)
	}
}

// TestFetchedVersionIsNamed looks at the reference whose progress is shown.
func TestFetchedVersionIsNamed(t *testing.T) {
	w, _ := newReleases(t, "1.1.0")
	u := updateOf(t, w)
	var references []string
	s, err := install.StageVersion(t.Context(), w.Options(), &u, "1.1.0", func(reference string) *source.Fetcher {
		references = append(references, reference)
		return &source.Fetcher{}
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	hosttest.WantEqual(t, references, []string{"file:" + w.Path("archives/first-1.1.0.plugin.tar")})
}

// TestNamedPluginWithRevokedModuleIsNotStaged finds out only by fetching them that versions are revoked, since a catalogue does not name modules.
func TestNamedPluginWithRevokedModuleIsNotStaged(t *testing.T) {
	w := admintest.New(t)
	w.Plugin(t, "first", "")
	keeper := newKey(t)
	list(t, w, keeper, 1, released(t, w, "1.0.0", nil), released(t, w, "1.1.0", nil))
	revocations := publishList(t, w)
	w.Config(t, sourcesOf(w, keeper)+strings.TrimPrefix(w.Read(t, "work/bulkhead.toml"), "[sources]\n"))
	_, module := digestsOf(t, w, "1.1.0")
	for i, c := range []struct {
		revoked []string
		fails   bool
	}{{nil, false}, {[]string{module}, true}} {
		revocations.set(t, i+1, c.revoked...)
		fetchList(t, w)
		_, err := stageNamed(t, w, "first", signature.Key{})
		if (err != nil) != c.fails {
			t.Errorf("revoked %q: %v", c.revoked, err)
		}
		if c.fails {
			hosttest.WantUsage(t, err, "first 1.1.0 is revoked with the reason", "first 1.0.0 is revoked with the reason", "there is no version that is not revoked")
		}
	}
}

// TestPluginOfConfigIsNotAddedByName is about what is known before anything is fetched.
func TestPluginOfConfigIsNotAddedByName(t *testing.T) {
	w := admintest.New(t)
	if err := install.CheckNotInConfig(w.Options(), "first"); err != nil {
		t.Errorf("without a config: %v", err)
	}
	releases(t, w)
	if err := install.CheckNotInConfig(w.Options(), "second"); err != nil {
		t.Errorf("another plugin: %v", err)
	}
	hosttest.WantUsage(t, install.CheckNotInConfig(w.Options(), "first"), `plugin "first" is in `, "`bulkhead update first` updates it")
}
