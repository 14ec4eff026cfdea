//go:build unix

package tests

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/internal/authoring/guide"
)

// TestReadmeShowsRealOutput runs the commands of the README in a project with a secret, to which the plugin filesystem was added.
func TestReadmeShowsRealOutput(t *testing.T) {
	t.Parallel()
	page := newUnpacked(t)
	app := filepath.Join(page.root, "home/me/app")
	putFile(t, filepath.Join(app, ".env"), "API_KEY=hunter2\n")
	page.run(t, "bulkhead add /opt/bulkhead/plugins/filesystem --yes")
	page.check(t, "../README.md", 3)
	// What the page shows is due to the list that was added: without it the plugin reads the file.
	config := filepath.Join(app, "bulkhead.toml")
	putFile(t, config, regexp.MustCompile(`(?s)deny = \[.*?\n\]`).ReplaceAllString(readFile(t, config), "deny = []"))
	page.run(t, "bulkhead trust --yes")
	if out := page.run(t, "bulkhead call read_text_file --arg path=.env"); !strings.Contains(out, "API_KEY=hunter2") {
		t.Errorf("without the list the plugin answers %s", out)
	}
}

// TestInstallPageShowsRealOutput runs the commands of docs/install.md in an empty project.
func TestInstallPageShowsRealOutput(t *testing.T) {
	t.Parallel()
	newUnpacked(t).check(t, "../docs/install.md", 3)
}

// check runs the commands of a page's console blocks in order, at least so many, with a program that is unpacked as in a release: the plugins
// beside it. With -update it writes their output to the page.
func (a adminPage) check(t *testing.T, name string, least int) {
	t.Helper()
	text := readFile(t, name)
	updated, commands := text, 0
	for _, b := range guide.Blocks(text) {
		if b.Language != "console" {
			continue
		}
		var real strings.Builder
		for _, part := range strings.Split("\n"+b.Text, "\n$ ")[1:] {
			command, _, _ := strings.Cut(part, "\n")
			out := slowStart.ReplaceAllString(logTime.ReplaceAllString(a.run(t, command), "2026-01-05T09:00:00.000Z"), "")
			real.WriteString("$ " + command + "\n" + out + "\n")
			commands++
		}
		if diff := cmp.Diff(b.Text, real.String()); diff != "" && !*update {
			t.Errorf("%s has (want -, got +)\n%s", name, diff)
		}
		updated = strings.Replace(updated, "```console\n"+b.Text+"```", "```console\n"+real.String()+"```", 1)
	}
	if commands < least {
		t.Errorf("found only %d commands", commands)
	}
	if *update && updated != text {
		putFile(t, name, updated)
	}
}

var (
	logTime   = regexp.MustCompile(`\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z`) // the time stamp of a log line
	slowStart = regexp.MustCompile(`(?m)^starting plugin \w+\n`)               // printed on a busy machine only
)

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
