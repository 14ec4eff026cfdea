//go:build linux || darwin

package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"aead.dev/minisign"
)

// TestMain runs as minisign if it is started by that name, so that the installer needs no program that is not here.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "minisign" {
		if err := verifyAsMinisign(os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// verifyAsMinisign verifies for the arguments -V -Q -P KEY -m FILE -x SIGNATURE, or with -p KEYFILE, and prints the trusted comment.
func verifyAsMinisign(args []string) error {
	if len(args) != 8 || args[0] != "-V" || args[1] != "-Q" || args[4] != "-m" || args[6] != "-x" {
		return fmt.Errorf("unexpected arguments %q", args)
	}
	public, err := minisign.PublicKeyFromFile(args[3])
	if args[2] == "-P" {
		err = public.UnmarshalText([]byte(args[3]))
	}
	if err != nil {
		return err
	}
	message, err := os.ReadFile(args[5])
	if err != nil {
		return err
	}
	text, err := os.ReadFile(args[7])
	if err != nil {
		return err
	}
	hashed := minisign.NewReader(bytes.NewReader(message))
	if _, err := io.Copy(io.Discard, hashed); err != nil {
		return err
	}
	var signature minisign.Signature
	if err := signature.UnmarshalText(text); err != nil || !hashed.Verify(public, text) {
		return fmt.Errorf("signature verification failed: %v", err)
	}
	fmt.Println(signature.TrustedComment)
	return nil
}

// published is a release whose program is a script, and a user who installs it.
type published struct {
	t *testing.T
	*release
	home, key string
}

func publish(t *testing.T) *published {
	t.Helper()

	p := platform{runtime.GOOS, runtime.GOARCH}
	r := &release{stage: t.TempDir(), files: t.TempDir(), version: "v1.2.3", platforms: []platform{p}, date: time.Unix(1e9, 0).UTC()}
	keyFile, public := newKey(t, "")
	r.keyFile = keyFile
	for dir, name := range map[string]string{r.tree(p): "bulkhead", filepath.Join(r.tree(p), "plugins"): sumsFile} {
		if err := writeFiles(dir, map[string][]byte{name: []byte("#!/bin/sh\necho bulkhead v1.2.3\n")}); err != nil {
			t.Fatal(err)
		}
	}
	if err := normalize(r.tree(p), r.date); err != nil {
		t.Fatal(err)
	}
	for _, make := range []func() error{
		r.readKey, func() error { return r.makeArchives(t.Context()) }, func() error { return r.makeInstaller(t.Context()) },
		func() error { return r.makeSums(t.Context()) }, r.signSums,
	} {
		if err := make(); err != nil {
			t.Fatal(err)
		}
	}
	return &published{t: t, release: r, home: t.TempDir(), key: public.String()}
}

// install runs the script.
func (p *published) install(args ...string) (string, error) {
	p.t.Helper()
	bin := p.t.TempDir()
	self, err := os.Executable()
	if err != nil {
		p.t.Fatal(err)
	}
	if err := os.Symlink(self, filepath.Join(bin, "minisign")); err != nil {
		p.t.Fatal(err)
	}
	cmd := exec.CommandContext(p.t.Context(), "sh", append([]string{filepath.Join(p.files, "install.sh"), "--from", p.files}, args...)...)
	cmd.Env = []string{"HOME=" + p.home, "PATH=" + bin + ":/usr/bin:/bin"}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// edit replaces a string in a file of the release.
func (p *published) edit(file, old, new string) {
	p.t.Helper()
	path := filepath.Join(p.files, file)
	text := readBytes(p.t, path)
	if !bytes.Contains(text, []byte(old)) {
		p.t.Fatalf("%s lacks %q", file, old)
	}
	if err := os.WriteFile(path, bytes.Replace(text, []byte(old), []byte(new), 1), 0o644); err != nil {
		p.t.Fatal(err)
	}
}

func (p *published) archiveName() string { return filepath.Base(p.archive(p.platforms[0])) }

func TestInstallerInstallsAndReplaces(t *testing.T) {
	p := publish(t)
	for _, args := range [][]string{nil, {"--key", p.key}} { // the second time it replaces the first installation
		out, err := p.install(args...)
		if err != nil || !strings.HasPrefix(out, "bulkhead v1.2.3\n") || !strings.Contains(out, "to PATH") {
			t.Fatalf("%q: %v\n%s", args, err, out)
		}
		link, err := os.Readlink(filepath.Join(p.home, ".local", "bin", "bulkhead"))
		if want := filepath.Join(p.home, ".local", "lib", "bulkhead", "bulkhead"); err != nil || link != want {
			t.Errorf("the link is %s, want %s: %v", link, want, err)
		}
	}
	left, err := filepath.Glob(filepath.Join(p.home, ".local", "lib", ".bulkhead-install-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("it leaves %q: %v", left, err)
	}
}

func TestInstallerRefusesWhatItCannotVerify(t *testing.T) {
	for name, c := range map[string]struct {
		change func(p *published)
		args   func(p *published) []string
		want   string
	}{
		"another archive":      {func(p *published) { p.edit(p.archiveName(), "\x1f\x8b", "\x1f\x8c") }, nil, "and SHA256SUMS has"},
		"an archive not named": {func(p *published) { p.edit(sumsFile, p.archiveName(), "x.tar.gz") }, nil, "SHA256SUMS has no line for"},
		"no sums":              {func(p *published) { os.Remove(filepath.Join(p.files, sumsFile)) }, nil, "has no file SHA256SUMS"},
		"changed sums":         {func(p *published) { p.edit(sumsFile, "install.sh", "install.py") }, (*published).keyed, "is not signed with the key"},
		"no signature":         {func(p *published) { os.Remove(filepath.Join(p.files, signatureFile)) }, (*published).keyed, "has no file SHA256SUMS.minisig"},
		"another key": {func(*published) {}, func(p *published) []string {
			_, other := newKey(t, "")
			return []string{"--key", other.String()}
		}, "is not signed with the key"},
		"another release": {func(p *published) {
			p.version = "v1.2.2"
			if err := p.signSums(); err != nil {
				t.Fatal(err)
			}
		}, (*published).keyed, "the signature is that of bulkhead v1.2.2"},
		"plain http":     {func(*published) {}, func(*published) []string { return []string{"--from", "http://example.org"} }, "only https is accepted"},
		"another target": {func(*published) {}, func(p *published) []string { return []string{"--lib", p.home} }, "is no installation of Bulkhead"},
		"an empty key":   {func(*published) {}, func(*published) []string { return []string{"--key", ""} }, "--key needs a value"},
	} {
		t.Run(name, func(t *testing.T) {
			p := publish(t)
			c.change(p)
			var args []string
			if c.args != nil {
				args = c.args(p)
			}
			out, err := p.install(args...)
			if err == nil || !strings.Contains(out, c.want) {
				t.Errorf("%v\n%s, want %q", err, out, c.want)
			}
			files, _ := filepath.Glob(filepath.Join(p.home, ".local", "*", "*"))
			if len(files) > 0 {
				t.Errorf("it installed %q", files)
			}
		})
	}
}

func (p *published) keyed() []string { return []string{"--key", p.key} }
