package registry_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/archive"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/fault"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/files"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/files/faults"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/internal/realdata"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/manifest"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/registry"
)

// TestMain has temporary directories created in memory if the system supports that, because the tests of this package
// create thousands of them.
func TestMain(m *testing.M) {
	testenv.UseMemory()
	os.Exit(m.Run())
}

// project creates the directory of a package, and returns the arguments for publishing the package.
func project(t testing.TB, name, version string) registry.Publication {
	t.Helper()
	dir := t.TempDir()
	put(t, dir, "aam.yaml", fmt.Sprintf("name: '%s'\nversion: '%s'\ndescription: about %s\nkeywords: [k]\nartifacts:\n  prompts: [{name: p, path: p.md, description: d}]\n  skills: [{name: s, path: s, description: d}]\ndependencies: {other: ^1.0.0}\n", name, version, version))
	put(t, dir, "p.md", "prompt of "+version)
	put(t, dir, "s/SKILL.md", "skill")
	return publication(t, dir)
}

func publication(t testing.TB, dir string) registry.Publication {
	t.Helper()
	m, err := manifest.Load(files.Disk{}, dir)
	if err != nil {
		t.Fatal(err)
	}
	return registry.Publication{Dir: dir, Manifest: m, Tag: "latest", Now: now, Limits: archive.DefaultLimits()}
}

// texts returns the content of all files below root.
func texts(t testing.TB, root string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		if entry.IsDir() {
			found[name+"/"] = ""
			return nil
		}
		data, err := os.ReadFile(path)
		found[name] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestPublish(t *testing.T) {
	root := t.TempDir()
	first, err := open(root).Publish(project(t, "@a/b", "1.0.0"))
	if err != nil {
		t.Fatal(err)
	}
	p := project(t, "@a/b", "0.9.0-rc.1")
	p.Tag = "beta"
	second, err := open(root).Publish(p)
	if err != nil {
		t.Fatal(err)
	}
	got := texts(t, root)
	want := fmt.Sprintf(`name: '@a/b'
description: about 0.9.0-rc.1
author: null
license: null
repository: null
keywords:
- k
dist_tags:
  latest: 0.9.0-rc.1
  beta: 0.9.0-rc.1
versions:
- version: 1.0.0
  published: '%[1]s'
  checksum: %[2]s
  size: %[3]d
  dependencies:
    other: ^1.0.0
- version: 0.9.0-rc.1
  published: '%[1]s'
  checksum: %[4]s
  size: %[5]d
  dependencies:
    other: ^1.0.0
`, now, first.Checksum, first.Size, second.Checksum, second.Size)
	if diff := cmp.Diff(want, got["packages/a--b/metadata.yaml"]); diff != "" {
		t.Errorf("metadata.yaml (-want +got)\n%s", diff)
	}
	want = `packages:
- name: '@a/b'
  description: about 0.9.0-rc.1
  latest: 0.9.0-rc.1
  keywords:
  - k
  artifact_types:
  - skill
  - prompt
  updated_at: '` + now + "'\n"
	if diff := cmp.Diff(want, got["index.yaml"]); diff != "" {
		t.Errorf("index.yaml (-want +got)\n%s", diff)
	}
	if _, err := archive.Check(files.Disk{}, filepath.Join(root, "packages/a--b/versions/0.9.0-rc.1.aam"), second.Checksum, archive.DefaultLimits()); err != nil {
		t.Error(err)
	}
	if len(got) != 8 { // the registry has two archives, two metadata files and four directories
		t.Errorf("the registry has the files %v", names(got))
	}
}

func names(files map[string]string) []string {
	var list []string
	for name := range files {
		list = append(list, name)
	}
	return list
}

func TestPublishRefuses(t *testing.T) {
	root := t.TempDir()
	for _, p := range []registry.Publication{project(t, "@a/b", "1.0.0"), project(t, "c", "1.0")} {
		if _, err := open(root).Publish(p); err != nil {
			t.Fatal(err)
		}
	}
	put(t, root, "packages/c/versions/3.0.0.aam", "unlisted")
	bad := project(t, "c", "4.0.0")
	if err := os.RemoveAll(filepath.Join(bad.Dir, "s")); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name string
		p    registry.Publication
		tag  string
		code fault.Code
		want string
	}{
		{"an existing version", project(t, "@a/b", "1.0.0"), "latest", fault.InvalidArgument, "@a/b@1.0.0 is already published"},
		{"an equal version", project(t, "c", "1.0.0"), "latest", fault.InvalidArgument, "is equal to the version 1.0"},
		{"an archive that is not listed", project(t, "c", "3.0.0"), "latest", fault.InvalidArgument, "already exists, but"},
		{"the directory of another package", project(t, "a--b", "2.0.0"), "latest", fault.InvalidArgument, "package '@a/b' in the registry uses the same directory as 'a--b'"},
		{"a tag in upper case", project(t, "d", "1.0.0"), "Beta", fault.InvalidArgument, "tag"},
		{"a tag that is a version", project(t, "d", "1.0.0"), "1-0", fault.InvalidArgument, "tag"},
		{"a version with surrounding white space", project(t, "d", " 1.0.0"), "latest", fault.InvalidArgument, "white space"},
		{"an absent artifact", bad, "latest", fault.ManifestInvalid, "artifact path 's'"},
	}
	before := texts(t, root)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			test.p.Tag = test.tag
			_, err := open(root).Publish(test.p)
			if failure := fault.From(err); failure == nil || failure.Code != test.code || !strings.Contains(failure.Message, test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
			if diff := cmp.Diff(before, texts(t, root)); diff != "" {
				t.Errorf("the registry was changed (-want +got)\n%s", diff)
			}
		})
	}
	_, err := open(filepath.Join(root, "none")).Publish(project(t, "d", "1.0.0"))
	if fault.From(err) == nil || fault.From(err).Code != fault.RegistryUnreachable {
		t.Errorf("Publish without a registry: got %v", err)
	}
}

