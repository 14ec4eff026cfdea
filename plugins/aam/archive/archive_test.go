package archive_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/plugins/aam/archive"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/fault"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/files"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/files/faults"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/manifest"
)

const manifestText = "name: pkg\nversion: 1.0.0\ndescription: d\nartifacts: {prompts: [{name: p, path: prompts/p.md, description: d}]}\n"

var disk = files.Disk{}

// regular returns a tar member for a regular file.
func regular(name, text string) member {
	return member{&tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o644, Size: int64(len(text))}, text}
}

func linked(name, to string, flag byte) member {
	return member{&tar.Header{Name: name, Linkname: to, Typeflag: flag, Mode: 0o777}, ""}
}

type member struct {
	header *tar.Header
	text   string
}

// pkg returns the members of a complete package, followed by the members in more.
func pkg(more ...member) []member {
	return append([]member{regular("aam.yaml", manifestText), regular("prompts/p.md", "hi\n")}, more...)
}

// write creates an archive with the given members and returns the path of the archive.
func write(t testing.TB, members []member) string {
	t.Helper()
	var data bytes.Buffer
	compressed := gzip.NewWriter(&data)
	out := tar.NewWriter(compressed)
	for _, m := range members {
		if err := out.WriteHeader(m.header); err != nil {
			t.Fatal(err)
		}
		if _, err := out.Write([]byte(m.text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	if err := compressed.Close(); err != nil {
		t.Fatal(err)
	}
	return save(t, data.Bytes())
}

func save(t testing.TB, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a.aam")
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// install checks and extracts an archive, and returns the content of each extracted file.
func install(t testing.TB, path string, limits archive.Limits) (map[string]string, error) {
	t.Helper()
	listing, err := archive.Check(disk, path, "", limits)
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(t.TempDir(), "out")
	if err := archive.Extract(disk, path, dir, listing, limits); err != nil {
		return nil, err
	}
	return texts(t, dir), nil
}

var testTime = time.Date(2026, 2, 10, 12, 0, 0, 0, time.UTC)

// noise returns a text of 64*n bytes whose compression ratio is below 2.
func noise(n int) string {
	var text strings.Builder
	for i := range n {
		fmt.Fprintf(&text, "%x", sha256.Sum256([]byte{byte(i)}))
	}
	return text.String()
}

// texts returns the content of all files in a directory. The content of an executable file gets the prefix x.
func texts(t testing.TB, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		if !info.Mode().IsRegular() {
			found[name] = info.Mode().String()
			return nil
		}
		data, err := os.ReadFile(path)
		found[name] = string(data)
		if info.Mode()&0o100 != 0 {
			found[name] = "x" + found[name]
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestInstall(t *testing.T) {
	script := regular("run.sh", "#!\n")
	script.header.Mode = 0o6777
	long := strings.Repeat("segment/", 20) + "é.md"
	plain := map[string]string{"aam.yaml": manifestText, "prompts/p.md": "hi\n"}
	tests := []struct {
		name    string
		members []member
		more    map[string]string // files in addition to those of plain; a file with a path of plain replaces that of plain
	}{
		{"files", pkg(), nil},
		{"names that begin with a dot and a slash", []member{regular("./aam.yaml", manifestText), regular("./prompts//./p.md", "hi\n")}, nil},
		{"the last of duplicate members is extracted", pkg(regular("prompts/p.md", "second copy\n")), map[string]string{"prompts/p.md": "second copy\n"}},
		{"a symbolic link inside is a copy", pkg(linked("prompts/alias.md", "p.md", tar.TypeSymlink)), map[string]string{"prompts/alias.md": "hi\n"}},
		{"a link to a later member", append([]member{linked("a.md", "prompts/p.md", tar.TypeSymlink)}, pkg()...), map[string]string{"a.md": "hi\n"}},
		{"a link to a link", pkg(linked("a", "b", tar.TypeSymlink), linked("b", "prompts/../prompts/p.md", tar.TypeSymlink)), map[string]string{"a": "hi\n", "b": "hi\n"}},
		{"the target of a hard link is relative to the package", pkg(linked("x/y", "prompts/p.md", tar.TypeLink)), map[string]string{"x/y": "hi\n"}},
		{"only the owner's executable bit of the mode", pkg(script), map[string]string{"run.sh": "x#!\n"}},
		{"directories, even after their entries", pkg(member{&tar.Header{Name: "prompts/", Typeflag: tar.TypeDir}, ""}, member{&tar.Header{Name: "./", Typeflag: tar.TypeDir}, ""}), nil},
		{"a long path that is not ASCII", pkg(regular(long, "x")), map[string]string{long: "x"}},
		{"names that only begin with .git", pkg(regular(".gitignore", "x"), regular("a/.github/x", "x"), regular("git", "x")), map[string]string{".gitignore": "x", "a/.github/x": "x", "git": "x"}},
		{"a global header", append([]member{{&tar.Header{Typeflag: tar.TypeXGlobalHeader, PAXRecords: map[string]string{"comment": "c"}}, ""}}, pkg()...), nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			want := map[string]string{}
			for _, source := range []map[string]string{plain, test.more} {
				for name, text := range source {
					want[name] = text
				}
			}
			got, err := install(t, write(t, test.members), archive.DefaultLimits())
			if diff := cmp.Diff(want, got); err != nil || diff != "" {
				t.Errorf("%v (-want +got)\n%s", err, diff)
			}
		})
	}
}

func TestRefused(t *testing.T) {
	small := archive.Limits{Compressed: 4096, Inflated: 16384, Members: 8, Depth: 3, Path: 60}
	var many []member
	for i := range 7 {
		many = append(many, regular(fmt.Sprint(i), ""))
	}
	tests := []struct {
		name    string
		members []member
		want    string // a substring of the expected error
	}{
		{"a path out of the package", pkg(regular("../../escaped.txt", "x")), "'..'"},
		{"dots within a path", pkg(regular("a/../b.txt", "x")), "'..'"},
		{"an absolute path", pkg(regular("/srv/escaped.txt", "x")), "absolute"},
		{"a symbolic link out of the package", pkg(linked("link", "../../outside", tar.TypeSymlink)), "outside of the package"},
		{"an absolute symbolic link", pkg(linked("link", "/etc/hostname", tar.TypeSymlink)), "outside of the package"},
		{"a link to the package's parent, and a file in it", pkg(linked("d", "..", tar.TypeSymlink), regular("d/evil.txt", "x")), "outside of the package"},
		{"a hard link out of the package", pkg(linked("h", "../../../outside", tar.TypeLink)), "outside of the package"},
		{"a pipe", pkg(member{&tar.Header{Name: "pipe", Typeflag: tar.TypeFifo}, ""}), "neither a file"},
		{"a device", pkg(member{&tar.Header{Name: "null", Typeflag: tar.TypeChar, Devmajor: 1, Devminor: 3}, ""}), "neither a file"},
		{"a file below a symbolic link to a directory", pkg(linked("d", "prompts", tar.TypeSymlink), regular("d/x", "x")), "exists with two types"},
		{"a link to a directory", pkg(linked("d", "prompts", tar.TypeSymlink)), "not a file in the archive"},
		{"a dangling link", pkg(linked("d", "none", tar.TypeSymlink)), "not a file in the archive"},
		{"a link to itself", pkg(linked("d", "d", tar.TypeSymlink)), "not a file in the archive"},
		{"a link to the package", pkg(linked("d/e", "..", tar.TypeSymlink)), "outside of the package"},
		{"a file in a file", pkg(regular("prompts/p.md/x", "x")), "exists with two types"},
		{"a file and a directory with one path", pkg(regular("prompts", "x")), "exists with two types"},
		{"a link and a file with one path", pkg(linked("prompts/p.md", "aam.yaml", tar.TypeSymlink)), "exists with two types"},
		{"names that differ in case", pkg(regular("Prompts/q.md", "x")), "the same path on some file systems"},
		{"names that differ in Unicode normalization", pkg(regular("\u00e9", ""), regular("e\u0301", "")), "the same path on some file systems"},
		{"a .git", pkg(regular(".git/config", "x")), "has the element .git"},
		{"a .git in a subdirectory, in another case", pkg(regular("sub/.GIT", "x")), "has the element .git"},
		{"a .git with an invisible code point", pkg(regular(".g\u200cit/config", "x")), "has the element .git"},
		{"a .git by its short name", pkg(regular("Git~1/config", "x")), "has the element .git"},
		{"a directory .git", pkg(member{&tar.Header{Name: ".git/", Typeflag: tar.TypeDir}, ""}), "has the element .git"},
		{"a name with a line break", pkg(regular("a\nb", "")), "control characters"},
		{"a name that is not UTF-8", pkg(regular("a\xff", "")), "not UTF-8"},
		{"the package's directory as name", pkg(regular(".", "")), "without a file name"},
		{"a path above the limit", pkg(regular(strings.Repeat("a", 61), "")), "at most 60"},
		{"too deep", pkg(regular("a/b/c/d", "")), "at most 3"},
		{"too many members", pkg(many...), "more than 8 members"},
		{"inflated size above the limit", pkg(regular("blob", strings.Repeat("\x00", 20_000))), "at most 16384 are allowed"},
		{"total size above the limit", pkg(regular("a", strings.Repeat("\x00", 9000)), regular("b", strings.Repeat("\x00", 9000))), "more than 16384 bytes"},
		{"total size above the limit by links", pkg(regular("a", strings.Repeat("\x00", 6000)), linked("b", "a", tar.TypeLink), linked("c", "a", tar.TypeLink)), "more than 16384 bytes"},
		{"no manifest", []member{regular("readme.md", "x")}, "has no aam.yaml"},
		{"a manifest in a subdirectory", []member{regular("pkg/aam.yaml", manifestText)}, "has no aam.yaml"},
		{"an invalid manifest", []member{regular("aam.yaml", "name: x\n")}, "version: field required"},
		{"a manifest that is a link", []member{regular("m", manifestText), linked("aam.yaml", "m", tar.TypeSymlink)}, "aam.yaml is a link, but must be a file"},
		{"an empty manifest", []member{regular("aam.yaml", "")}, "name: field required"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			path := write(t, test.members)
			listing, err := archive.Check(disk, path, "", small)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Fatalf("got %+v, %v, want %q", listing, err, test.want)
			}
			if code := fault.From(err).Code; code != fault.ArchiveInvalid && code != fault.ManifestInvalid {
				t.Errorf("the error has the code %s", code)
			}
			if got := texts(t, filepath.Dir(path)); len(got) != 1 {
				t.Errorf("files next to the archive: %v", got)
			}
		})
	}
}

func TestCheckRefusesInvalidBytes(t *testing.T) {
	good, err := os.ReadFile(write(t, pkg(regular("x", strings.Repeat("compressible text ", 500)))))
	if err != nil {
		t.Fatal(err)
	}
	var plain bytes.Buffer
	tar.NewWriter(&plain).Close()
	large, err := os.ReadFile(write(t, pkg(regular("x", noise(200)))))
	if err != nil {
		t.Fatal(err)
	}
	flipped := bytes.Clone(good)
	flipped[len(flipped)-6] ^= 1 // this byte belongs to the CRC in the gzip trailer
	tests := []struct {
		name string
		data []byte
		want string
	}{
		{"a tar that is not compressed", plain.Bytes(), "damaged or not a gzip"},
		{"a truncated archive", good[:len(good)/2], "damaged or not a gzip"},
		{"other bytes", []byte("not an archive"), "damaged or not a gzip"},
		{"nothing", nil, "damaged or not a gzip"},
		{"bytes after the archive", append(bytes.Clone(good), "more"...), "damaged or not a gzip"},
		{"a changed byte", flipped, "damaged or not a gzip"},
		{"a file above the limit", large, "more than 4096 bytes"},
	}
	limits := archive.DefaultLimits()
	limits.Compressed = 4096
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			path := save(t, test.data)
			if _, err := archive.Check(disk, path, "", limits); fault.From(err) == nil || fault.From(err).Code != fault.ArchiveInvalid || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v", err)
			}
			if _, err := archive.Check(disk, path, "sha256:x", limits); len(test.data) < 4096 && fault.From(err).Code != fault.ChecksumMismatch {
				t.Errorf("Check with a wrong checksum: got %v", err)
			}
		})
	}
	_, err = archive.Check(disk, filepath.Join(t.TempDir(), "none.aam"), "", limits)
	if fault.From(err).Code != fault.ArchiveInvalid {
		t.Errorf("Check of a file that does not exist: got %v", err)
	}
	if _, err = archive.Check(disk, t.TempDir(), "", limits); err == nil {
		t.Error("a directory is accepted as archive")
	}
}

