package install_test

import (
	"bytes"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"

	inprocess "github.com/google/go-containerregistry/pkg/registry"

	"github.com/bulkhead-mcp/bulkhead/internal/admin/admintest"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/install"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/registry"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/source"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/hosttest"
	"github.com/bulkhead-mcp/bulkhead/internal/base/signature"
)

// push signs the archive of the plugin "first" as it is now, with a version, and pushes it to a repository. It returns the reference with the tag.
func push(t *testing.T, w *admintest.Workspace, repository, version string, key signature.Private) string {
	t.Helper()
	w.Version(t, "first", version, "")
	data, err := os.ReadFile(strings.TrimPrefix(w.Archive(t, "first", version), "file:"))
	if err != nil {
		t.Fatal(err)
	}
	text, err := key.Sign(bytes.NewReader(data), "first "+version)
	if err != nil {
		t.Fatal(err)
	}
	ref, err := registry.Parse(repository + ":" + version)
	if err == nil {
		_, err = (&registry.Client{}).Push(t.Context(), ref, registry.Artifact{Title: "first", Version: version, Content: data, Signature: text})
	}
	if err != nil {
		t.Fatal(err)
	}
	return ref.String()
}

// TestPluginOfRegistry adds a signed plugin of a registry, updates it, refuses a version of another signer, goes back, and fetches it on
// another machine.
func TestPluginOfRegistry(t *testing.T) {
	server := httptest.NewServer(inprocess.New(inprocess.Logger(log.New(io.Discard, "", 0))))
	defer server.Close()
	w := admintest.New(t)
	w.Plugin(t, "first", "")
	repository := "oci://" + strings.TrimPrefix(server.URL, "http://") + "/team/first"
	author := newKey(t)
	p := addFetched(t, w, push(t, w, repository, "1.0.0", author), install.Addition{})
	if from := p.Source.From; !strings.HasPrefix(from, repository+":1.0.0@sha256:") || p.Source.Signer != author.Public().String() {
		t.Errorf("got %+v", p.Source)
	}
	if u := updateOf(t, w); u.State != install.Current {
		t.Errorf("got %+v", u)
	}

	push(t, w, repository, "1.1.0", author)
	push(t, w, repository, "2.0.0", author)
	if u := updateOf(t, w); u.State != install.Outdated || u.Newest != "1.1.0" || u.Beyond != "2.0.0" {
		t.Errorf("got %+v", u)
	}
	if _, err := updateTo(t, w, "1.1.0"); err != nil {
		t.Fatal(err)
	}
	config := w.Read(t, "work/bulkhead.toml")
	if !strings.Contains(config, "from = \""+repository+":1.1.0@sha256:") || !strings.Contains(config, "signer = \""+author.Public().String()+"\"") ||
		!slices.Equal(served(t, w), []string{"first 1.1.0"}) {
		t.Errorf("served: %q, the config is %s", served(t, w), config)
	}

	push(t, w, repository, "1.2.0", newKey(t))
	_, err := updateTo(t, w, "1.2.0")
	hosttest.WantUsage(t, err, "it is signed with another key", "must be signed with "+author.Public().String())
	if got := served(t, w); !slices.Equal(got, []string{"first 1.1.0"}) {
		t.Errorf("served: %q", got)
	}

	// The former version is in the store.
	if _, err := updateTo(t, w, "1.0.0"); err != nil || !slices.Equal(served(t, w), []string{"first 1.0.0"}) {
		t.Errorf("served: %q, %v", served(t, w), err)
	}
	removeAll(t, w, "home/.local") // another machine
	all, err := install.FetchPinned(t.Context(), w.Options(), fetcher)
	if err != nil || len(all) != 1 || all[0].State != install.Fetched || !slices.Equal(served(t, w), []string{"first 1.0.0"}) {
		t.Errorf("got %+v, %v, served %q", all, err, served(t, w))
	}
}

// TestStoredVersionNeedsItsSigner changes the record of a version in the store: going back to it verifies the signature again.
func TestStoredVersionNeedsItsSigner(t *testing.T) {
	w := admintest.New(t)
	w.Plugin(t, "first", "")
	author, other := newKey(t), newKey(t)
	first := w.Archive(t, "first", "1.0.0")
	signArchive(t, first, author)
	p := addFetched(t, w, first, install.Addition{})
	w.Version(t, "first", "1.1.0", "")
	signArchive(t, w.Archive(t, "first", "1.1.0"), author)
	if _, err := updateTo(t, w, "1.1.0"); err != nil {
		t.Fatal(err)
	}
	record := pluginStore(t, w).Path(p.Plugin.Digest) + "/origin.json"
	text, err := os.ReadFile(record)
	if err != nil {
		t.Fatal(err)
	}
	for _, change := range []struct{ old, fresh, want string }{
		{`"signer": "` + author.Public().String(), `"signer": "` + other.Public().String(), "it is signed with another key"},
		{`"signer": "RW`, `"signer": "XX`, "the signer in its record is no public key"},
		{"trusted comment: comment", "trusted comment: another", "the signature does not fit the file"},
		{`"signature": "`, `"other": "`, "it is not signed, and signer ("},
	} {
		changed := strings.Replace(string(text), change.old, change.fresh, 1)
		if changed == string(text) {
			t.Fatalf("%q is not in %s", change.old, text)
		}
		if err := os.WriteFile(record, []byte(changed), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := updateTo(t, w, "1.0.0")
		hosttest.WantUsage(t, err, change.want)
	}
	if err := os.WriteFile(record, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := updateTo(t, w, "1.0.0"); err != nil {
		t.Error(err)
	}
}

func TestVersionsOfRegistry(t *testing.T) {
	server := httptest.NewServer(inprocess.New(inprocess.Logger(log.New(io.Discard, "", 0))))
	defer server.Close()
	w := admintest.New(t)
	w.Plugin(t, "first", "")
	repository := "oci://" + strings.TrimPrefix(server.URL, "http://") + "/first"
	for _, tag := range []string{"1.0.0", "v1.0.0", "v1.1.0", "1.2.0_build.1", "latest", "1.3"} {
		ref, err := registry.Parse(repository + ":" + tag)
		if err == nil {
			_, err = (&registry.Client{}).Push(t.Context(), ref, registry.Artifact{Title: "first", Version: tag, Content: []byte(tag)})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	r, err := source.Parse(repository+":1.0.0", "/")
	if err != nil {
		t.Fatal(err)
	}
	versions, err := (&source.Fetcher{}).Versions(t.Context(), r, "1.0.0")
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, v := range versions {
		got[v.Version] = v.Reference.String()
	}
	hosttest.WantEqual(t, got, map[string]string{"1.0.0": repository + ":1.0.0", "1.1.0": repository + ":v1.1.0", "1.2.0+build.1": repository + ":1.2.0_build.1"})
}
