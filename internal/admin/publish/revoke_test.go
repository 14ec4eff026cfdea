package publish

import (
	"bytes"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	inprocess "github.com/google/go-containerregistry/pkg/registry"

	"github.com/bulkhead-mcp/bulkhead/internal/admin/registry"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/source"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/build"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/hosttest"
	"github.com/bulkhead-mcp/bulkhead/internal/base/signature"
	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
	"github.com/bulkhead-mcp/bulkhead/internal/base/userfile"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/revocation"
)

// revoking returns options for a new list.
func revoking(t *testing.T, plugins ...string) RevokeOptions {
	t.Helper()
	dir := t.TempDir()
	return RevokeOptions{File: filepath.Join(dir, "revoked.toml"), Plugins: plugins, Reason: "sends notes elsewhere", Key: filepath.Join(dir, "key", "signing.key"), Client: &registry.Client{}}
}

// readSigned returns the list in a file, whose signature must be that of the key.
func readSigned(t *testing.T, l *RevokedList) *revocation.List {
	t.Helper()
	content, err := os.ReadFile(l.File)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(l.File + ".minisig")
	if err != nil {
		t.Fatal(err)
	}
	key, kerr := signature.ParseKey(l.Signer)
	s, serr := signature.Parse(text)
	if err := errors.Join(kerr, serr); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Verify(bytes.NewReader(content), key); err != nil {
		t.Error(err)
	}
	list, err := revocation.Parse(l.File, content)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func TestRevokeSignsLists(t *testing.T) {
	dir := t.TempDir()
	text := []byte(strings.Replace(manifestText, `file = "hand.wasm"`, "file = \"hand.wasm\"\nsha256 = \""+strings.Repeat("c", 64)+"\"", 1))
	if err := os.WriteFile(filepath.Join(dir, "plugin.toml"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	other := strings.Repeat("ab", 32)
	o := revoking(t, dir, strings.ToUpper(other))
	first, err := Revoke(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	list := readSigned(t, first)
	if reason, revoked := list.Reason(userfile.Digest(text)); !revoked || reason != o.Reason || first.Serial != 1 || !first.NewKey || len(first.Revoked) != 2 || first.Revoked[0].Plugin != "hand 1.2.3" {
		t.Errorf("got %q, %+v", reason, first)
	}
	if _, revoked := list.Reason(other); !revoked {
		t.Errorf("got %+v", list)
	}
	if left := time.Until(list.Expires); left < validity || left > validity+24*time.Hour {
		t.Errorf("it expires in %v", left)
	}

	o.Plugins, o.Reason, o.Expires = nil, "", "2999-01-31"
	next, err := Revoke(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if list := readSigned(t, next); next.Serial != 2 || next.NewKey || next.Signer != first.Signer || next.Expires != "2999-01-31" || len(list.Revoked) != 2 || list.Revoked[0].Reason != "sends notes elsewhere" {
		t.Errorf("got %+v", next)
	}
	o.Plugins, o.Reason = []string{other}, "another reason\x1b[31m"
	if again, err := Revoke(t.Context(), o); err != nil || len(again.Revoked) != 2 || again.Revoked[1].Reason != "another reason·[31m" {
		t.Errorf("got %+v, %v", again, err)
	}
}

func TestRevokeRefuses(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"archive.tar": "x", "invalid.toml": "x = 1\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		change func(o *RevokeOptions)
		want   string
	}{
		"no reason":            {func(o *RevokeOptions) { o.Reason = " " }, "--reason TEXT"},
		"no plugin":            {func(o *RevokeOptions) { o.Plugins = []string{"abc"} }, `"abc" is neither a file nor the SHA-256 of a plugin.toml`},
		"no archive":           {func(o *RevokeOptions) { o.Plugins = []string{filepath.Join(dir, "archive.tar")} }, "it is not the archive of a plugin"},
		"no built plugin":      {func(o *RevokeOptions) { o.Plugins = []string{dir} }, "plugin.toml: there is no such file"},
		"an invalid list":      {func(o *RevokeOptions) { o.File = filepath.Join(dir, "invalid.toml") }, "invalid.toml:1: x: is not a known key"},
		"an invalid day":       {func(o *RevokeOptions) { o.Expires = "tomorrow" }, `--expires "tomorrow": is not a day`},
		"a tag that is absent": {func(o *RevokeOptions) { o.Push = "oci://h.example/revoked" }, "must have a tag"},
		"a web server":         {func(o *RevokeOptions) { o.Push = "https://h.example/revoked" }, "https://h.example/revoked"},
	} {
		t.Run(name, func(t *testing.T) {
			o := revoking(t, strings.Repeat("ab", 32))
			c.change(&o)
			_, err := Revoke(t.Context(), o)
			hosttest.WantUsage(t, err, c.want)
			if entries, err := os.ReadDir(filepath.Dir(o.Key)); err == nil {
				t.Errorf("a key was made: %v", entries)
			}
		})
	}
}

// newRegistry starts a registry, and returns the start of references to it.
func newRegistry(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(inprocess.New(inprocess.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(server.Close)
	return "oci://" + strings.TrimPrefix(server.URL, "http://")
}

func mustRevoke(t *testing.T, o RevokeOptions) *RevokedList {
	t.Helper()
	l, err := Revoke(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// pushed returns the list in the registry.
func pushed(t *testing.T, l *RevokedList) *revocation.List {
	t.Helper()
	key, err := signature.ParseKey(l.Signer)
	if err != nil {
		t.Fatal(err)
	}
	got, err := (&source.Fetcher{}).Document(t.Context(), l.Pushed, key)
	if err != nil {
		t.Fatal(err)
	}
	list, err := revocation.Parse("pushed.toml", got.Content)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func TestRevokePushesList(t *testing.T) {
	o := revoking(t, strings.Repeat("ab", 32))
	o.Push = newRegistry(t) + "/team/revoked:latest"
	for serial := range int64(2) {
		l := mustRevoke(t, o)
		if have := pushed(t, l); have.Serial != serial+1 || l.New != (serial == 0) || l.Continued != 0 {
			t.Errorf("got serial %d, %+v", have.Serial, l)
		}
	}
}

func TestRevokeContinuesPushedListWithoutFile(t *testing.T) {
	o := revoking(t, strings.Repeat("ab", 32))
	o.Push = newRegistry(t) + "/team/revoked:latest"
	mustRevoke(t, o)
	mustRevoke(t, o)
	o.File, o.Plugins = filepath.Join(t.TempDir(), "new.toml"), []string{strings.Repeat("cd", 32)}
	l := mustRevoke(t, o)
	if have := pushed(t, l); have.Serial != 3 || len(have.Revoked) != 2 || l.New || l.Continued != 2 || len(readSigned(t, l).Revoked) != 2 {
		t.Errorf("got %+v of %+v", have, l)
	}
}

func TestRevokeKeepsPushedList(t *testing.T) {
	o := revoking(t, strings.Repeat("ab", 32))
	o.Push = newRegistry(t) + "/team/revoked:latest"
	mustRevoke(t, o)
	older, err := os.ReadFile(o.File)
	if err != nil {
		t.Fatal(err)
	}
	o.Plugins = []string{strings.Repeat("cd", 32)}
	newest := mustRevoke(t, o)
	refuse := func(change func(o *RevokeOptions), want ...string) {
		t.Helper()
		changed := o
		changed.File = filepath.Join(t.TempDir(), "list.toml")
		change(&changed)
		before, readErr := os.ReadFile(changed.File)
		_, err := Revoke(t.Context(), changed)
		hosttest.WantUsage(t, err, want...)
		if have := pushed(t, newest); have.Serial != 2 || len(have.Revoked) != 2 {
			t.Errorf("the registry has %+v", have)
		}
		if after, err := os.ReadFile(changed.File); !bytes.Equal(before, after) || (err == nil) != (readErr == nil) {
			t.Errorf("the file was changed to %s, %v", after, err)
		}
	}
	refuse(func(o *RevokeOptions) { testenv.WriteFile(t, o.File, string(older)) }, "has the serial number 1", "has the newer list 2", "move "+"/")
	without := "revocations = 1\nserial = 2\nexpires = \"2999-12-31\"\n"
	refuse(func(o *RevokeOptions) { testenv.WriteFile(t, o.File, without) }, "revokes "+strings.Repeat("ab", 32), "--withdraw")
	refuse(func(o *RevokeOptions) { o.Key = filepath.Join(t.TempDir(), "other.key") }, "has a list already", "it is signed with another key", "--key")

	o.File, o.Withdraw = filepath.Join(t.TempDir(), "list.toml"), true
	testenv.WriteFile(t, o.File, without)
	if have := pushed(t, mustRevoke(t, o)); have.Serial != 3 || len(have.Revoked) != 1 {
		t.Errorf("got %+v", have)
	}
}

// TestRevokeKeepsDamagedList has a registry that has lost the content of the list, which is not the same as no list.
func TestRevokeKeepsDamagedList(t *testing.T) {
	lost := false
	registry := inprocess.New(inprocess.Logger(log.New(io.Discard, "", 0)))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if lost && r.Method == http.MethodGet && strings.Contains(r.URL.Path, "/blobs/") {
			http.NotFound(w, r)
			return
		}
		registry.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	o := revoking(t, strings.Repeat("ab", 32))
	o.Push = "oci://" + strings.TrimPrefix(server.URL, "http://") + "/team/revoked:latest"
	mustRevoke(t, o)
	lost, o.File = true, filepath.Join(t.TempDir(), "new.toml")
	_, err := Revoke(t.Context(), o)
	hosttest.WantUsage(t, err, "the registry does not have it: status 404")
}

func TestRevokeAcceptsReferencesAndVersions(t *testing.T) {
	dir, home, host := newSource(t, nil), t.TempDir(), newRegistry(t)
	o := revoking(t)
	o.Key = filepath.Join(home, "signing.key")
	p, err := Publish(t.Context(), Options{Dir: dir, Ref: host + "/team/hand", Key: o.Key, Catalogue: host + "/team/catalogue:latest",
		Build: build.Options{Out: filepath.Join(t.TempDir(), "built")}, Client: &registry.Client{}})
	if err != nil {
		t.Fatal(err)
	}
	out := t.TempDir()
	if _, err := pushTo(t, dir, out, "", home); err != nil {
		t.Fatal(err)
	}
	o.Catalogue = p.Catalogue
	for _, plugin := range []string{p.From, host + "/team/hand:1.2.3", "file:" + filepath.Join(out, "hand-1.2.3.plugin.tar"), filepath.Join(out, "hand-1.2.3.plugin.tar"), "hand@1.2.3"} {
		o.File, o.Plugins = filepath.Join(t.TempDir(), "list.toml"), []string{plugin}
		if l := mustRevoke(t, o); len(l.Revoked) != 1 || l.Revoked[0].SHA256 != p.Manifest || l.Revoked[0].Plugin != "hand 1.2.3" {
			t.Errorf("%s: got %+v", plugin, l)
		}
	}
	for plugin, want := range map[string]string{
		"hand@1.2.4": "has no version 1.2.4 of hand: there are 1.2.3", "other@1.2.3": "has no plugin other", "hand@1": "NAME@VERSION with --catalogue",
		dir: "this is the source of a plugin", host + "/team/hand:9.9.9": "the registry does not have it", host + "/team/hand": "has neither tag nor digest", host + "/team/catalogue:latest": "it is no plugin",
	} {
		o.Plugins = []string{plugin}
		_, err := Revoke(t.Context(), o)
		hosttest.WantUsage(t, err, want)
	}
	o.Plugins, o.Catalogue = []string{"hand@1.2.3"}, ""
	_, err = Revoke(t.Context(), o)
	hosttest.WantUsage(t, err, "name it with --catalogue")
	o.Catalogue, o.Key = p.Catalogue, filepath.Join(t.TempDir(), "other.key")
	_, err = Revoke(t.Context(), o)
	hosttest.WantUsage(t, err, "it is signed with another key")
}
