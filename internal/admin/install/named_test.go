package install_test

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/admin/admintest"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/catalogue"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/install"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/hosttest"
	"github.com/bulkhead-mcp/bulkhead/internal/base/signature"
	"github.com/bulkhead-mcp/bulkhead/internal/base/userfile"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/store"
)

// released makes the archive of a version of the plugin "first", signed unless the key is nil, and returns its entry.
func released(t *testing.T, w *admintest.Workspace, version string, key *signature.Private) catalogue.Entry {
	t.Helper()
	w.Version(t, "first", version, "")
	reference := w.Archive(t, "first", version)
	data, err := os.ReadFile(strings.TrimPrefix(reference, "file:"))
	if err != nil {
		t.Fatal(err)
	}
	p, err := store.Open(data)
	if err != nil {
		t.Fatal(err)
	}
	e := catalogue.Entry{Name: "first", Version: version, Description: "x", From: reference + "#sha256=" + p.Archive, SHA256: p.Manifest.Digest, Size: p.Size}
	if key != nil {
		signPlugin(t, reference, *key)
		e.Signer = key.Public()
	}
	return e
}

// list writes a catalogue with these entries to list.toml.
func list(t *testing.T, w *admintest.Workspace, key signature.Private, serial int64, entries ...catalogue.Entry) {
	t.Helper()
	content := (&catalogue.Catalogue{Serial: serial, Entries: entries}).Encode()
	sig, err := key.Sign(bytes.NewReader(content), "catalogue")
	if err != nil {
		t.Fatal(err)
	}
	w.Write(t, "list.toml", string(content))
	w.Write(t, "list.toml.minisig", string(sig))
}

func sourcesOf(w *admintest.Workspace, key signature.Private) string {
	return fmt.Sprintf("[sources]\ncatalogues = [{ from = %q, key = %q }]\n", w.Path("list.toml"), key.Public())
}

// stageNamed finds and fetches a plugin by its name.
func stageNamed(t *testing.T, w *admintest.Workspace, text string, signer signature.Key) (*install.Staged, error) {
	t.Helper()
	sources, err := catalogue.Open(w.Options())
	if err == nil {
		err = sources.Load(t.Context(), 0, fetcher)
	}
	if err != nil {
		t.Fatal(err)
	}
	name, err := catalogue.ParseName(text)
	if err != nil {
		t.Fatal(err)
	}
	found, err := sources.Find(name)
	if err != nil {
		return nil, err
	}
	s, err := install.StageNamed(t.Context(), fetcher, sources, name, found, signer)
	if err == nil {
		t.Cleanup(func() { _ = s.Close() })
	}
	return s, err
}

func addNamed(t *testing.T, w *admintest.Workspace, text string) *install.Proposal {
	t.Helper()
	staged, err := stageNamed(t, w, text, signature.Key{})
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
	return p
}

// TestNamedPluginIsUpdatedByItsCatalogue adds a version in a range by its name, and updates it to what the catalogue has, and not to what else is
// in the directory of the archives.
func TestNamedPluginIsUpdatedByItsCatalogue(t *testing.T) {
	for _, signed := range []bool{true, false} {
		w := admintest.New(t)
		w.Plugin(t, "first", "")
		keeper, author := newKey(t), (*signature.Private)(nil)
		if signed {
			key := newKey(t)
			author = &key
		}
		var entries []catalogue.Entry
		for _, version := range []string{"1.0.0", "1.1.0", "1.2.0", "2.0.0"} {
			entries = append(entries, released(t, w, version, author))
		}
		list(t, w, keeper, 1, entries[0])
		w.Config(t, sourcesOf(w, keeper))
		p := addNamed(t, w, "first@~1.0")
		if p.Source.Catalogue != w.Path("list.toml") || p.Source.SignerKnown != signed || !strings.Contains(p.Table, "version = \"~1.0.0\"") {
			t.Errorf("got %+v, %s", p.Source, p.Table)
		}
		if u := updateOf(t, w); u.State != install.Current || u.Newest != "" || u.Beyond != "" || u.Catalogue != w.Path("list.toml") {
			t.Errorf("with one version in the catalogue: %+v", u)
		}
		_, err := updateTo(t, w, "1.2.0")
		hosttest.WantUsage(t, err, "there is no version 1.2.0 of first: the catalogue "+w.Path("list.toml")+" has 1.0.0")

		list(t, w, keeper, 2, entries[0], entries[1], entries[3])
		w.Config(t, strings.Replace(w.Read(t, "work/bulkhead.toml"), "~1.0.0", "^1.0.0", 1))
		if u := updateOf(t, w); u.State != install.Outdated || u.Newest != "1.1.0" || u.Beyond != "2.0.0" {
			t.Errorf("got %+v", u)
		}
		if _, err := updateTo(t, w, "1.1.0"); err != nil || !slices.Equal(served(t, w), []string{"first 1.1.0"}) {
			t.Errorf("served: %q, %v", served(t, w), err)
		}
		// An older catalogue could hide a version.
		list(t, w, keeper, 1, entries[0])
		if u := updateOf(t, w); u.State != install.Failed || !strings.Contains(u.Problem, "number 2 was fetched before") {
			t.Errorf("with an older catalogue: %+v", u)
		}
	}
}

