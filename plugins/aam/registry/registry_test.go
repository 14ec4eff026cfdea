package registry_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/archive"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/fault"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/files"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/internal/realdata"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/manifest"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/registry"
)

const now = "2026-02-10T12:00:00.000000+00:00"

// open returns the Registry in the directory root.
func open(root string) registry.Registry {
	return registry.Registry{Files: files.Disk{}, Name: "team", Root: root}
}

// put writes a file below root.
func put(t testing.TB, root, name, text string) {
	t.Helper()
	path := filepath.Join(root, name)
	testenv.WriteFile(t, path, text)
}

func TestIndex(t *testing.T) {
	tests := []struct {
		name, text string
		want       []registry.Entry
		err        string
	}{
		{"the current form", "packages:\n- name: '@a/b'\n  description: d\n  latest: 1.0.0\n  keywords: [x]\n  artifact_types: [skill]\n  updated_at: '" + now + "'\n",
			[]registry.Entry{{"@a/b", "d", "1.0.0", []string{"x"}, []string{"skill"}, now}}, ""},
		{"an older form with unquoted dates", "packages:\n- {name: b, description: d, latest: '1', artifacts: [skill], updated_at: 2026-02-10}\n",
			[]registry.Entry{{"b", "d", "1", []string{}, []string{}, "2026-02-10"}}, ""},
		{"empty", "", nil, ""},
		{"broken", "packages: [", nil, "registry 'team': index.yaml: line"},
		{"another form", "packages: [{name: 1}]", nil, "packages.0.name: must be a string"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			root := t.TempDir()
			put(t, root, "index.yaml", test.text)
			got, err := open(root).Index()
			if test.err != "" {
				if failure := fault.From(err); failure == nil || failure.Code != fault.RegistryUnreachable || !strings.Contains(failure.Message, test.err) {
					t.Errorf("got %v, want %q", err, test.err)
				}
				return
			}
			if diff := cmp.Diff(test.want, got); err != nil || diff != "" {
				t.Errorf("%v (-want +got)\n%s", err, diff)
			}
		})
	}
	if got, err := open(t.TempDir()).Index(); err != nil || got != nil {
		t.Errorf("Index of a directory without an index: got %v, %v", got, err)
	}
	_, err := open(filepath.Join(t.TempDir(), "none")).Index()
	if failure := fault.From(err); failure == nil || failure.Code != fault.RegistryUnreachable || !strings.Contains(failure.Message, "'team'") {
		t.Errorf("Index of a directory that does not exist: got %v", err)
	}
}

func TestMetadata(t *testing.T) {
	root := t.TempDir()
	put(t, root, "packages/a--b/metadata.yaml", `name: '@a/b'
description: d
author: Jane
keywords: [x]
dist_tags: {latest: 1.0.0-rc.1, old: '0.9'}
versions:
- {version: 1.0.0-rc.1, published: 2026-02-10, checksum: sha256:aa, size: 12, dependencies: {c: ^1.0.0}}
- {version: '0.9', checksum: ''}
`)
	put(t, root, "packages/bad/metadata.yaml", "name: bad\nversions: 3\n")
	m, err := open(root).Metadata("@a/b")
	author := "Jane"
	want := &registry.Metadata{
		Name: "@a/b", Description: "d", Author: &author, Keywords: []string{"x"},
		Tags: []registry.Tag{{"latest", "1.0.0-rc.1"}, {"old", "0.9"}},
		Versions: []registry.Release{
			{"1.0.0-rc.1", "2026-02-10", "sha256:aa", 12, []manifest.Dependency{{Name: "c", Constraint: "^1.0.0"}}},
			{Version: "0.9"},
		},
	}
	if diff := cmp.Diff(want, m); err != nil || diff != "" {
		t.Fatalf("%v (-want +got)\n%s", err, diff)
	}
	for text, want := range map[string]string{"1.0.0rc1": "1.0.0-rc.1", "1.0.0-rc.1": "1.0.0-rc.1", "0.9.0": "0.9", "2": "", "x": ""} {
		if got, ok := m.Release(text); got.Version != want || ok != (want != "") {
			t.Errorf("release %s: got %q, %t, want %q", text, got.Version, ok, want)
		}
	}
	if got := m.Latest(); got != "1.0.0-rc.1" {
		t.Errorf("Latest returned %s", got)
	}
	m.Tags = nil
	if got := m.Latest(); got != "1.0.0-rc.1" {
		t.Errorf("Latest without the tag latest returned %s", got)
	}
	for name, want := range map[string]fault.Code{"a--b": fault.PackageNotFound, "none": fault.PackageNotFound, "../x": fault.InvalidArgument, "bad": fault.RegistryUnreachable} {
		if _, err := open(root).Metadata(name); fault.From(err) == nil || fault.From(err).Code != want {
			t.Errorf("%s: got %v, want %s", name, err, want)
		}
	}
}

