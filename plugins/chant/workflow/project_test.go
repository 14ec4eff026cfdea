package workflow_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWarnings(t *testing.T) {
	bad := func(count int) files {
		content := files{"specs/good.md": ""}
		for i := range count {
			content[fmt.Sprintf("specs/bad-%02d.md", i)] = "\xff"
		}
		return content
	}
	const why = " (chant_diagnose with the id gives the reason)"
	tests := []struct {
		name  string
		files files
		warn  []string
		debug int
		last  string // the last message that was logged at level debug
	}{
		{"no file", bad(0), nil, 0, ""},
		{"one file", bad(1), []string{"1 spec is not loaded: bad-00.md" + why}, 1, "not loaded: .chant/specs/bad-00.md:1: not valid UTF-8"},
		{
			"several files, also in subdirectories", files{"specs/sub/a.md": "\xff", "specs/b.md": "\xff"},
			[]string{"2 specs are not loaded: b.md, sub/a.md" + why}, 2, "not loaded: .chant/specs/sub/a.md:1: not valid UTF-8",
		},
		{
			"the number of names is bounded", bad(25),
			[]string{"25 specs are not loaded: bad-00.md, bad-01.md, bad-02.md, bad-03.md, bad-04.md, …" + why}, 21, "5 more files are not loaded",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p := newProject(t, test.files)
			var warn, debug []string
			p.Warn = func(text string) { warn = append(warn, text) }
			p.Debug = func(text string) { debug = append(debug, text) }
			if _, err := p.Status(false); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.warn, warn); diff != "" {
				t.Errorf("warnings (-want +got)\n%s", diff)
			}
			if len(debug) != test.debug || test.debug > 0 && debug[len(debug)-1] != test.last {
				t.Errorf("got %d details: %q", len(debug), debug)
			}
		})
	}
	t.Run("an unreadable archive has a warning of its own", func(t *testing.T) {
		p := newProject(t, files{"specs/a.md": spec("pending", "# T", "depends_on: old")})
		if err := os.Symlink(t.TempDir(), p.Dir.Archive()); err != nil {
			t.Skipf("symbolic links are not supported: %v", err)
		}
		var warn []string
		p.Warn = func(text string) { warn = append(warn, text) }
		if _, err := p.Status(false); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"not read: .chant/archive: is a symbolic link that points outside the project's .chant directory"}, warn); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
	})
}

func TestMissingSpecsDirectoryIsAnError(t *testing.T) {
	p := newProject(t, nil)
	if err := os.Remove(filepath.Join(p.Dir.Root, ".chant", "specs")); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Status(false); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}
