package publish

import (
	"bytes"
	"errors"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	inprocess "github.com/google/go-containerregistry/pkg/registry"

	"github.com/bulkhead-mcp/bulkhead/internal/admin/registry"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/source"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/hosttest"
	"github.com/bulkhead-mcp/bulkhead/internal/base/signature"
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
		"no plugin":            {func(o *RevokeOptions) { o.Plugins = []string{"abc"} }, `"abc" is neither a SHA-256 nor a file`},
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

func TestRevokePushesList(t *testing.T) {
	server := httptest.NewServer(inprocess.New(inprocess.Logger(log.New(io.Discard, "", 0))))
	defer server.Close()
	o := revoking(t, strings.Repeat("ab", 32))
	o.Push = "oci://" + strings.TrimPrefix(server.URL, "http://") + "/team/revoked:latest"
	for serial := range int64(2) {
		l, err := Revoke(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		key, err := signature.ParseKey(l.Signer)
		if err != nil {
			t.Fatal(err)
		}
		got, err := (&source.Fetcher{}).Document(t.Context(), l.Pushed, key)
		if err != nil {
			t.Fatal(err)
		}
		if have, err := revocation.Serial(got.Content); err != nil || have != serial+1 {
			t.Errorf("got serial %d, %v", have, err)
		}
	}
}