func TestChecksum(t *testing.T) {
	path := write(t, pkg())
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf("sha256:%x", sha256.Sum256(data))
	listing, err := archive.Check(disk, path, want, archive.DefaultLimits())
	if err != nil || listing.Checksum != want || listing.Size != int64(len(data)) {
		t.Errorf("got %+v, %v", listing, err)
	}
	_, err = archive.Check(disk, path, "sha256:"+strings.ToUpper(want[7:]), archive.DefaultLimits())
	if fault.From(err).Code != fault.ChecksumMismatch {
		t.Errorf("Check with an upper-case checksum: got %v", err)
	}
}

func TestCheckArtifacts(t *testing.T) {
	listing, err := archive.Check(disk, write(t, pkg(regular("a/b/c.md", ""), member{&tar.Header{Name: "empty/", Typeflag: tar.TypeDir}, ""})), "", archive.DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	for at, there := range map[string]bool{"prompts/p.md": true, "prompts/": true, "a": true, "./a/b": true, "a/b/c.md": true, ".": true, "": true, "b": false, "a/b/c": false, "prompt": false, "empty": false} {
		listing.Manifest.Artifacts = []manifest.Artifact{{Type: manifest.Skill, Name: "s", Path: at}}
		if err := listing.CheckArtifacts(); (err == nil) != there {
			t.Errorf("%q: got %v, want found: %t", at, err, there)
		}
	}
}

// unpacked returns the decompressed tar of the archive at path.
func unpacked(t *testing.T, path string) []byte {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	inflater, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(inflater)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestPeek(t *testing.T) {
	good, err := os.ReadFile(write(t, pkg(regular("x", noise(100)))))
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name string
		path string
		want string // a substring of the expected error; "" for no error
	}{
		{"a manifest", write(t, pkg()), ""},
		{"bytes after the manifest are not read", write(t, pkg(regular("../x", ""))), ""},
		{"missing bytes after the manifest are not noticed", save(t, good[:len(good)-1000]), ""},
		{"members before the manifest are read", write(t, append([]member{regular("../x", "")}, pkg()...)), "'..'"},
		{"no manifest", write(t, []member{regular("x", "")}), "has no aam.yaml"},
		{"a manifest beyond the read limit", write(t, append([]member{regular("x", strings.Repeat("\x00", 17<<20))}, pkg()...)), "allowed"},
		{"a manifest that is a link", write(t, []member{linked("aam.yaml", "x", tar.TypeSymlink)}), "is a link"},
		{"no archive", save(t, nil), "damaged or not a gzip"},
	}
	for _, size := range []int{0, 5_000, 9_000, 40_000, 100_000} {
		tests = append(tests, struct{ name, path, want string }{fmt.Sprintf("a manifest after %d bytes", size), write(t, append([]member{regular("a", noise(size))}, pkg()...)), ""})
	}
	var parts bytes.Buffer // the archive consists of two gzip members, the first of which has a comment
	for i, part := range [][]byte{unpacked(t, write(t, pkg()))[:700], unpacked(t, write(t, pkg()))[700:]} {
		w := gzip.NewWriter(&parts)
		w.Name, w.Comment = "x", strings.Repeat("c", 1-i)
		if _, err := w.Write(part); err != nil || w.Close() != nil {
			t.Fatal(err)
		}
	}
	tests = append(tests, struct{ name, path, want string }{"gzip members", save(t, parts.Bytes()), ""})
	var peeker archive.Peeker // the test reuses one Peeker for all archives
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			m, err := peeker.Types(disk, test.path, archive.DefaultLimits())
			if test.want == "" && (err != nil || len(m) == 0) || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("got %+v, %v, want %q", m, err, test.want)
			}
		})
	}
}

