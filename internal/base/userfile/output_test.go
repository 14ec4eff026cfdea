package userfile

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
)

func TestCheckOutputRefusesLinksBelowBase(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"checkout/real/in", "elsewhere"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for link, target := range map[string]string{"checkout/link": "../elsewhere", "checkout/real/link": "in", "checkout/dangling": "none", "linked": "checkout"} {
		if err := os.Symlink(target, filepath.Join(root, link)); err != nil {
			t.Skip("no symbolic links:", err)
		}
	}
	t.Chdir(filepath.Join(root, "checkout"))
	for _, c := range []struct {
		base, path string
		link       string // empty if the path is accepted
	}{
		{".", "real/in/new/file", ""},
		{".", ".", ""},
		{".", "link", "checkout/link"},
		{".", "link/plugins", "checkout/link"},
		{".", "./real/../link/x", "checkout/link"},
		{".", "real/link", "checkout/real/link"},
		{".", "dangling/x", "checkout/dangling"},
		{".", root + "/checkout/link/x", "checkout/link"},
		{".", root + "/elsewhere/x", ""},
		{".", "../linked/real", ""}, // the user named a path outside of base
		{"../linked", "../linked/real/x", ""},
		{"../linked", "../linked/link/x", "linked/link"},
		{"real", "link/x", ""},
	} {
		err := CheckOutput(c.base, c.path)
		if (err == nil) != (c.link == "") || err != nil && (!errors.As(err, new(*usage.Error)) || !strings.Contains(err.Error(), "symbolic link "+filepath.Join(root, c.link)+",")) {
			t.Errorf("%s below %s: got %v, want %q", c.path, c.base, err, c.link)
		}
	}
}
