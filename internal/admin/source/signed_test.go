package source

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

	inprocess "github.com/google/go-containerregistry/pkg/registry"

	"github.com/bulkhead-mcp/bulkhead/internal/admin/registry"
	"github.com/bulkhead-mcp/bulkhead/internal/base/signature"
	"github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"
)

func signed(t *testing.T, content string) (key signature.Key, text string) {
	t.Helper()
	private, err := signature.Generate()
	if err != nil {
		t.Fatal(err)
	}
	sig, err := private.Sign(strings.NewReader(content), "a list")
	if err != nil {
		t.Fatal(err)
	}
	return private.Public(), string(sig)
}

func TestDocument(t *testing.T) {
	const content = "serial = 1\n"
	key, sig := signed(t, content)
	other, _ := signed(t, content)
	dir := t.TempDir()
	file := filepath.Join(dir, "list.toml")
	if err := errors.Join(os.WriteFile(file, []byte(content), 0o600), os.WriteFile(file+".minisig", []byte(sig), 0o600)); err != nil {
		t.Fatal(err)
	}
	files := httptest.NewServer(http.FileServer(http.Dir(dir)))
	defer files.Close()
	server := httptest.NewServer(inprocess.New(inprocess.Logger(log.New(io.Discard, "", 0))))
	defer server.Close()
	image := "oci://" + strings.TrimPrefix(server.URL, "http://") + "/team/list:latest"
	ref, err := registry.Parse(image)
	if err == nil {
		_, err = (&registry.Client{}).Push(t.Context(), ref, registry.Artifact{Kind: registry.Document, Title: "list", Content: []byte(content), Signature: []byte(sig)})
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, from := range []string{file, files.URL + "/list.toml", image} {
		d, err := (&Fetcher{}).Document(t.Context(), from, key)
		if err != nil || string(d.Content) != content || string(d.Signature) != sig {
			t.Errorf("%s: %+v, %v", from, d, err)
		}
		if _, err := (&Fetcher{}).Document(t.Context(), from, other); err == nil || !strings.Contains(err.Error(), from+": it is signed with another key") {
			t.Errorf("%s with another key: %v", from, err)
		}
		if _, err := (&Fetcher{}).Document(t.Context(), from, signature.Key{}); err == nil || !strings.Contains(err.Error(), "there is no key") {
			t.Errorf("%s without a key: %v", from, err)
		}
	}
	if _, err := (&registry.Client{}).Pull(t.Context(), ref); err == nil || !strings.Contains(err.Error(), "it is no plugin") {
		t.Errorf("a document is taken for a plugin: %v", err)
	}
	ref.Tag = "1.0.0"
	if _, err := (&registry.Client{}).Push(t.Context(), ref, registry.Artifact{Title: "it", Version: "1.0.0", Content: []byte(content), Signature: []byte(sig)}); err != nil {
		t.Fatal(err)
	}
	if _, err := (&Fetcher{}).Document(t.Context(), ref.String(), key); err == nil || !strings.Contains(err.Error(), "it is no document") {
		t.Errorf("a plugin is taken for a document: %v", err)
	}
}

func TestDocumentRefuses(t *testing.T) {
	const content = "serial = 1\n"
	key, sig := signed(t, content)
	write := func(content []byte, sig string) string {
		file := filepath.Join(t.TempDir(), "list.toml")
		err := os.WriteFile(file, content, 0o600)
		if sig != "" {
			err = errors.Join(err, os.WriteFile(file+".minisig", []byte(sig), 0o600))
		}
		if err != nil {
			t.Fatal(err)
		}
		return file
	}
	big := bytes.Repeat([]byte("#"), tomlfile.MaxSize+1)
	endless := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(big) }))
	defer endless.Close()
	for name, c := range map[string]struct{ from, want string }{
		"no file":            {filepath.Join(t.TempDir(), "none"), "no such file"},
		"no signature":       {write([]byte(content), ""), "it is not signed, and must be signed with the key " + key.String()},
		"changed content":    {write([]byte("serial = 2\n"), sig), "the signature does not fit the file"},
		"no valid signature": {write([]byte(content), "x"), "its signature cannot be used"},
		"a large file":       {write(big, sig), "too large"},
		"an endless answer":  {endless.URL + "/list.toml", "the server sends more than 1048576 bytes"},
		"a directory":        {t.TempDir(), "not a regular file"},
		"plain HTTP":         {"http://a.example/list.toml", "is not encrypted"},
		"a password":         {"https://me:secret@a.example/list.toml", "contains a user name or password"},
		"a fragment":         {"https://a.example/list.toml#sha256=00", "has a fragment"},
		"no host":            {"https:///list.toml", "has no host"},
		"no tag":             {"oci://a.example/list", "has neither tag nor digest"},
	} {
		d, err := (&Fetcher{}).Document(t.Context(), c.from, key)
		if err == nil || d != nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: got %+v, %v; want %s", name, d, err, c.want)
		}
	}
}
