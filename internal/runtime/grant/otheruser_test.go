//go:build unix

package grant

import (
	"os"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
)

// The kernel refuses such links in directories with the sticky bit, if fs.protected_symlinks is set, but only where it follows them
// itself. A directory that another user owns is a decision of that user as well.
func TestResolveRefusesLinksOfOtherUsers(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give a link to another user")
	}
	t.Setenv("SUDO_UID", "")
	const other = 54321 // an unused user ID
	for name, mode := range map[string]os.FileMode{"in a directory like /tmp": 0o777 | os.ModeSticky, "in a directory that others cannot write": 0o755} {
		for place, granted := range map[string]string{"the granted path": "shared/x", "a parent of the granted path": "shared/x/inner"} {
			t.Run(place+" "+name, func(t *testing.T) {
				w := newWorld(t)
				w.dir(".ssh/inner")
				w.dir("shared")
				w.link("../.ssh", "shared/x")
				w.must(os.Chmod(w.path("shared"), mode))
				w.grant(manifest.Read, granted)
				w.resolve() // a link of the user's own is followed
				w.must(os.Lchown(w.path("shared/x"), other, other))
				_, err := Resolve(w.Config)
				if err == nil || !strings.Contains(err.Error(), "which belongs to another user (user id 54321)") || !strings.Contains(err.Error(), "in bulkhead.toml") {
					t.Errorf("got %v", err)
				}
				only := w.Config
				only.Grant.FS, only.Own = nil, []string{w.path(granted)}
				s, err := Resolve(only)
				w.must(err)
				defer s.Close()
				if want := real(t, w.path(granted)); s.Own[0] != want { // a plugin must not write the host's own files by their other path
					t.Errorf("the host's own directory is %s, want %s", s.Own[0], want)
				}
				t.Setenv("SUDO_UID", "54321") // the user ran the host with sudo
				w.resolve()
			})
		}
	}
}