func TestNamedPluginIsWhatTheCatalogueSays(t *testing.T) {
	w := admintest.New(t)
	w.Plugin(t, "first", "")
	keeper, author, other := newKey(t), newKey(t), newKey(t)
	good := released(t, w, "1.0.0", &author)
	w.Config(t, sourcesOf(w, keeper))
	serial := int64(0)
	for want, change := range map[string]func(e *catalogue.Entry){
		"its plugin.toml has the SHA-256 " + good.SHA256 + ", and not " + strings.Repeat("ab", 32): func(e *catalogue.Entry) { e.SHA256 = strings.Repeat("ab", 32) },
		"it contains first 1.0.0, and not first 1.0.1":                                             func(e *catalogue.Entry) { e.Version = "1.0.1" },
		"bytes, and not 5": func(e *catalogue.Entry) { e.Size = 5 },
		"must be signed with " + other.Public().String(): func(e *catalogue.Entry) { e.Signer = other.Public() },
		"the archive has the SHA-256":                    func(e *catalogue.Entry) { e.From = e.From[:len(e.From)-64] + userfile.Digest(nil) },
	} {
		e := good
		change(&e)
		serial++
		list(t, w, keeper, serial, e)
		_, err := stageNamed(t, w, "first", signature.Key{})
		hosttest.WantUsage(t, err, want)
	}
	list(t, w, keeper, serial+1, good)
	_, err := stageNamed(t, w, "first", other.Public())
	hosttest.WantUsage(t, err, w.Path("list.toml")+" names the key "+author.Public().String()+" for first 1.0.0, and --signer another one")
	if s, err := stageNamed(t, w, "first", author.Public()); err != nil || s == nil {
		t.Error(err)
	}
	squatter := good
	squatter.Name = "f1rst"
	squatter.Signer = other.Public()
	list(t, w, keeper, serial+2, good, squatter)
	staged, err := stageNamed(t, w, "first", signature.Key{})
	if err != nil {
		t.Fatal(err)
	}
	p, err := install.Propose(w.Options(), install.Addition{Staged: staged})
	if err != nil || len(p.Warnings) != 1 || !strings.Contains(p.Warnings[0].What, "looks like f1rst") {
		t.Errorf("%+v, %v", p.Warnings, err)
	}
}

func TestConfigWithCataloguesOnlyCanBeTrusted(t *testing.T) {
	w := admintest.New(t)
	keeper := newKey(t)
	w.Config(t, sourcesOf(w, keeper)+"[sources.keys]\n\"acme-*\" = [\""+keeper.Public().String()+"\"]\n")
	p, err := install.ProposeTrust(w.Discovering(), "")
	if err != nil {
		t.Fatal(err)
	}
	want := install.TrustedSource{From: w.Path("list.toml"), Key: keeper.Public().String()}
	if !slices.Equal(p.Catalogues, []install.TrustedSource{want}) || !slices.Equal(p.Keys["acme-*"], []string{keeper.Public().String()}) || len(p.Plugins) != 0 {
		t.Errorf("got %+v", p)
	}
	w.Config(t, "[defaults]\ndeny = []\n")
	_, err = install.ProposeTrust(w.Discovering(), "")
	hosttest.WantUsage(t, err, "the config names no plugin")
}