// TestExtractRefusesArchiveChangedAfterCheck replaces the archive after Check and before Extract.
func TestExtractRefusesArchiveChangedAfterCheck(t *testing.T) {
	listing, err := archive.Check(disk, write(t, pkg(regular("x", "1"))), "", archive.DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	for name, members := range map[string][]member{
		"another text": pkg(regular("x", "2")), "another name": pkg(regular("y", "1")), "another size": pkg(regular("x", "12")),
		"one less": pkg(), "one more": pkg(regular("x", "1"), regular("y", "")), "a link": pkg(linked("x", "aam.yaml", tar.TypeSymlink)),
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			err := archive.Extract(disk, write(t, members), filepath.Join(root, "out"), listing, archive.DefaultLimits())
			if err == nil || len(texts(t, root)) != 0 {
				t.Errorf("got %v, left %v", err, texts(t, root))
			}
		})
	}
}

// TestExtractIsAtomicAtEachWrite runs Extract once for each of its writes, and lets that write fail. Afterwards either
// all files exist or none.
func TestExtractIsAtomicAtEachWrite(t *testing.T) {
	script := regular("a/b/run.sh", "#!\n")
	script.header.Mode = 0o755
	path := write(t, pkg(script, linked("c/d", "prompts/p.md", tar.TypeLink)))
	listing, err := archive.Check(disk, path, "", archive.DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	for at := 1; ; at++ {
		system := faults.New(at, false)
		root := t.TempDir()
		err := archive.Extract(system, path, filepath.Join(root, "out"), listing, archive.DefaultLimits())
		if system.Count() < at {
			if err != nil || at < 10 {
				t.Errorf("Extract made %d writes, %v", system.Count(), err)
			}
			return
		}
		if _, statErr := os.Stat(filepath.Join(root, "out")); err == nil || statErr == nil {
			t.Errorf("failure of write %d: got %v, the directory exists: %t", at, err, statErr == nil)
		}
	}
}

// FuzzCheck checks that an archive which Check accepts is extracted exactly as the listing says.
func FuzzCheck(f *testing.F) {
	for _, members := range [][]member{pkg(), pkg(linked("a", "prompts/p.md", tar.TypeSymlink)), pkg(regular("../x", "")), {regular("x", "")}} {
		var data bytes.Buffer
		out := tar.NewWriter(&data)
		for _, m := range members {
			if err := out.WriteHeader(m.header); err != nil {
				f.Fatal(err)
			}
			if _, err := out.Write([]byte(m.text)); err != nil {
				f.Fatal(err)
			}
		}
		out.Close()
		f.Add(data.Bytes())
	}
	limits := archive.Limits{Compressed: 1 << 20, Inflated: 1 << 20, Members: 50, Depth: 8, Path: 300}
	f.Fuzz(func(t *testing.T, data []byte) { // data is an uncompressed tar, because fuzzing does not find valid gzip checksums
		var compressed bytes.Buffer
		out := gzip.NewWriter(&compressed)
		if _, err := out.Write(data); err != nil || out.Close() != nil {
			t.Fatal(err)
		}
		path := save(t, compressed.Bytes())
		listing, err := archive.Check(disk, path, "", limits)
		if err != nil {
			return
		}
		root := t.TempDir()
		dir := filepath.Join(root, "a", "out")
		if err := os.Mkdir(filepath.Dir(dir), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := archive.Extract(disk, path, dir, listing, limits); err != nil {
			t.Fatalf("Check succeeds, but Extract fails: %v", err)
		}
		want := map[string]int64{}
		for _, file := range listing.Files {
			want[filepath.Join("a", "out", file.Path)] = file.Size
		}
		got := map[string]int64{}
		for name := range texts(t, root) {
			info, err := os.Lstat(filepath.Join(root, name))
			if err != nil || !info.Mode().IsRegular() {
				t.Fatalf("the extracted file %s: %v, %v", name, info, err)
			}
			got[name] = info.Size()
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("(-want +got)\n%s", diff)
		}
	})
}
