package main

import (
	"archive/zip"
	"bytes"
	"crypto/rand"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"aead.dev/minisign"
)

func TestPythonVersionsHaveOrderOfSemanticVersions(t *testing.T) {
	for version, want := range map[string]string{
		"v1.2.3": "1.2.3", "v1.3.0-rc.1": "1.3.0rc1", "v1.3.0-alpha.12": "1.3.0a12", "v1.3.0-beta.2": "1.3.0b2",
		"v0.0.0-test": "0.0.0.dev0+test", "v1.0.0-RC-1.x": "1.0.0.dev0+rc.1.x",
	} {
		if got := pythonVersion(version); got != want {
			t.Errorf("%s: got %s, want %s", version, got, want)
		}
	}
}

// packedRelease returns a release with a tree for two platforms, whose programs are scripts.
func packedRelease(t *testing.T) *release {
	t.Helper()
	r := &release{
		root: t.TempDir(), stage: t.TempDir(), files: t.TempDir(), version: "v1.2.3", homepage: "https://example.org",
		platforms: []platform{{"linux", "amd64"}, {"windows", "amd64"}}, date: time.Unix(1e9, 0).UTC(),
	}
	for _, p := range r.platforms {
		for name, text := range map[string]string{p.exe(): "#!/bin/sh\necho bulkhead v1.2.3\n", "LICENSE": "free", noticesFile: "all", "plugins/hello/hello.wasm": "module", "docs/a.md": "page"} {
			path := filepath.Join(r.tree(p), name)
			if err := writeFiles(filepath.Dir(path), map[string][]byte{filepath.Base(path): []byte(text)}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := writeFiles(r.root, map[string][]byte{"LICENSE": []byte("free")}); err != nil {
		t.Fatal(err)
	}
	return r
}

// packTwice makes files of two releases that differ in their directories, and checks that the bytes do not.
func packTwice(t *testing.T, pack func(*release) error) *release {
	t.Helper()
	first, second := packedRelease(t), packedRelease(t)
	for _, r := range []*release{first, second} {
		if err := pack(r); err != nil {
			t.Fatal(err)
		}
	}
	files, err := os.ReadDir(first.files)
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		if a, b := readBytes(t, filepath.Join(first.files, file.Name())), readBytes(t, filepath.Join(second.files, file.Name())); !bytes.Equal(a, b) {
			t.Errorf("%s: two builds have different bytes", file.Name())
		}
	}
	return first
}

func readBytes(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestWheelsRecordTheirFiles(t *testing.T) {
	r := packTwice(t, func(r *release) error { return r.makeWheels(t.Context()) })
	for file, program := range map[string]string{
		"bulkhead_mcp-1.2.3-py3-none-manylinux_2_17_x86_64.manylinux2014_x86_64.musllinux_1_1_x86_64.whl": "bulkhead_mcp/bulkhead",
		"bulkhead_mcp-1.2.3-py3-none-win_amd64.whl":                                                       "bulkhead_mcp/bulkhead.exe",
	} {
		archive, err := zip.OpenReader(filepath.Join(r.files, file))
		if err != nil {
			t.Fatal(err)
		}
		defer archive.Close()
		names, record := map[string]bool{}, ""
		for _, f := range archive.File {
			names[f.Name] = true
			if mode := f.Mode().Perm(); (mode == 0o755) != (f.Name == program) {
				t.Errorf("%s: %s has the mode %o", file, f.Name, mode)
			}
			if strings.HasSuffix(f.Name, "/RECORD") {
				in, err := f.Open()
				if err != nil {
					t.Fatal(err)
				}
				text, err := io.ReadAll(in)
				if err != nil {
					t.Fatal(err)
				}
				record = string(text)
			}
		}
		for line := range strings.Lines(record) {
			name, digest, _ := strings.Cut(line, ",")
			if !names[name] || !strings.HasPrefix(digest, "sha256=") && !strings.HasSuffix(name, "RECORD") {
				t.Errorf("%s: the record has the line %q", file, line)
			}
			delete(names, name)
		}
		if len(names) > 0 || !strings.Contains(record, "bulkhead_mcp/plugins/hello/hello.wasm,sha256=") || strings.Contains(record, "docs/") {
			t.Errorf("%s: the record lacks %v:\n%s", file, names, record)
		}
	}
}

func TestNPMPackagesNameTheirPlatform(t *testing.T) {
	r := packTwice(t, func(r *release) error { return r.makeNPM(t.Context()) })
	var launcher, carrier npmPackage
	for file, into := range map[string]*npmPackage{"npm/package.json": &launcher, "windows_amd64/npm/package.json": &carrier} {
		if err := json.Unmarshal(readBytes(t, filepath.Join(r.stage, file)), into); err != nil {
			t.Fatal(err)
		}
	}
	if launcher.Name != "bulkhead-mcp" || len(launcher.Dependencies) != 2 || launcher.Dependencies[carrier.Name] != "1.2.3" {
		t.Errorf("the launcher is %+v", launcher)
	}
	if carrier.Name != "@bulkhead-mcp/win32-x64" || carrier.Bin["bulkhead"] != "bulkhead.exe" || carrier.OS[0] != "win32" || carrier.CPU[0] != "x64" {
		t.Errorf("the package for Windows is %+v", carrier)
	}
}

// newKey writes a key of minisign to a file, and returns it and its public key.
func newKey(t *testing.T, password string) (file string, public minisign.PublicKey) {
	t.Helper()
	public, private, err := minisign.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	text, err := private.MarshalText()
	if password != "" {
		text, err = minisign.EncryptKey(password, private)
	}
	if err != nil {
		t.Fatal(err)
	}
	file = filepath.Join(t.TempDir(), "release.key")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return file, public
}

func TestSignatureIsOfAllDigests(t *testing.T) {
	file, public := newKey(t, "")
	r := packTwice(t, func(r *release) error {
		r.keyFile = file
		if err := r.readKey(); err != nil {
			return err
		}
		if err := r.makeInstaller(t.Context()); err != nil {
			return err
		}
		if err := r.makeSums(t.Context()); err != nil {
			return err
		}
		return r.signSums()
	})
	sums := readBytes(t, filepath.Join(r.files, sumsFile))
	hashed := minisign.NewReader(bytes.NewReader(sums))
	if _, err := io.Copy(io.Discard, hashed); err != nil {
		t.Fatal(err)
	}
	text := readBytes(t, filepath.Join(r.files, signatureFile))
	if !hashed.Verify(public, text) || !strings.Contains(string(text), "trusted comment: bulkhead v1.2.3\n") || !strings.Contains(string(sums), "  install.sh\n") {
		t.Errorf("the signature is\n%s\nof\n%s", text, sums)
	}
	if err := checkReplaceable(r.files); err != nil {
		t.Errorf("a signed release cannot be replaced: %v", err)
	}
}

func TestKeyThatCannotBeReadIsRefused(t *testing.T) {
	encrypted, _ := newKey(t, "right")
	for want, set := range map[string]func(r *release){
		"no such file":             func(r *release) { r.keyFile = filepath.Join(t.TempDir(), "absent") },
		"set RELEASE_KEY_PASSWORD": func(r *release) { r.keyFile = encrypted },
		"--key: ":                  func(r *release) { r.keyFile = encrypted; t.Setenv("RELEASE_KEY_PASSWORD", "wrong") },
	} {
		r := &release{}
		if set(r); want != "--key: " {
			os.Unsetenv("RELEASE_KEY_PASSWORD")
		}
		if err := r.readKey(); err == nil || !strings.Contains(err.Error(), want) || r.key != nil {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	t.Setenv("RELEASE_KEY_PASSWORD", "right")
	if r := (&release{keyFile: encrypted}); r.readKey() != nil || r.key == nil {
		t.Error("the encrypted key is not read")
	}
}

func TestPagesOfPluginsThatAreLeftOutAreKept(t *testing.T) {
	r, dir := packedRelease(t), t.TempDir()
	for _, name := range []string{"hello", "ripgrep"} {
		if err := writeFiles(filepath.Join(r.root, "plugins", name), map[string][]byte{"README.md": []byte(name), "plugin.toml": nil}); err != nil {
			t.Fatal(err)
		}
	}
	r.plugins = []string{"hello"} // whose page plugin build copies
	if err := r.copyReadmes(dir); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*", "*"))
	if want := filepath.Join(dir, "ripgrep", "README.md"); err != nil || len(files) != 1 || files[0] != want {
		t.Errorf("got %q, want only %s: %v", files, want, err)
	}
}
