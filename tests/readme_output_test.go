//go:build unix

package tests

import (
	"os"
	"os/exec"
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

// TestObservingPageShowsRealOutput runs the commands of docs/observing.md in a project with a secret and a plugin, whose config gets the first block of the page.
func TestObservingPageShowsRealOutput(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("jq"); err != nil {
		t.Skip("jq is not installed")
	}
	page := newUnpacked(t)
	app := filepath.Join(page.root, "home/me/app")
	putFile(t, filepath.Join(app, ".env"), "API_KEY=hunter2\n")
	putFile(t, filepath.Join(app, "notes.txt"), "buy milk\n")
	page.run(t, "bulkhead add /opt/bulkhead/plugins/filesystem --yes && bulkhead trust --yes")
	config := filepath.Join(app, "bulkhead.toml")
	for _, b := range guide.Blocks(readFile(t, "../docs/observing.md")) {
		if b.Language == "toml" {
			putFile(t, config, readFile(t, config)+"\n"+b.Text)
			break
		}
	}
	page.check(t, "../docs/observing.md", 7)
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
			run := command
			if strings.HasPrefix(command, "bulkhead ui") {
				run = command + endAfterLink
			}
			out := a.run(t, run)
			for _, v := range varying {
				out = v.pattern.ReplaceAllString(out, v.shown)
			}
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

// endAfterLink ends a command that prints a link and then serves pages.
const endAfterLink = ` > "$HOME/ui" & until grep -qs link "$HOME/ui"; do sleep 0.02; done; kill $!; wait $!; cat "$HOME/ui"`

// varying is what differs from run to run, and what pages show in its place.
var varying = []struct {
	pattern *regexp.Regexp
	shown   string
}{
	{regexp.MustCompile(`\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.(\d{3}|\d{6})Z`), "2026-01-05T09:00:00.000Z"},
	{regexp.MustCompile(`(?m)^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d  `), "2026-01-05 09:00:00  "},
	{regexp.MustCompile(`was trusted on \d{4}-\d\d-\d\d at \d\d:\d\d UTC`), "was trusted on 2026-01-05 at 09:00 UTC"},
	{regexp.MustCompile(`(?m)  \d+(\.\d+)?(µs|ms|s)$`), "  4.2ms"},
	{regexp.MustCompile(`"id": "[\w-]+"`), `"id": "K7Q2ZP-1"`},
	{regexp.MustCompile(`"duration_us": \d+`), `"duration_us": 4200`},
	{regexp.MustCompile(`"bytes_out": \d+`), `"bytes_out": 167`},
	{regexp.MustCompile(`"fuel": \d+`), `"fuel": 1250000`},
	{regexp.MustCompile(`http://127\.0\.0\.1:\d+/link/\w+`), "http://127.0.0.1:40123/link/…"},
	{regexp.MustCompile(`(?m)^(starting plugin \w+|compiling the module of plugin \w+, which happens once for each version)\n`), ""}, // on a busy machine only
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
