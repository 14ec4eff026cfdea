package manager_test

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/files"
)

// counting is a file system that records which archives are opened, in order, and how many bytes of archives are read.
type counting struct {
	files.System
	archives *[]string
	read     *int
}

func (c counting) Open(path string) (io.ReadCloser, error) {
	file, err := c.System.Open(path)
	if err != nil || filepath.Ext(path) != ".aam" {
		return file, err
	}
	*c.archives = append(*c.archives, filepath.Base(filepath.Dir(filepath.Dir(path))))
	return countedFile{file, c.read}, nil
}

type countedFile struct {
	io.ReadCloser
	read *int
}

func (f countedFile) Read(p []byte) (int, error) {
	n, err := f.ReadCloser.Read(p)
	*f.read += n
	return n, err
}

// TestSearchOpensArchives searches a registry whose index has no artifact types, as in registries that the aam program
// writes. The search must open the archives of matching packages in the order of their scores, and only until it has as
// many results as the limit allows.
func TestSearchOpensArchives(t *testing.T) {
	packages := []string{"a@1.0.0", "b@1.0.0", "c@1.0.0", "d@1.0.0", "e@1.0.0", "f@1.0.0"}
	root, m := shelf(t, packages...) // each package has a skill; shelf also publishes the package pkg, which has a prompt
	index := "packages:\n"
	for _, name := range []string{"a", "b", "c", "d", "e", "f", "pkg"} {
		index += fmt.Sprintf("- {name: %s, description: d, latest: 1.0.0, artifact_types: []}\n", name)
	}
	archive := func(name string) string {
		return filepath.Join(root, "registry", "packages", name, "versions", "1.0.0.aam")
	}
	for path, data := range map[string]string{filepath.Join(root, "registry", "index.yaml"): index, archive("b"): "no archive"} {
		if err := os.WriteFile(path, []byte(data), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Remove(archive("d")); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name, query, kind string
		limit             int
		found, opened     string
		warned            int
	}{
		{"one archive of each returned package", "", "", 3, "a:skill b: c:skill", "a b c", 1},
		{"with a type, until the limit is reached", "", "skill", 2, "a:skill c:skill", "a b c", 1},
		{"of a rare type, archives of all matching packages", "", "prompt", 1, "pkg:prompt", "a b c e f pkg", 2},
		{"of a type without packages, archives of all matching packages, once each", "", "agent", 50, "", "a b c e f pkg", 2},
		{"no archives of packages that do not match", "pkg", "prompt", 50, "pkg:prompt", "pkg", 0},
		{"no archive without a match", "zzz", "prompt", 50, "", "", 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var opened, warned []string
			read := 0
			m.Files, m.Warn = counting{files.Disk{}, &opened, &read}, func(text string) { warned = append(warned, text) }
			found, err := m.Search(test.query, test.limit, test.kind)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, f := range found {
				got = append(got, f.Name+":"+strings.Join(f.ArtifactTypes, ","))
			}
			opened = slices.Compact(opened) // Search opens an invalid archive a second time to determine the error
			if diff := cmp.Diff([]string{test.found, test.opened}, []string{strings.Join(got, " "), strings.Join(opened, " ")}); diff != "" {
				t.Errorf("found and opened (-want +got)\n%s", diff)
			}
			if len(warned) != test.warned {
				t.Errorf("the search logged the warnings %q", warned)
			}
		})
	}
}

// TestSearchReadsOnlyBeginningOfArchive checks that the cost of a search does not depend on the size of archives.
func TestSearchReadsOnlyBeginningOfArchive(t *testing.T) {
	root, m := shelf(t)
	source := filepath.Join(root, "large")
	noise := make([]byte, 4<<20)
	for i := range noise {
		noise[i] = byte(rand.Uint32())
	}
	for name, data := range map[string][]byte{
		"aam.yaml": []byte("name: large\nversion: 1.0.0\ndescription: d\nartifacts: {skills: [{name: s, path: a, description: d}]}\n"), "a/SKILL.md": []byte("x"), "a/noise": noise,
	} {
		path := filepath.Join(source, filepath.FromSlash(name))
		testenv.WriteFile(t, path, string(data))
	}
	project := m.Project
	m.Project = source
	if _, err := m.Publish(nil, "latest"); err != nil {
		t.Fatal(err)
	}
	m.Project = project
	path := filepath.Join(root, "registry", "index.yaml")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, bytes.ReplaceAll(data, []byte("  artifact_types:\n  - skill\n"), nil), 0o644); err != nil {
		t.Fatal(err)
	}
	var opened []string
	read := 0
	m.Files = counting{files.Disk{}, &opened, &read}
	found, err := m.Search("large", 10, "skill")
	if err != nil || len(found) != 1 || len(opened) != 1 || read > 64<<10 {
		t.Errorf("found %v, %v; %d bytes read of %v", found, err, read, opened)
	}
}
