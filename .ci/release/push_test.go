package main

import (
	"archive/tar"
	"bytes"
	"context"
	"fmt"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"aead.dev/minisign"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/opencontainers/go-digest"
)

// signedRelease is a release with a plugin and an image, signed by a key.
func signedRelease(t *testing.T) (*release, minisign.PublicKey) {
	t.Helper()
	file, public := newKey(t, "")
	t.Setenv("SOURCE_DATE_EPOCH", "1000000000")
	r := packTwice(t, func(r *release) error {
		r.keyFile, r.registry, r.platforms = file, "127.0.0.1:1/ada/bulkhead", []platform{{"linux", "amd64"}}
		writePlugin(t, r, "notes", "1.0.0")
		for _, step := range []func(context.Context) error{r.makeImage, r.makeSums, r.signBuilt} {
			if err := step(t.Context()); err != nil {
				return err
			}
		}
		return nil
	})
	return r, public
}

// writePlugin writes the archive of a plugin to the files of a release, and returns its path.
func writePlugin(t *testing.T, r *release, name, version string, more ...string) string {
	t.Helper()
	files := append([]string{"plugin.toml", fmt.Sprintf("[plugin]\nname = %q\nversion = %q\ndescription = \"Keeps notes.\"\n", name, version)}, more...)
	path := filepath.Join(r.files, name+"-"+version+pluginExtension)
	err := createFile(path, func(w io.Writer) error {
		out := tar.NewWriter(w)
		for file := range slices.Chunk(files, 2) {
			if err := out.WriteHeader(&tar.Header{Name: file[0], Mode: 0o644, Size: int64(len(file[1]))}); err != nil {
				return err
			}
			if _, err := io.WriteString(out, file[1]); err != nil {
				return err
			}
		}
		return out.Close()
	})
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func startRegistry(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://") + "/ada/bulkhead"
}

func TestSignedFilesVerify(t *testing.T) {
	r, public := signedRelease(t)
	for file, comment := range map[string]string{sumsFile: "bulkhead v1.2.3", "notes-1.0.0.plugin.tar": "notes 1.0.0 plugin.toml sha256:", catalogueFile: "bulkhead v1.2.3"} {
		hashed := minisign.NewReader(bytes.NewReader(readBytes(t, filepath.Join(r.files, file))))
		if _, err := io.Copy(io.Discard, hashed); err != nil {
			t.Fatal(err)
		}
		text := readBytes(t, filepath.Join(r.files, file+signatureExtension))
		if !hashed.Verify(public, text) || !strings.Contains(string(text), "\ntrusted comment: "+comment) {
			t.Errorf("%s has the signature\n%s", file, text)
		}
	}
	sums := string(readBytes(t, filepath.Join(r.files, sumsFile)))
	if !strings.Contains(sums, "  notes-1.0.0.plugin.tar.minisig\n") || strings.Contains(sums, sumsFile) {
		t.Errorf("the sums are\n%s", sums)
	}
	if err := r.signBuilt(t.Context()); err != nil { // again
		t.Error(err)
	}
	if again := string(readBytes(t, filepath.Join(r.files, sumsFile))); again != sums {
		t.Errorf("signing again changes\n%s\nto\n%s", sums, again)
	}
}

func TestSignRefusesOtherFiles(t *testing.T) {
	for want, change := range map[string]func(r *release) error{
		"is not the file that SHA256SUMS names": func(r *release) error {
			return os.WriteFile(filepath.Join(r.files, "notes-1.0.0.plugin.tar"), []byte("other"), 0o644)
		},
		"which is no file of a release": func(r *release) error { return os.WriteFile(filepath.Join(r.files, "other"), nil, 0o644) },
		"no such file":                  func(r *release) error { return os.Remove(filepath.Join(r.files, r.imageFile())) },
		"has the invalid line": func(r *release) error {
			return os.WriteFile(filepath.Join(r.files, sumsFile), append(readBytes(t, filepath.Join(r.files, sumsFile)), strings.Repeat("0", 64)+"  ../x\n"...), 0o644)
		},
	} {
		r, _ := signedRelease(t)
		r.registry = startRegistry(t)
		if err := change(r); err != nil {
			t.Fatal(err)
		}
		for name, step := range map[string]func(context.Context) error{"sign": r.signBuilt, "push": r.push} {
			if err := step(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: got %v, want %q", name, err, want)
			}
		}
	}
}

func TestPluginsAreWhatTheirFilesSay(t *testing.T) {
	r := packedRelease(t)
	if _, err := r.loadPlugins(); err == nil || !strings.Contains(err.Error(), "contains no archive of a plugin") {
		t.Errorf("got %v", err)
	}
	writePlugin(t, r, "notes", "1.0.0")
	if err := os.Rename(filepath.Join(r.files, "notes-1.0.0.plugin.tar"), filepath.Join(r.files, "notes-1.0.1.plugin.tar")); err != nil {
		t.Fatal(err)
	}
	if _, err := r.loadPlugins(); err == nil || !strings.Contains(err.Error(), "notes-1.0.1.plugin.tar: it contains the plugin notes 1.0.0") {
		t.Errorf("got %v", err)
	}
}

func TestSourcesOfPluginsAreThoseThatGitTracks(t *testing.T) {
	r := packedRelease(t)
	if err := writeFiles(filepath.Join(r.root, "plugins", "notes"), map[string][]byte{"main.go": nil, "draft.log": nil}); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"init", "--quiet"}, {"add", "plugins/notes/main.go"}} {
		if _, err := r.output(t.Context(), "git", args...); err != nil {
			t.Fatal(err)
		}
	}
	line := strings.Repeat("0", 64) + "  "
	if err := r.checkSources(t.Context(), "notes", writePlugin(t, r, "notes", "1.0.0", "sources.sha256", line+"main.go\n")); err != nil {
		t.Error(err)
	}
	file := writePlugin(t, r, "notes", "1.0.0", "sources.sha256", line+"draft.log\n"+line+"main.go\n")
	if err := r.checkSources(t.Context(), "notes", file); err == nil || !strings.Contains(err.Error(), "plugins/notes/draft.log is a source of the plugin, and git does not track it") {
		t.Errorf("got %v", err)
	}
	if r.snapshot = true; r.checkSources(t.Context(), "notes", file) != nil {
		t.Error("a snapshot is refused")
	}
}

