//go:build unix

package tests

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/internal/authoring/guide"
)

// TestReadmeShowsRealOutput runs the commands of the README's console blocks in order, in an empty project, with a program
// that is unpacked as in a release: the plugins beside it. With -update it writes their output to the README.
func TestReadmeShowsRealOutput(t *testing.T) {
	t.Parallel()
	page := newUnpacked(t)
	text := readFile(t, "../README.md")
	updated, commands := text, 0
	for _, b := range guide.Blocks(text) {
		if b.Language != "console" {
			continue
		}
		var real strings.Builder
		for _, part := range strings.Split("\n"+b.Text, "\n$ ")[1:] {
			command, _, _ := strings.Cut(part, "\n")
			real.WriteString("$ " + command + "\n" + page.run(t, command) + "\n")
			commands++
		}
		if diff := cmp.Diff(b.Text, real.String()); diff != "" && !*update {
			t.Errorf("the README has (want -, got +)\n%s", diff)
		}
		updated = strings.Replace(updated, "```console\n"+b.Text+"```", "```console\n"+real.String()+"```", 1)
	}
	if commands < 2 {
		t.Errorf("found only %d commands", commands)
	}
	if *update && updated != text {
		putFile(t, "../README.md", updated)
	}
}

// newUnpacked unpacks the program and its plugins in /opt/bulkhead, and creates the empty project /home/me/app.
func newUnpacked(t *testing.T) adminPage {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	unpacked := filepath.Join(root, "opt/bulkhead")
	for _, plugin := range allPlugins {
		for _, file := range []string{"plugin.toml", plugin + ".wasm"} {
			putFile(t, filepath.Join(unpacked, "plugins", plugin, file), readFile(t, filepath.Join(built.plugins(t), plugin, file)))
		}
	}
	putFile(t, filepath.Join(unpacked, "bulkhead"), readFile(t, built.program(t)))
	if err := os.Chmod(filepath.Join(unpacked, "bulkhead"), 0o755); err != nil {
		t.Fatal(err)
	}
	putFile(t, filepath.Join(root, "home/me/app/.git/HEAD"), "ref: refs/heads/main\n")
	return adminPage{root: root, env: []string{
		"PATH=" + unpacked + string(os.PathListSeparator) + "/usr/bin" + string(os.PathListSeparator) + "/bin", "TZ=UTC",
		"HOME=" + root + "/home/me", "XDG_CACHE_HOME=" + built.cache(t),
	}}
}
