package archive_test

import (
	"bytes"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/plugins/aam/archive"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/fault"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/files"
)

// busy is a file system in which another program does something before a file is opened or a directory is read.
type busy struct {
	files.System
	before func(name string)
}

func (b busy) Open(path string) (io.ReadCloser, error) {
	b.before(filepath.Base(path))
	return b.System.Open(path)
}

func (b busy) ReadDir(path string) ([]fs.DirEntry, error) {
	b.before(filepath.Base(path))
	return b.System.ReadDir(path)
}

func TestPackWhileOtherProgramsChangeFiles(t *testing.T) {
	large := strings.Repeat("x", 5<<20)
	for name, test := range map[string]struct {
		file, content string
		change        func(t *testing.T, path string, times int) // before the file or directory is read
		want          string                                     // content in the archive
		omitted       bool
		code          fault.Code
	}{
		"a file that grows once":        {"log.txt", "a", appends(1), "ab", false, ""},
		"a file that grows three times": {"log.txt", "a", appends(3), "abbb", false, ""},
		"a file that grows always":      {"log.txt", "a", appends(1000), "", false, fault.FilesChanging},
		"a file that vanishes":          {"log.txt", "a", removes, "", true, ""},
		"a directory that vanishes":     {"sub/log.txt", "a", removes, "", true, ""},
		"a file replaced by another":    {"log.txt", "a", replaces, "b", false, ""},
		"an artifact that vanishes":     {"prompts/p.md", "a", removes, "", true, fault.ManifestInvalid},
		"a large file that grows":       {"log.txt", large, appends(1), "", false, fault.FilesChanging},
		"a large file that vanishes":    {"log.txt", large, removes, "", true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir, m := project(t, map[string]string{test.file: test.content})
			top, times := strings.Split(test.file, "/")[0], 0
			if top == "prompts" {
				top = "p.md"
			}
			path := filepath.Join(dir, top)
			if top == "p.md" {
				path = filepath.Join(dir, test.file)
			}
			s := busy{disk, func(name string) {
				if name == top {
					times++
					test.change(t, path, times)
				}
			}}
			var data bytes.Buffer
			listing, err := archive.Pack(s, dir, m, &data, archive.DefaultLimits())
			if test.code != "" {
				if failure := fault.From(err); failure == nil || failure.Code != test.code {
					t.Fatalf("got %v, want the code %s", err, test.code)
				}
				if archive.IsChanging(err) != (test.code == fault.FilesChanging) {
					t.Errorf("IsChanging(%v) is wrong", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			saved := save(t, data.Bytes())
			if _, err := archive.Check(disk, saved, listing.Checksum, archive.DefaultLimits()); err != nil {
				t.Error(err)
			}
			want := map[string]string{"aam.yaml": manifestText, "prompts/p.md": "hi\n"}
			if !test.omitted {
				want[test.file] = test.want
			}
			got, err := install(t, saved, archive.DefaultLimits())
			if diff := cmp.Diff(want, got); err != nil || diff != "" {
				t.Errorf("%v (-want +got)\n%s", err, diff)
			}
			if len(listing.Files) != len(want) {
				t.Errorf("the listing has %d files, want %d", len(listing.Files), len(want))
			}
		})
	}
}

// appends returns a change that appends to a file before each of the first times.
func appends(most int) func(t *testing.T, path string, times int) {
	return func(t *testing.T, path string, times int) {
		if times > most {
			return
		}
		file, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		if _, err := file.WriteString("b"); err != nil {
			t.Fatal(err)
		}
	}
}

func removes(t *testing.T, path string, _ int) {
	if err := os.RemoveAll(path); err != nil {
		t.Fatal(err)
	}
}

func replaces(t *testing.T, path string, times int) {
	if times > 1 {
		return
	}
	if err := os.WriteFile(path+".new", []byte("b"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(path+".new", testTime, testTime); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
}

func TestPackOmitsStateOfOtherTools(t *testing.T) {
	state := map[string]string{".chant/specs/a.md": "x", "openspec/specs/a.md": "x", ".agentpack/x": "x", ".mcpkg/x": "x", "sub/openspec/kept.md": "k"}
	dir, m := project(t, state)
	var data bytes.Buffer
	if _, err := archive.Pack(disk, dir, m, &data, archive.DefaultLimits()); err != nil {
		t.Fatal(err)
	}
	got, err := install(t, save(t, data.Bytes()), archive.DefaultLimits())
	want := map[string]string{"aam.yaml": manifestText, "prompts/p.md": "hi\n", "sub/openspec/kept.md": "k"}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got)\n%s", err, diff)
	}
	named := strings.Replace(manifestText, "prompts/p.md", "openspec/specs/a.md", 1)
	dir, m = project(t, map[string]string{"aam.yaml": named, "openspec/specs/a.md": "x"})
	if _, err := archive.Pack(disk, dir, m, &bytes.Buffer{}, archive.DefaultLimits()); err != nil {
		t.Errorf("an artifact in the directory of another tool: %v", err)
	}
}