func TestArchive(t *testing.T) {
	r := open("/r")
	if got, err := r.Archive("@a/b", "1.0.0-rc.1"); err != nil || got != filepath.FromSlash("/r/packages/a--b/versions/1.0.0-rc.1.aam") {
		t.Errorf("got %s, %v", got, err)
	}
	for _, version := range []string{"..", "../1.0", "1.0/2", " 1.0", "1.0\n", ""} {
		if got, err := r.Archive("a", version); err == nil {
			t.Errorf("Release(%q) returned %s", version, got)
		}
	}
	if got, err := r.Archive("../a", "1.0"); err == nil {
		t.Errorf("got %s", got)
	}
}

// TestSymlinksOutOfRegistryAreNotRead checks that files of a registry are not read if they are symbolic links to files
// outside of the registry.
func TestSymlinksOutOfRegistryAreNotRead(t *testing.T) {
	elsewhere := t.TempDir()
	put(t, elsewhere, "metadata.yaml", "name: a\ndescription: d\nversions: [{version: 1.0.0}]\n")
	put(t, elsewhere, "index.yaml", "packages: [{name: a, description: d, latest: 1.0.0}]\n")
	put(t, elsewhere, "versions/1.0.0.aam", "secret")
	for _, link := range []string{"packages/a", "packages/a/metadata.yaml", "packages/a/versions/1.0.0.aam", "packages", "index.yaml"} {
		t.Run(link, func(t *testing.T) {
			root := t.TempDir()
			target := filepath.Join(elsewhere, strings.TrimPrefix(link, "packages/a"))
			if link == "packages" {
				target = filepath.Dir(elsewhere)
			}
			if err := os.MkdirAll(filepath.Dir(filepath.Join(root, link)), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(target, filepath.Join(root, link)); err != nil {
				t.Fatal(err)
			}
			_, indexErr := open(root).Index()
			_, metadataErr := open(root).Metadata("a")
			_, archiveErr := open(root).Archive("a", "1.0.0")
			refused := false
			for _, err := range []error{indexErr, metadataErr, archiveErr} {
				refused = refused || fault.From(err) != nil && fault.From(err).Code == fault.RegistryUnreachable && strings.Contains(err.Error(), "resolves outside")
			}
			if !refused {
				t.Errorf("the symbolic link is followed: %v, %v, %v", indexErr, metadataErr, archiveErr)
			}
		})
	}
}

func TestTimestamp(t *testing.T) {
	at := time.Date(2026, 2, 10, 13, 0, 0, 1000, time.FixedZone("", 3600))
	if got, want := registry.Timestamp(at), "2026-02-10T12:00:00.000001+00:00"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestRealRegistries reads all packages of the sample registries.
func TestRealRegistries(t *testing.T) {
	for name, packages := range map[string]int{"team-registry": 8, "docs-registry": 2, "hostile-registry": 25} {
		r := open(realdata.Path(t, "constructed", "registries", name))
		entries, err := r.Index()
		if err != nil || len(entries) < packages {
			t.Errorf("%s: %d entries, %v", name, len(entries), err)
		}
		for _, e := range entries {
			m, err := r.Metadata(e.Name)
			if err != nil || m.Latest() != e.Latest {
				t.Errorf("%s: %s: %+v, %v", name, e.Name, m, err)
			}
			if name != "hostile-registry" {
				types, err := r.Types(e, archive.DefaultLimits())
				if err != nil || len(types) == 0 {
					t.Errorf("%s: %s: types %v, %v", name, e.Name, types, err)
				}
				if want := []string{"skill", "instruction"}; e.Name == "report-templates" && !cmp.Equal(types, want) {
					t.Errorf("%s: got %v, want %v", e.Name, types, want)
				}
			}
		}
	}
}

// TestRealFiles reads the sample files in the documentation of the aam program.
func TestRealFiles(t *testing.T) {
	root := t.TempDir()
	for _, name := range []string{"index.yaml", "design-index-old-keys.yaml"} {
		put(t, root, "index.yaml", string(realdata.Read(t, "from-repo", "registry-files", name)))
		if got, err := open(root).Index(); err != nil || len(got) < 2 {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	put(t, root, "packages/myorg--my-agent/metadata.yaml", string(realdata.Read(t, "from-repo", "registry-files", "metadata.yaml")))
	if m, err := open(root).Metadata("@myorg/my-agent"); err != nil || len(m.Versions) != 2 || m.Latest() != "1.1.0" {
		t.Errorf("metadata.yaml: %+v, %v", m, err)
	}
}

// FuzzRead checks that reading an untrusted registry terminates, and that errors have a code.
func FuzzRead(f *testing.F) {
	f.Add([]byte("name: a\ndescription: d\nversions: [{version: '1', dependencies: {b: '*'}}]\ndist_tags: {latest: '1'}\npackages: [{name: a, description: d, latest: '1'}]"))
	f.Add([]byte("packages: &a [*a]"))
	f.Fuzz(func(t *testing.T, data []byte) {
		root := t.TempDir()
		put(t, root, "index.yaml", string(data))
		put(t, root, "packages/a/metadata.yaml", string(data))
		_, indexErr := open(root).Index()
		m, err := open(root).Metadata("a")
		for _, err := range []error{indexErr, err} {
			if err != nil && fault.From(err).Code == fault.Internal {
				t.Fatalf("%q: %v", data, err)
			}
		}
		if err == nil {
			m.Latest()
			m.Release("1.0")
		}
	})
}

// TestAuthorIsThatOfMetadata checks that Author, which parses only the beginning of a file, returns the same author as
// Metadata.
func TestAuthorIsThatOfMetadata(t *testing.T) {
	const begin, end = "name: pkg\ndescription: d\n", "dist_tags:\n  latest: 1.0.0\nversions:\n- version: 1.0.0\n  checksum: ''\n"
	for _, text := range []string{
		begin + "author: Jane Doe\n" + end,
		begin + "author: null\n" + end,
		begin + end,
		begin + "author: 'J: D'\nkeywords: []\n" + end,
		begin + "author: first\n" + end + "author: last\n",
		begin + "author: first\n" + end + "\"author\": last\n",
		begin + "author: first\n" + end + "<<: {license: MIT}\n",
		begin + "author: \"J\ndist_tags: D\"\n" + end,
		begin + "author: |\n  J\n" + end,
		"{name: pkg, description: d, author: A, versions: []}\n",
		begin + "author: A\nversions: []\n",
		strings.Replace(begin, "pkg", "other", 1) + "author: A\n" + end,
		begin + "author: 1\n" + end,
		begin + "author: [\n" + end,
		"",
	} {
		root := t.TempDir()
		path := filepath.Join(root, "packages", "pkg", "metadata.yaml")
		testenv.WriteFile(t, path, text)
		for _, r := range []registry.Registry{{Files: files.Disk{}, Name: "r", Root: root}, registry.Registry{Files: files.Disk{}, Name: "r", Root: root}.Reading()} {
			m, wantErr := r.Metadata("pkg")
			got, err := r.Author("pkg")
			var want *string
			if wantErr == nil {
				want = m.Author
			}
			if diff := cmp.Diff(want, got); diff != "" || (err == nil) != (wantErr == nil) {
				t.Errorf("%q: got %v, want %v (-want +got)\n%s", text, err, wantErr, diff)
			}
		}
	}
}