// TestPublishRefusesFullRegistry checks that Publish does not make a file larger than readers accept.
func TestPublishRefusesFullRegistry(t *testing.T) {
	tests := []struct {
		name, file, begin, row string
		limit                  int
	}{
		{"the index", "index.yaml", "packages:\n", "- {name: p%d, description: '%0*d', latest: 1.0.0}\n", 8 << 20},
		{"the metadata", "packages/new/metadata.yaml", "name: new\ndescription: d\nversions:\n", "- {version: 1.%d.0, checksum: '%0*d'}\n", 4 << 20},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			root := t.TempDir()
			text := []byte(test.begin)
			for i := 0; len(text) < test.limit-200; i++ {
				text = fmt.Appendf(text, test.row, i, min(80_000, test.limit-100-len(text)), i)
				put(t, root, fmt.Sprintf("packages/p%d/metadata.yaml", i), "")
			}
			put(t, root, test.file, string(text))
			before := texts(t, root)
			_, err := open(root).Publish(project(t, "new", "2.0.0"))
			if failure := fault.From(err); failure == nil || failure.Code != fault.InvalidArgument || !strings.Contains(failure.Message, filepath.Base(test.file)) {
				t.Errorf("got %v", err)
			}
			if diff := cmp.Diff(before, texts(t, root)); diff != "" {
				t.Errorf("files (-before +after)\n%.500s", diff)
			}
		})
	}
}

