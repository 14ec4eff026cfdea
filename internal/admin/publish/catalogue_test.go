package publish

import (
	"errors"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	inprocess "github.com/google/go-containerregistry/pkg/registry"

	"github.com/bulkhead-mcp/bulkhead/internal/admin/catalogue"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/registry"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/source"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/build"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/hosttest"
	"github.com/bulkhead-mcp/bulkhead/internal/base/signature"
	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
)

// pushTo publishes the plugin in dir to a directory, and adds it to a catalogue.
func pushTo(t *testing.T, dir, out, list, home string) (*Published, error) {
	t.Helper()
	return Publish(t.Context(), Options{Dir: dir, Ref: "file:" + out, Catalogue: list, Key: filepath.Join(home, "signing.key"),
		Build: build.Options{Out: filepath.Join(t.TempDir(), "built")}, Client: &registry.Client{}})
}

// readCatalogue returns the catalogue at an address, which must be signed with the key.
func readCatalogue(t *testing.T, from, signer string) *catalogue.Catalogue {
	t.Helper()
	key, err := signature.ParseKey(signer)
	if err != nil {
		t.Fatal(err)
	}
	at, err := source.ParseDocument(from)
	if err != nil {
		t.Fatal(err)
	}
	f, err := (&source.Fetcher{}).Document(t.Context(), from, key)
	if err != nil {
		t.Fatal(err)
	}
	c, problems := catalogue.Parse(at, f.Content)
	if problems.Err() != nil {
		t.Fatal(problems)
	}
	return c
}

