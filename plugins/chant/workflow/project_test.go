package workflow_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

func TestWarnings(t *testing.T) {
	content := files{}
	for i := range 25 {
		content[fmt.Sprintf("specs/bad-%02d.md", i)] = "\xff"
	}
	p := newProject(t, content)
	var got []string
	p.Warn = func(text string) { got = append(got, text) }
	if _, err := p.Status(false); err != nil {
		t.Fatal(err)
	}
	if len(got) != 21 || got[0] != "not loaded: .chant/specs/bad-00.md:1: not UTF-8 text" || got[20] != "5 more files cannot be loaded" {
		t.Errorf("got %d warnings: %q", len(got), got)
	}
}

func TestAFolderThatIsGone(t *testing.T) {
	p := newProject(t, nil)
	if err := os.Remove(filepath.Join(p.Dir.Root, ".chant", "specs")); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Status(false); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}