func TestIndexAfterPublishing(t *testing.T) {
	root := t.TempDir()
	put(t, root, "packages/kept/metadata.yaml", "name: kept\ndescription: another one\nversions: [{version: 2.0.0}]\n")
	put(t, root, "packages/missing/metadata.yaml", "name: missing\ndescription: d\nversions: [{version: 1.0.0, published: 2026-02-10}]\n")
	put(t, root, "packages/broken/metadata.yaml", "name: [\n")
	put(t, root, "packages/none/versions/1.0.0.aam", "")
	put(t, root, "index.yaml", "packages:\n- {name: gone, description: d, latest: 1.0.0}\n- {name: kept, description: d, latest: 1.0.0, artifact_types: [agent]}\n")
	if _, err := open(root).Publish(project(t, "new", "1.0.0")); err != nil {
		t.Fatal(err)
	}
	want := []registry.Entry{
		{"kept", "d", "1.0.0", []string{}, []string{"agent"}, ""},
		{"missing", "d", "1.0.0", []string{}, []string{}, "2026-02-10"},
		{"new", "about 1.0.0", "1.0.0", []string{"k"}, []string{"skill", "prompt"}, now},
	}
	got, err := open(root).Index()
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got)\n%s", err, diff)
	}
	put(t, root, "index.yaml", "packages: [")
	if _, err := open(root).Publish(project(t, "new", "1.1.0")); err != nil {
		t.Fatal(err)
	}
	if got, err := open(root).Index(); err != nil || len(got) != 3 || got[0].Description != "another one" {
		t.Errorf("an invalid index is not rebuilt: %+v, %v", got, err)
	}
}

// TestPublishIsAtomicAtEachWrite lets each write fail in turn, and simulates the end of the process at each write.
// Readers must always find a consistent registry. After the next call, the registry must be the same as without the
// failure.
func TestPublishIsAtomicAtEachWrite(t *testing.T) {
	old, p, third := project(t, "old", "1.0.0"), project(t, "new", "1.0.0"), project(t, "third", "1.0.0")
	before := published(t, old)
	after := published(t, old, p, third)
	for _, kill := range []bool{false, true} {
		for at := 1; ; at++ {
			root := t.TempDir()
			if _, err := open(root).Publish(old); err != nil {
				t.Fatal(err)
			}
			system := faults.New(at, kill)
			failing := open(root)
			failing.Files = system
			_, err := failing.Publish(p)
			name := fmt.Sprintf("write %d, kill %t: %v", at, kill, err)
			published := checkWhole(t, name, root)
			if err == nil && !published {
				t.Errorf("%s: Publish succeeded, but the version is missing", name)
			}
			if !kill && err != nil {
				if diff := cmp.Diff(before, texts(t, root)); diff != "" {
					t.Errorf("%s: not as before (-want +got)\n%s", name, diff)
				}
			}
			if system.Count() < at {
				if err != nil || at < 10 {
					t.Errorf("%d writes, %v", at, err)
				}
				break
			}
			if _, err := open(root).Publish(p); err != nil && !published {
				t.Errorf("%s: the next Publish: %v", name, err)
			}
			if _, err := open(root).Publish(third); err != nil {
				t.Errorf("%s: the Publish of the third package: %v", name, err)
			}
			if diff := cmp.Diff(after, texts(t, root)); diff != "" {
				t.Errorf("%s: then (-want +got)\n%s", name, diff)
			}
		}
	}
}

// published returns the files of a new registry after the given publications.
func published(t *testing.T, publications ...registry.Publication) map[string]string {
	t.Helper()
	root := t.TempDir()
	for _, p := range publications {
		if _, err := open(root).Publish(p); err != nil {
			t.Fatal(err)
		}
	}
	return texts(t, root)
}

// checkWhole fails the test unless the package old in the registry is intact. It reports whether the package new
// exists.
func checkWhole(t *testing.T, name, root string) bool {
	t.Helper()
	entries, err := open(root).Index()
	if err != nil || len(entries) == 0 || len(entries) > 2 {
		t.Fatalf("%s: the index is %v, %v", name, entries, err)
	}
	for _, e := range entries {
		m, err := open(root).Metadata(e.Name)
		if err != nil {
			t.Fatalf("%s: %s: %v", name, e.Name, err)
		}
		path, err := open(root).Archive(e.Name, e.Latest)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := archive.Check(files.Disk{}, path, m.Versions[0].Checksum, archive.DefaultLimits()); err != nil {
			t.Errorf("%s: %s: %v", name, e.Name, err)
		}
	}
	_, err = open(root).Metadata("new")
	return err == nil
}

