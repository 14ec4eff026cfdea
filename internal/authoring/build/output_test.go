package build_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/authoring/build"
)

// A checkout can have symbolic links where builds are written.
func TestBuildWritesThroughNoLinkOfCheckout(t *testing.T) {
	for name, link := range map[string]string{"dist": "dist", "dist/plugins": "dist/plugins", "the plugin itself": "dist/plugins/hand"} {
		t.Run(name, func(t *testing.T) {
			checkout, outside := good().write(t, t.TempDir()), t.TempDir()
			at := filepath.Join(checkout, filepath.FromSlash(link))
			if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(outside, at); err != nil {
				t.Skip("no symbolic links:", err)
			}
			t.Chdir(checkout)
			for _, out := range []string{"", "dist/plugins", filepath.Join(checkout, "dist", "plugins")} {
				_, err := build.Build(t.Context(), ".", build.Options{Out: out, CacheDir: t.TempDir()})
				if err == nil || !strings.Contains(err.Error(), filepath.FromSlash(link)) {
					t.Errorf("output %q: got %v", out, err)
				}
			}
			if got := read(t, outside); len(got) > 0 {
				t.Errorf("files outside of the checkout: %q", got)
			}
		})
	}
}

// A manifest that is a link may be one of a file elsewhere.
func TestWriteSchemasWritesThroughNoLink(t *testing.T) {
	dir, outside := good().write(t, t.TempDir()), t.TempDir()
	manifest, moved := filepath.Join(dir, "plugin.toml"), filepath.Join(outside, "plugin.toml")
	if err := os.Rename(manifest, moved); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(moved, manifest); err != nil {
		t.Skip("no symbolic links:", err)
	}
	if _, err := build.WriteSchemas(t.Context(), dir, "", build.Options{CacheDir: t.TempDir()}); err == nil || !strings.Contains(err.Error(), "symbolic link "+manifest) {
		t.Errorf("got %v", err)
	}
}
