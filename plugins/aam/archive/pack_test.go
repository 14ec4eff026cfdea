package archive_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/plugins/aam/archive"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/fault"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/manifest"
)

// project creates the directory of a package with the given additional files. Content that begins with -> creates a
// symbolic link to the target after the arrow.
func project(t testing.TB, more map[string]string) (string, *manifest.Manifest) {
	t.Helper()
	dir := t.TempDir()
	all := map[string]string{"aam.yaml": manifestText, "prompts/p.md": "hi\n"}
	for name, text := range more {
		all[name] = text
	}
	for name, text := range all {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		var err error
		if target, ok := strings.CutPrefix(text, "->"); ok {
			err = os.Symlink(strings.ReplaceAll(target, "DIR", dir), path)
		} else {
			err = os.WriteFile(path, []byte(text), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	m, err := manifest.Load(disk, dir)
	if err != nil {
		t.Fatal(err)
	}
	return dir, m
}

func TestPack(t *testing.T) {
	long := strings.Repeat("segment/", 20) + "é.md"
	dir, m := project(t, map[string]string{
		"run.sh": "#!\n", long: "deep", "a/z": "", "aliases/p.md": "->../prompts/p.md", "aliases/abs.md": "->DIR/prompts/p.md", "folder": "->prompts",
		".git/HEAD": "x", "sub/.git": "x", ".aam/aam-lock.yaml": "x", ".env": "x", "sub/.env.local": "x", "pkg-0.9.0.aam": "x", "a/kept.aam": "k",
		"credentials.yaml": "token: x", "sub/Credentials.YAML": "token: x", "sub/.ENV.prod": "x", "sub2/.Git/config": "x", "kept/my-credentials.yaml": "k",
		"node_modules/x/y": "x", "sub/dist/y": "x", "build": "a file of that name", ".a.aam-tmp-x": "x",
	})
	if err := os.Chmod(filepath.Join(dir, "run.sh"), 0o700); err != nil {
		t.Fatal(err)
	}
	var data, again bytes.Buffer
	listing, err := archive.Pack(disk, dir, m, &data, archive.DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	if listing.Files[0].Path != "aam.yaml" {
		t.Errorf("the first file in the archive is %s", listing.Files[0].Path)
	}
	path := save(t, data.Bytes())
	checked, err := archive.Check(disk, path, listing.Checksum, archive.DefaultLimits())
	if err != nil || checked.Size != listing.Size || checked.Manifest.Name != "pkg" {
		t.Errorf("Pack succeeds, but Check fails: %+v, %v", checked, err)
	}
	want := map[string]string{"aam.yaml": manifestText, "prompts/p.md": "hi\n", "run.sh": "x#!\n", long: "deep", "a/z": "", "a/kept.aam": "k", "kept/my-credentials.yaml": "k",
		"aliases/p.md": "hi\n", "aliases/abs.md": "hi\n", "build": "a file of that name"}
	got, err := install(t, path, archive.DefaultLimits())
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got)\n%s", err, diff)
	}
	if err := os.Chtimes(filepath.Join(dir, "run.sh"), testTime, testTime); err != nil {
		t.Fatal(err)
	}
	if _, err := archive.Pack(disk, dir, m, &again, archive.DefaultLimits()); err != nil || !bytes.Equal(data.Bytes(), again.Bytes()) {
		t.Errorf("packing the same files twice returns different archives: %v", err)
	}
}

func TestPackRefuses(t *testing.T) {
	noArtifact := strings.Replace(manifestText, "prompts/p.md", "dist/p.md", 1)
	tests := []struct {
		name  string
		files map[string]string
		code  fault.Code
		want  string
	}{
		{"a symbolic link out of the package", map[string]string{"l": "->../../outside"}, fault.ArchiveInvalid, "resolves outside"},
		{"a symbolic link to a private file", map[string]string{"notes.md": "->.env", ".env": "TOKEN=x"}, fault.ArchiveInvalid, "never packed"},
		{"a symbolic link into a private directory", map[string]string{"notes.md": "->.git/config", ".git/config": "x"}, fault.ArchiveInvalid, "never packed"},
		{"a symbolic link to credentials.yaml", map[string]string{"notes.md": "->sub/CREDENTIALS.yaml", "sub/CREDENTIALS.yaml": "token: x"}, fault.ArchiveInvalid, "never packed"},
		{"a .git by its short name", map[string]string{"git~1/config": "x"}, fault.ArchiveInvalid, "has the element .git"},
		{"a dangling link", map[string]string{"l": "->nothing"}, fault.ArchiveInvalid, "dangling symbolic link"},
		{"a link below a file", map[string]string{"l": "->prompts/p.md/x"}, fault.ArchiveInvalid, "l"},
		{"a name that is not UTF-8", map[string]string{"a\xff": "x"}, fault.ArchiveInvalid, "not UTF-8"},
		{"a directory whose name is not UTF-8", map[string]string{"a\xff/b": "x"}, fault.ArchiveInvalid, "not UTF-8"},
		{"names that differ in case", map[string]string{"Prompts/p.md": "x"}, fault.ArchiveInvalid, "the same path on some file systems"},
		{"a name with a line break", map[string]string{"a\nb": "x"}, fault.ArchiveInvalid, "control characters"},
		{"too deep", map[string]string{"a/b/c/d/e": "x"}, fault.ArchiveInvalid, "deep"},
		{"too many files", map[string]string{"1": "", "2": "", "3": "", "4": ""}, fault.ArchiveInvalid, "more than 5 files"},
		{"too much", map[string]string{"1": strings.Repeat("x", 5000)}, fault.ArchiveInvalid, "more than 4000 bytes"},
		{"an archive above the limit", map[string]string{"1": noise(40)}, fault.ArchiveInvalid, "more than 1000 bytes"},
		{"an artifact that is not packed", map[string]string{"aam.yaml": noArtifact, "dist/p.md": "x"}, fault.ManifestInvalid, "artifact path 'dist/p.md' is not in the archive"},
	}
	limits := archive.Limits{Compressed: 1000, Inflated: 4000, Members: 5, Depth: 3, Path: 100}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			dir, m := project(t, test.files)
			_, err := archive.Pack(disk, dir, m, &bytes.Buffer{}, limits)
			if failure := fault.From(err); failure == nil || failure.Code != test.code || !strings.Contains(failure.Message, test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

// writes is a writer that counts the calls of Write and the written bytes.
type writes struct{ n, bytes int }

func (w *writes) Write(p []byte) (int, error) {
	w.n, w.bytes = w.n+1, w.bytes+len(p)
	return len(p), nil
}

// TestPackBuffersWrites checks that Pack writes few, large blocks, because in a WebAssembly module each write is a call
// to the host.
func TestPackBuffersWrites(t *testing.T) {
	dir, m := project(t, map[string]string{"large": noise(1 << 17)})
	var to writes
	if _, err := archive.Pack(disk, dir, m, &to, archive.DefaultLimits()); err != nil {
		t.Fatal(err)
	}
	if to.bytes < 1<<15 || to.n > 1+to.bytes/(32<<10) {
		t.Errorf("%d bytes were written in %d pieces", to.bytes, to.n)
	}
}

// packFolder packs the package in dir and returns the path of the archive.
func packFolder(t testing.TB, dir string) string {
	t.Helper()
	m, err := manifest.Load(disk, dir)
	if err != nil {
		t.Fatal(err)
	}
	var data bytes.Buffer
	if _, err := archive.Pack(disk, dir, m, &data, archive.DefaultLimits()); err != nil {
		t.Fatal(err)
	}
	return save(t, data.Bytes())
}