// TestPublishConcurrently runs two writers, which take the lock in turn, and readers without a lock.
func TestPublishConcurrently(t *testing.T) {
	root := t.TempDir()
	if _, err := open(root).Publish(project(t, "a", "0.0.1")); err != nil {
		t.Fatal(err)
	}
	const each = 8
	var lock sync.Mutex
	var writers, readers sync.WaitGroup
	done := make(chan struct{})
	for w := range 2 {
		var publications []registry.Publication
		for i := range each {
			publications = append(publications, project(t, "a", fmt.Sprintf("%d.0.%d", w+1, i)))
		}
		writers.Go(func() {
			for _, p := range publications {
				lock.Lock()
				if _, err := open(root).Publish(p); err != nil {
					t.Error(err)
				}
				lock.Unlock()
			}
		})
	}
	readers.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
			}
			entries, err := open(root).Index()
			if err != nil || len(entries) != 1 {
				t.Errorf("the index has the entries %v, %v", entries, err)
			}
			m, err := open(root).Metadata("a")
			if err != nil {
				t.Error(err)
				continue
			}
			path, _ := open(root).Archive("a", m.Latest())
			if _, err := os.Stat(path); err != nil {
				t.Errorf("a listed archive is absent: %v", err)
			}
		}
	})
	writers.Wait()
	close(done)
	readers.Wait()
	m, err := open(root).Metadata("a")
	if err != nil || len(m.Versions) != 2*each+1 {
		t.Errorf("the metadata has %d versions, %v", len(m.Versions), err)
	}
}

// TestRealPublication publishes the sources of the packages in a sample registry, and compares the new registry with
// the sample registry.
func TestRealPublication(t *testing.T) {
	root := t.TempDir()
	for _, version := range []string{"1.0.0", "1.2.0", "2.0.0"} {
		if _, err := open(root).Publish(publication(t, realdata.Path(t, "constructed", "package-sources", "report-templates-"+version))); err != nil {
			t.Fatal(err)
		}
	}
	real := open(realdata.Path(t, "constructed", "registries", "team-registry"))
	want, err := real.Metadata("report-templates")
	if err != nil {
		t.Fatal(err)
	}
	got, err := open(root).Metadata("report-templates")
	if err != nil {
		t.Fatal(err)
	}
	for i := range got.Versions { // the bytes of the plugin's archives differ from those of the aam program's archives
		got.Versions[i].Checksum, got.Versions[i].Size, got.Versions[i].Published = want.Versions[i].Checksum, want.Versions[i].Size, want.Versions[i].Published
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("metadata (-want +got)\n%s", diff)
	}
	entries, err := real.Index()
	if err != nil {
		t.Fatal(err)
	}
	index, err := open(root).Index()
	if err != nil || len(index) != 1 {
		t.Fatalf("%v, %v", index, err)
	}
	wanted := entries[len(entries)-1]
	wanted.ArtifactTypes, wanted.UpdatedAt = []string{"skill", "instruction"}, now
	if diff := cmp.Diff(wanted, index[0]); diff != "" {
		t.Errorf("index (-want +got)\n%s", diff)
	}
}

// TestPublishIntoRegistryInsidePackage has a registry inside of the package's directory, which Publish must not pack.
// Otherwise each archive would contain all earlier archives.
func TestPublishIntoRegistryInsidePackage(t *testing.T) {
	p := project(t, "own", "1.0.0")
	root := filepath.Join(p.Dir, "registry")
	put(t, root, "index.yaml", "packages: []\n")
	sizes := []int64{}
	for _, version := range []string{"1.0.0", "1.0.1"} {
		p.Manifest.Version = version
		got, err := open(root).Publish(p)
		if err != nil {
			t.Fatal(err)
		}
		sizes = append(sizes, got.Size)
	}
	if sizes[0] != sizes[1] {
		t.Errorf("the archives have the sizes %v, in bytes", sizes)
	}
}
