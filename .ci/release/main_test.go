package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestParseReportsWhatIsMissing(t *testing.T) {
	t.Setenv("RELEASE_MAINTAINER", "")
	t.Setenv("RELEASE_HOMEPAGE", "")
	t.Setenv("RELEASE_DOWNLOAD", "")
	t.Setenv("RELEASE_REGISTRY", "")
	t.Setenv("RELEASE_KEY", "")
	home, maintainer := "--homepage=https://example.org", "--maintainer=Ann Example <ann@example.org>"
	for name, c := range map[string]struct {
		args []string
		want string // empty: no error
	}{
		"everything":                 {[]string{"v1.2.3", home, maintainer, "--download=https://example.org/{version}"}, ""},
		"nothing that needs values":  {[]string{"v1.2.3", "--without=deb,formula"}, ""},
		"no version":                 {nil, "give one VERSION"},
		"two versions":               {[]string{"v1.2.3", "v1.2.4"}, "give one VERSION"},
		"a version without v":        {[]string{"1.2.3"}, `"1.2.3" is not a semantic version with a leading v`},
		"a short version":            {[]string{"v1.2"}, "is not a semantic version"},
		"build metadata":             {[]string{"v1.2.3+x"}, "without build metadata"},
		"no maintainer":              {[]string{"v1.2.3", home}, "the Debian packages need a maintainer: pass --maintainer"},
		"a maintainer without name":  {[]string{"v1.2.3", home, "--maintainer=ann@example.org"}, "need a maintainer"},
		"a maintainer in lines":      {[]string{"v1.2.3", home, "--maintainer=Ann Example <ann@example.org> (x\nDepends: y)"}, "need a maintainer"},
		"no homepage":                {[]string{"v1.2.3", maintainer}, "need the project's homepage: pass --homepage"},
		"a homepage with code":       {[]string{"v1.2.3", maintainer, `--homepage=https://example.org/#{x}"`}, "need the project's homepage"},
		"a homepage with password":   {[]string{"v1.2.3", maintainer, "--homepage=https://ann:secret@example.org"}, "need the project's homepage"},
		"no download location":       {[]string{"v1.2.3", home, maintainer}, "the formula needs the location of the archives: pass --download"},
		"an unknown platform":        {[]string{"v1.2.3", "--platforms=linux/386"}, `--platforms: unknown name "linux/386": the names are linux/amd64`},
		"no platform":                {[]string{"v1.2.3", "--platforms="}, "--platforms: name at least one"},
		"a registry with a scheme":   {[]string{"push", "v1.2.3", "--registry=oci://ghcr.io/ada/bulkhead"}, "--registry: "},
		"push without a registry":    {[]string{"push", "v1.2.3"}, "push needs a registry: pass --registry"},
		"push":                       {[]string{"push", "v1.2.3", "--registry=ghcr.io/ada/bulkhead", "--download=https://example.org/{version}/"}, ""},
		"sign without a key":         {[]string{"sign", "v1.2.3"}, "sign needs a key: pass --key"},
		"sign":                       {[]string{"sign", "v1.2.3", "--key=x"}, ""},
		"an unknown name of a thing": {[]string{"v1.2.3", "--without=rpm"}, `--without: unknown name "rpm": the names are deb`},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := parse(c.args)
			if c.want == "" {
				if err != nil {
					t.Fatal(err)
				}
				if r.download != "" && r.download != "https://example.org/v1.2.3" {
					t.Errorf("download: %q", r.download)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// tree returns a directory with a program and a text, whose permissions and time stamps depend on the machine.
func tree(t *testing.T, mode os.FileMode, date time.Time) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range map[string]string{"bulkhead": "program", "docs/a.md": "text"} {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(content), mode), os.Chtimes(path, date, date)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestArchivesDependOnlyOnContentAndDate(t *testing.T) {
	date := time.Unix(1e9, 0).UTC()
	for name, pack := range map[string]func(io.Writer, string, string, time.Time) error{"tar.gz": writeTarGz, "zip": writeZip} {
		t.Run(name, func(t *testing.T) {
			var packed [2]bytes.Buffer
			for i, dir := range []string{tree(t, 0o600, time.Now()), tree(t, 0o666, time.Unix(0, 0))} {
				if err := errors.Join(normalize(dir, date), pack(&packed[i], dir, "bulkhead", date)); err != nil {
					t.Fatal(err)
				}
			}
			if !bytes.Equal(packed[0].Bytes(), packed[1].Bytes()) {
				t.Error("the archives differ")
			}
			got := list(t, name, packed[0].Bytes())
			if want := []string{"bulkhead/bulkhead -rwxr-xr-x", "bulkhead/docs/a.md -rw-r--r--"}; !slices.Equal(got, want) {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

// list returns the files of an archive with their permissions.
func list(t *testing.T, format string, data []byte) []string {
	t.Helper()
	var names []string
	if format == "zip" {
		archive, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range archive.File {
			names = append(names, f.Name+" "+f.Mode().String())
		}
		return names
	}
	uncompressed, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	for archive := tar.NewReader(uncompressed); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return names
		}
		if err != nil {
			t.Fatal(err)
		}
		if header.Typeflag == tar.TypeReg {
			names = append(names, header.Name+" "+header.FileInfo().Mode().String())
		}
	}
}

func TestSymbolicLinksAreRefused(t *testing.T) {
	dir, target := t.TempDir(), filepath.Join(t.TempDir(), "target")
	if err := errors.Join(os.WriteFile(target, nil, 0o600), os.Symlink(target, filepath.Join(dir, "link"))); err != nil {
		t.Fatal(err)
	}
	for name, err := range map[string]error{
		"pack":      writeTarGz(io.Discard, dir, "bulkhead", time.Now()),
		"normalize": normalize(dir, time.Now()),
		"copy":      copyFileTo(filepath.Join(dir, "link"), filepath.Join(t.TempDir(), "copy")),
	} {
		if err == nil || !strings.Contains(err.Error(), "regular file") {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if info, err := os.Stat(target); err != nil || info.Mode() != 0o600 {
		t.Errorf("the target is changed: %v, %v", info.Mode(), err)
	}
}

func TestTextsAreThoseThatGitTracks(t *testing.T) {
	root, dir := t.TempDir(), t.TempDir()
	for name, text := range map[string]string{".gitignore": "*.swp\n", "LICENSE": "", "docs/a.md": "text", "docs/a.md.swp": "draft"} {
		path := filepath.Join(root, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	r := &release{root: root}
	for _, args := range [][]string{{"init", "--quiet"}, {"add", "."}} {
		if _, err := r.output(t.Context(), "git", args...); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.copyTexts(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	got, err := filepath.Glob(filepath.Join(dir, "docs", "*"))
	if want := []string{filepath.Join(dir, "docs", "a.md")}; err != nil || !slices.Equal(got, want) {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
}

func TestModuleWithoutLicenceIsAnError(t *testing.T) {
	dir := t.TempDir()
	var text strings.Builder
	if err := appendLicences(&text, "example.com/m v1", dir); err == nil || !strings.Contains(err.Error(), "example.com/m v1 has no licence file") {
		t.Errorf("got %v", err)
	}
	for _, name := range []string{"LICENSE.md", "Notice", "licences.go"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("text of "+name+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := appendLicences(&text, "example.com/m v1", dir); err != nil {
		t.Fatal(err)
	}
	if got := text.String(); !strings.Contains(got, "text of LICENSE.md") || !strings.Contains(got, "text of Notice") || strings.Contains(got, "licences.go") {
		t.Errorf("got %s", got)
	}
}

func TestSumsAreThoseOfSha256sum(t *testing.T) {
	dir := tree(t, 0o644, time.Now())
	if err := writeSums(dir, []string{filepath.Join(dir, "bulkhead"), filepath.Join(dir, "docs", "a.md")}); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(dir, sumsFile))
	want := "1310ca2c8932dbd118668bd97442558a3e1f546b5e15c69699dfbd6024f548d8  bulkhead\n982d9e3eb996f559e633f4d194def3761d909f5a3b647d1a851fead67c32c9d1  docs/a.md\n"
	if err != nil || string(got) != want {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
}

func TestOutputReplacesOnlyAReleaseOrAnEmptyDirectory(t *testing.T) {
	dir := t.TempDir()
	for _, empty := range []string{dir, filepath.Join(dir, "absent")} {
		if err := checkReplaceable(empty); err != nil {
			t.Error(err)
		}
	}
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	refuse := func(when, path string) {
		t.Helper()
		if checkReplaceable(path) == nil {
			t.Errorf("%s: %s may be replaced", when, path)
		}
	}
	write("bulkhead.rb", "")
	refuse("without sums", dir)
	refuse("a file", filepath.Join(dir, "bulkhead.rb"))
	write(sumsFile, "")
	refuse("empty sums", dir)
	write(sumsFile, strings.Repeat("0", 64)+"  bulkhead.rb\n")
	if err := checkReplaceable(dir); err != nil {
		t.Error(err)
	}
	write("mine", "")
	refuse("a file that is not listed", dir)
	if err := errors.Join(os.Remove(filepath.Join(dir, "mine")), os.Remove(filepath.Join(dir, "bulkhead.rb")), os.Mkdir(filepath.Join(dir, "bulkhead.rb"), 0o700)); err != nil {
		t.Fatal(err)
	}
	refuse("a directory with the name of a file", dir)
}

func TestEarlierOutputIsKeptUntilItIsReplaced(t *testing.T) {
	dir := t.TempDir()
	r := &release{out: filepath.Join(dir, "out"), files: filepath.Join(dir, "files")}
	sums := filepath.Join(r.out, sumsFile)
	if err := errors.Join(os.Mkdir(r.out, 0o700), os.WriteFile(sums, []byte("earlier\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	if err := r.publish(filepath.Join(dir, "earlier")); err == nil { // there are no new files
		t.Error("no error")
	}
	if text, err := os.ReadFile(sums); err != nil || string(text) != "earlier\n" {
		t.Errorf("after the failure: %q, %v", text, err)
	}
	if err := errors.Join(os.Mkdir(r.files, 0o700), os.WriteFile(filepath.Join(r.files, sumsFile), []byte("new\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	if err := r.publish(filepath.Join(dir, "earlier")); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(sums); err != nil || string(text) != "new\n" {
		t.Errorf("after the success: %q, %v", text, err)
	}
}

func TestNotesAreTheSectionOfTheVersion(t *testing.T) {
	const changelog = "# Changelog\n\n## Unreleased\n\n- new\n\n## v1.2.10 (2026-02-01)\n\n### Added\n\n- ten\n\n## v1.2.1\n\n- one\n" +
		"\n## v1.2.0 replaces v1.1.0\n\n  ```\n## code\n  ```\n- two\n\n## v1.1.0\r\n\r\n- old\r\n\n## v1.0.0\n\n"
	for version, want := range map[string]string{
		"v1.2.10": "### Added\n\n- ten\n", "v1.2.1": "- one\n", "v1.2": "", "Unreleased": "- new\n",
		"v1.2.0": "```\n## code\n  ```\n- two\n", "v1.1.0": "- old\n", "v1.0.0": "",
	} {
		if got := changelogSection(changelog, version); got != want {
			t.Errorf("%s: got %q, want %q", version, got, want)
		}
	}
	r := &release{root: t.TempDir(), files: t.TempDir(), version: "v9.9.9"}
	if err := os.WriteFile(filepath.Join(r.root, "CHANGELOG.md"), []byte(changelog), 0o600); err != nil {
		t.Fatal(err)
	}
	for version, want := range map[string]string{"v1.2.1": "- one\n", "v9.9.9": "- new\n"} {
		r.version = version
		if err := r.copyChangelog(t.Context()); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join(r.files, notesFile))
		if err != nil || string(got) != want {
			t.Errorf("%s: got %q, %v, want %q", version, got, err, want)
		}
	}
}

func TestCertificatesArePEM(t *testing.T) {
	if n := strings.Count(certificates(), "-----BEGIN CERTIFICATE-----\n"); n < 50 {
		t.Errorf("only %d certificates", n)
	}
}

func TestLeaveOutRemovesAndNamesPlugins(t *testing.T) {
	report := []byte(`{"plugins":[],"left_out":[{"name":"ripgrep","dir":"plugins/ripgrep","reason":"there is no cargo"}]}`)
	if err := (&release{}).leaveOut(report); err == nil || !strings.HasSuffix(err.Error(), "there is no cargo: run .ci/toolchains release, or leave the plugin out with --without ripgrep") {
		t.Errorf("a release without the plugin: %v", err)
	}
	r := release{plugins: []string{"jq", "ripgrep", "time"}, snapshot: true}
	if err := r.leaveOut(report); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(r.plugins, []string{"jq", "time"}) || !slices.Equal(r.without, []string{"the plugin ripgrep"}) {
		t.Errorf("got the plugins %q without %q", r.plugins, r.without)
	}
	if err := r.leaveOut([]byte("text")); err == nil {
		t.Error("a report that is no JSON was accepted")
	}
}