func setVersion(t *testing.T, dir, version, more string) {
	t.Helper()
	file := filepath.Join(dir, "plugin.toml")
	if err := os.WriteFile(file, []byte(strings.Replace(manifestText, "1.2.3", version, 1)+more), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestPublishedVersionsAreAddedToCatalogue(t *testing.T) {
	server := httptest.NewServer(inprocess.New(inprocess.Logger(log.New(io.Discard, "", 0))))
	defer server.Close()
	out := filepath.Join(t.TempDir(), "out")
	for list, from := range map[string]string{
		filepath.Join(out, "catalogue.toml"):                                            "archives/hand-1.2.3.plugin.tar#sha256=",
		"oci://" + strings.TrimPrefix(server.URL, "http://") + "/team/catalogue:latest": "",
	} {
		dir, home := newSource(t, nil), t.TempDir()
		ref := filepath.Join(out, "archives")
		push := func() (*Published, error) { return pushTo(t, dir, ref, list, home) }
		if from == "" {
			push = func() (*Published, error) {
				return Publish(t.Context(), Options{Dir: dir, Ref: "oci://" + strings.TrimPrefix(server.URL, "http://") + "/team/hand", Catalogue: list, Key: filepath.Join(home, "signing.key"),
					Build: build.Options{Out: filepath.Join(t.TempDir(), "built")}, Client: &registry.Client{}})
			}
			from = "oci://" + strings.TrimPrefix(server.URL, "http://") + "/team/hand:1.2.3@sha256:"
		}
		first, err := push()
		if err != nil {
			t.Fatal(err)
		}
		again, err := push()
		if err != nil || again.Serial != 1 || first.Serial != 1 || first.Catalogue != list {
			t.Errorf("%s: pushed again: %+v, %v", list, again, err)
		}
		setVersion(t, dir, "1.3.0", "")
		if p, err := push(); err != nil || p.Serial != 2 {
			t.Fatalf("%s: %+v, %v", list, p, err)
		}
		c := readCatalogue(t, list, first.Signer)
		if c.Serial != 2 || len(c.Entries) != 2 || c.Entries[0].Version != "1.3.0" {
			t.Fatalf("%s: %+v", list, c)
		}
		e := c.Entries[1]
		if e.Name != "hand" || e.Version != "1.2.3" || !strings.HasPrefix(e.From, from) || e.SHA256 != first.Manifest || e.Signer.String() != first.Signer || e.Size != int64(first.Size) || e.Description == "" {
			t.Errorf("%s: %+v", list, e)
		}
		if !strings.Contains(first.Entry, "[[plugins]]\nname = \"hand\"\nversion = \"1.2.3\"\n") {
			t.Errorf("the entry is %s", first.Entry)
		}
		// A version is final, in a directory too.
		setVersion(t, dir, "1.3.0", "\n# changed\n")
		_, err = push()
		hosttest.WantUsage(t, err, "a version is final")
		if got := readCatalogue(t, list, first.Signer); got.Serial != 2 {
			t.Errorf("the catalogue has the number %d", got.Serial)
		}
	}
}

// TestReplacedEntryIsNamed pushes a version to a second place, and its sources in another state.
func TestReplacedEntryIsNamed(t *testing.T) {
	dir, home, out := newSource(t, nil), t.TempDir(), t.TempDir()
	list := filepath.Join(out, "catalogue.toml")
	first, err := pushTo(t, dir, filepath.Join(out, "one"), list, home)
	if err != nil || !first.NewCatalogue || first.Replaced != "" {
		t.Fatalf("%+v, %v", first, err)
	}
	for _, place := range []string{"one", "two", "two"} {
		before := readCatalogue(t, list, first.Signer).Entries[0]
		p, err := pushTo(t, dir, filepath.Join(out, place), list, home)
		if err != nil || p.NewCatalogue {
			t.Fatalf("%+v, %v", p, err)
		}
		want := before.TOML()
		if now := readCatalogue(t, list, first.Signer).Entries[0]; now.From == before.From {
			want = ""
		}
		if p.Replaced != want {
			t.Errorf("pushed to %s: %q is replaced, want %q", place, p.Replaced, want)
		}
		if place == "two" {
			testenv.WriteFile(t, filepath.Join(dir, "lib", "more.c"), "more")
		}
	}
}

func TestCatalogueOfOthersIsNotSigned(t *testing.T) {
	dir, home, out := newSource(t, nil), t.TempDir(), t.TempDir()
	list := filepath.Join(out, "catalogue.toml")
	p, err := pushTo(t, dir, out, list, home)
	if err != nil {
		t.Fatal(err)
	}
	setVersion(t, dir, "1.3.0", "")
	_, err = pushTo(t, dir, out, list, t.TempDir()) // with another key
	hosttest.WantUsage(t, err, "it is signed with another key", "use the key that signs it, with --key")
	text, err := os.ReadFile(list)
	if err != nil {
		t.Fatal(err)
	}
	changed := []byte(strings.Replace(string(text), "serial = 1", "serial = 7", 1))
	if err := os.WriteFile(list, changed, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = pushTo(t, dir, out, list, home)
	hosttest.WantUsage(t, err, "the signature does not fit the file", "if you have changed it yourself, remove "+list+".minisig")
	if _, err := os.Stat(filepath.Join(out, "hand-1.3.0.plugin.tar")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the archive was published: %v", err)
	}
	// Without its signature the file is the author's own.
	if err := os.Remove(list + ".minisig"); err != nil {
		t.Fatal(err)
	}
	if p, err := pushTo(t, dir, out, list, home); err != nil || p.Serial != 8 {
		t.Errorf("%+v, %v", p, err)
	}
	if c := readCatalogue(t, list, p.Signer); c.Serial != 8 || len(c.Entries) != 2 {
		t.Errorf("%+v", c)
	}
	if err := errors.Join(os.WriteFile(list, []byte("catalogue = 1\n"), 0o600), os.Remove(list+".minisig")); err != nil {
		t.Fatal(err)
	}
	_, err = pushTo(t, dir, out, list, home)
	hosttest.WantUsage(t, err, "catalogue.toml: serial: is not a positive integer")
	for text, want := range map[string]string{"https://a.example/catalogue.toml": "is neither a file nor oci://", "oci://a.example/list": "has neither tag nor digest"} {
		_, err := pushTo(t, dir, out, text, home)
		hosttest.WantUsage(t, err, want)
	}
}