func TestPushStoresImageAndPlugins(t *testing.T) {
	r, _ := signedRelease(t)
	r.registry = startRegistry(t)
	for range 2 { // what is there is no fault
		if err := r.push(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	image, err := remote.Image(tagOf(t, r.registry+":1.2.3"), remote.WithPlatform(v1.Platform{OS: "linux", Architecture: "amd64"}))
	if err != nil {
		t.Fatal(err)
	}
	if config, err := image.ConfigFile(); err != nil || config.Config.Entrypoint[0] != "/opt/bulkhead/bulkhead" {
		t.Errorf("got %+v, %v", config, err)
	}
	artifact, err := remote.Image(tagOf(t, r.registry+"/plugins/notes:1.0.0"))
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := artifact.RawManifest()
	if err != nil || !strings.Contains(string(manifest), `"artifactType":"application/vnd.bulkhead.plugin.v1"`) {
		t.Errorf("got %s, %v", manifest, err)
	}
	layers, err := artifact.Layers()
	if err != nil || len(layers) != 2 {
		t.Fatalf("%d layers, %v", len(layers), err)
	}
	for i, file := range []string{"notes-1.0.0.plugin.tar", "notes-1.0.0.plugin.tar.minisig"} {
		content, err := layers[i].Compressed()
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(content); err != nil || !bytes.Equal(got, readBytes(t, filepath.Join(r.files, file))) {
			t.Errorf("%s is not what was pushed: %v", file, err)
		}
	}
}

func TestPushReplacesNoVersion(t *testing.T) {
	r, _ := signedRelease(t)
	r.registry = startRegistry(t)
	if err := r.push(t.Context()); err != nil {
		t.Fatal(err)
	}
	other, _ := signedRelease(t) // by another key
	other.registry, other.version = r.registry, "v1.2.4"
	if err := os.Rename(filepath.Join(other.files, r.imageFile()), filepath.Join(other.files, other.imageFile())); err != nil {
		t.Fatal(err)
	}
	if err := other.makeSums(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := other.push(t.Context()); err == nil || !strings.Contains(err.Error(), "/plugins/notes:1.0.0 with the digest sha256:") || !strings.Contains(err.Error(), "nothing was pushed") {
		t.Errorf("got %v", err)
	}
	if _, err := remote.Get(tagOf(t, r.registry+":1.2.4")); err == nil {
		t.Error("the image was pushed")
	}
}

func TestCatalogueNamesPlugins(t *testing.T) {
	r, public := signedRelease(t)
	p, err := loadPlugin(filepath.Join(r.files, "notes-1.0.0.plugin.tar"))
	if err != nil {
		t.Fatal(err)
	}
	server := startRegistry(t)
	for _, c := range []struct{ registry, download, from string }{
		{server, "https://example.org/v1.2.3", "oci://" + server + "/plugins/notes:1.0.0@"},
		{"", "https://example.org/v1.2.3", "https://example.org/v1.2.3/notes-1.0.0.plugin.tar#sha256=" + digest.FromBytes(p.archive).Encoded()},
	} {
		r.registry, r.download = c.registry, c.download
		if err := r.signBuilt(t.Context()); err != nil {
			t.Fatal(err)
		}
		if c.registry != "" {
			if err := r.push(t.Context()); err != nil {
				t.Fatal(err)
			}
			pushed, err := remote.Get(tagOf(t, r.registry+"/plugins/notes:1.0.0"))
			if err != nil {
				t.Fatal(err)
			}
			c.from += pushed.Digest.String()
		}
		want := fmt.Sprintf("catalogue = 1\nserial = 1000000000\n\n[[plugins]]\nname = \"notes\"\nversion = \"1.0.0\"\ndescription = \"Keeps notes.\"\nfrom = %q\nsha256 = %q\nsigner = %q\nsize = %d\n",
			c.from, p.manifest, public, len(p.archive))
		if got := string(readBytes(t, filepath.Join(r.files, catalogueFile))); got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	}
}

func TestPushNeedsSignatures(t *testing.T) {
	r, _ := signedRelease(t)
	r.registry = startRegistry(t)
	if err := os.Remove(filepath.Join(r.files, "notes-1.0.0.plugin.tar.minisig")); err != nil {
		t.Fatal(err)
	}
	if err := r.makeSums(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := r.push(t.Context()); err == nil || !strings.Contains(err.Error(), "notes-1.0.0.plugin.tar is not signed: run `release sign v1.2.3` first") {
		t.Errorf("got %v", err)
	}
}

func tagOf(t *testing.T, text string) name.Tag {
	t.Helper()
	tag, err := name.NewTag(text)
	if err != nil {
		t.Fatal(err)
	}
	return tag
}
