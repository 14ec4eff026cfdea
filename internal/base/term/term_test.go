package term_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/base/term"
)

func TestStyleFollowsVariables(t *testing.T) {
	for name, c := range map[string]struct {
		noColor, force string
		want           string
	}{
		"no terminal":          {"", "", "ok"},
		"forced":               {"", "1", "\x1b[32mok\x1b[0m"},
		"not forced":           {"", "0", "ok"},
		"NO_COLOR beats force": {"1", "1", "ok"},
	} {
		t.Setenv("NO_COLOR", c.noColor)
		t.Setenv("CLICOLOR_FORCE", c.force)
		if got := term.StyleOf(&bytes.Buffer{}).Good("ok"); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
	if got := term.StyleOf(&bytes.Buffer{}).Bad(""); got != "" {
		t.Errorf("an empty text becomes %q", got)
	}
}

func TestFilesAndDevicesAreNoTerminals(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "f"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	t.Setenv("TERM", "xterm")
	t.Setenv("CI", "")
	for _, w := range []*os.File{file, null, nil} {
		if width, height := term.Size(w); term.IsTerminal(w) || term.CanRedraw(w) || width != 80 || height != 24 {
			t.Errorf("%v counts as a terminal", w)
		}
	}
}

func TestUnicodeFollowsLocale(t *testing.T) {
	for _, c := range []struct {
		all, ctype, lang string
		want             bool
	}{
		{"", "", "en_GB.UTF-8", true}, {"", "", "C.utf8", true}, {"", "C", "en_GB.UTF-8", false}, {"de_DE.UTF-8", "C", "C", true}, {"", "", "C", false}, {"", "", "", false},
	} {
		t.Setenv("LC_ALL", c.all)
		t.Setenv("LC_CTYPE", c.ctype)
		t.Setenv("LANG", c.lang)
		if got := term.CanShowUnicode(&bytes.Buffer{}); got != c.want {
			t.Errorf("%+v: got %t", c, got)
		}
	}
}
