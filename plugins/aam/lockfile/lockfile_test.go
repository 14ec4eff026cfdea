package lockfile_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/fault"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/files"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/internal/realdata"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/lockfile"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/manifest"
)

const sample = `lockfile_version: 1
resolved_at: '2026-02-10T12:00:00.000000+00:00'
packages:
  '@acme/code-review':
    version: 1.1.0
    source: team
    checksum: sha256:aa
    dependencies:
      report-templates: ^1.0.0
    file_checksums: null
    source_name: null
    source_commit: null
  b:
    version: '1.0'
    source: source
    checksum: ''
    dependencies: {}
    file_checksums:
      algorithm: sha256
      files:
        aam.yaml: bb
    source_name: openai/skills
    source_commit: '012'
`

func TestLock(t *testing.T) {
	lock, err := lockfile.Parse([]byte(sample))
	if err != nil {
		t.Fatal(err)
	}
	name, commit := "openai/skills", "012"
	want := []lockfile.Entry{
		{Name: "@acme/code-review", Version: "1.1.0", Source: "team", Checksum: "sha256:aa", Dependencies: []manifest.Dependency{{Name: "report-templates", Constraint: "^1.0.0"}}},
		{Name: "b", Version: "1.0", Source: "source", SourceName: &name, SourceCommit: &commit,
			FileChecksums: &lockfile.FileChecksums{Algorithm: "sha256", Files: []lockfile.FileChecksum{{Path: "aam.yaml", Hex: "bb"}}}},
	}
	if diff := cmp.Diff(want, lock.Packages); diff != "" {
		t.Errorf("read (-want +got)\n%s", diff)
	}
	written, err := lock.Encode("2026-02-10T12:00:00.000000+00:00")
	if diff := cmp.Diff(sample, string(written)); err != nil || diff != "" {
		t.Errorf("written: %v (-want +got)\n%s", err, diff)
	}
	if diff := cmp.Diff([]string{"@acme/code-review"}, lock.Dependents("report-templates")); diff != "" {
		t.Errorf("dependents (-want +got)\n%s", diff)
	}
	lock.Set(lockfile.Entry{Name: "@acme/code-review", Version: "2"})
	lock.Set(lockfile.Entry{Name: "c", Version: "3"})
	lock.Remove("b")
	lock.Remove("nobody")
	if first, ok := lock.Find("@acme/code-review"); !ok || first.Version != "2" || len(lock.Packages) != 2 || lock.Packages[1].Name != "c" {
		t.Errorf("the changed lock has the packages %+v", lock.Packages)
	}
	if _, ok := lock.Find("b"); ok {
		t.Error("Remove did not remove the package b")
	}
	empty, err := (&lockfile.Lock{}).Encode("now")
	if want := "lockfile_version: 1\nresolved_at: now\npackages: {}\n"; err != nil || string(empty) != want {
		t.Errorf("Encode of an empty lock: got %q, %v", empty, err)
	}
}

func TestLoad(t *testing.T) {
	tests := []struct {
		name, text string
		want       string // a substring of the expected error; "" for no error
		packages   int
	}{
		{"an empty file", "", "", 0},
		{"an entry that is a string", "packages:\n  a: '1.0'\n", "", 0},
		{"a later version of the format", "lockfile_version: 99\npackages: {}\n", "", 0},
		{"a file in another form", "- a\n", "", 0},
		{"packages that are null", "packages:\n", "packages: must be a mapping, not null", 0},
		{"an invalid name", "packages:\n  BAD_n: {version: 1.0.0, source: s, checksum: ''}\n", `packages.BAD_n: package name "BAD_n"`, 0},
		{"broken YAML", "packages: [\n", "line 2", 0},
		{"an incomplete entry", "packages:\n  a: {version: 1.0.0}\n", "packages.a.source: field required; packages.a.checksum: field required", 0},
		{"a version that is a number", "packages:\n  a: {version: 1.0, source: s, checksum: ''}\n", "packages.a.version: must be a string", 0},
		{"source_name without source_commit", "packages:\n  a: {version: 1.0.0, source: s, checksum: '', source_name: x}\n", "packages.a: source_name and source_commit", 0},
		{"the sample", sample, "", 2},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			project := t.TempDir()
			path := lockfile.Path(project)
			testenv.WriteFile(t, path, test.text)
			lock, err := lockfile.Load(files.Disk{}, project)
			if test.want != "" {
				if failure := fault.From(err); failure == nil || failure.Code != fault.Internal || failure.Hint == "" || !strings.Contains(failure.Message, test.want) {
					t.Errorf("got %v, want %q", err, test.want)
				}
				return
			}
			if err != nil || len(lock.Packages) != test.packages {
				t.Errorf("got %+v, %v", lock, err)
			}
		})
	}
	if lock, err := lockfile.Load(files.Disk{}, t.TempDir()); err != nil || len(lock.Packages) != 0 {
		t.Errorf("Load of a file that does not exist: got %+v, %v", lock, err)
	}
}

// TestRealLocks parses the sample lock files. A file that the aam program wrote must be equal after parsing and
// encoding.
func TestRealLocks(t *testing.T) {
	refused := regexp.MustCompile(`lock-(bad-name|bad-yaml|entry-incomplete|float-version|half-source|packages-null)/`)
	resolved := regexp.MustCompile(`resolved_at: '(.*)'\n`)
	var paths []string
	for _, pattern := range [][]string{{"from-repo", "locks", "*"}, {"constructed", "workspaces", "*", ".aam", "aam-lock.yaml"}, {"constructed", "workspaces", "locks", "*", ".aam", "aam-lock.yaml"}} {
		found, err := filepath.Glob(realdata.Path(t, pattern...))
		if err != nil || len(found) == 0 {
			t.Fatalf("no files match %v: %v", pattern, err)
		}
		paths = append(paths, found...)
	}
	rewritten := 0
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		lock, err := lockfile.Parse(data)
		if (err != nil) != refused.MatchString(path) {
			t.Errorf("%s: got %v", path, err)
		}
		if err != nil || !strings.Contains(path, "installed-") {
			continue
		}
		rewritten++
		written, err := lock.Encode(resolved.FindStringSubmatch(string(data))[1])
		if diff := cmp.Diff(string(data), string(written)); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got)\n%s", path, err, diff)
		}
	}
	if rewritten < 4 {
		t.Errorf("only %d files were encoded", rewritten)
	}
}

// FuzzParse checks that encoding and parsing a lock returns an equal lock.
func FuzzParse(f *testing.F) {
	f.Add([]byte(sample))
	f.Add([]byte("packages: {a: {version: '1', source: s, checksum: '', dependencies: {'1': 'yes'}}}"))
	f.Add([]byte("packages: &a {b: *a}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		lock, err := lockfile.Parse(data)
		if err != nil {
			return
		}
		written, err := lock.Encode(lock.ResolvedAt)
		if err != nil {
			t.Fatalf("%q: %v", data, err)
		}
		again, err := lockfile.Parse(written)
		if diff := cmp.Diff(lock, again); err != nil || diff != "" {
			t.Fatalf("%q: written as %q: %v\n%s", data, written, err, diff)
		}
	})
}
