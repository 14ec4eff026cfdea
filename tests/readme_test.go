//go:build unix

package tests

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/BurntSushi/toml"
)

// pluginRow is the text that the README's table must contain for a plugin.
type pluginRow struct{ offers, grants []string }

func expectedRow(t *testing.T, plugin string) pluginRow {
	t.Helper()
	var manifest struct {
		Plugin       struct{ Write string }
		Capabilities struct {
			FS  []struct{ Path string }
			Env []string
		}
		Offers struct{ Prompts, Resources any }
	}
	if _, err := toml.DecodeFile(filepath.Join("..", "plugins", plugin, "plugin.toml"), &manifest); err != nil {
		t.Fatal(err)
	}
	all, write := toolsOf(t, plugin)
	p := pluginRow{offers: []string{fmt.Sprintf(" %d tools", len(all))}}
	if len(all) == 1 {
		p.offers = []string{" 1 tool"}
	}
	if manifest.Plugin.Write == "opt-in" {
		p.offers = append(p.offers, fmt.Sprintf("%d of which write", len(write)), "--allow-write")
	}
	if manifest.Offers.Prompts != nil {
		p.offers = append(p.offers, "prompt")
	}
	if manifest.Offers.Resources != nil {
		p.offers = append(p.offers, "resources")
	}
	for _, dir := range manifest.Capabilities.FS {
		p.grants = append(p.grants, strings.NewReplacer("${project}", "the project", "${home}", "~", "${state}", "its own state directory").Replace(dir.Path))
	}
	if len(manifest.Capabilities.Env) > 0 { // the first variable is required
		p.grants = append(p.grants, "the variable `"+manifest.Capabilities.Env[0]+"`")
	}
	return p
}

// TestReadmePluginTableMatchesManifests checks the number of tools, other offers, directories, and the required variable.
func TestReadmePluginTableMatchesManifests(t *testing.T) {
	rows := strings.Split(readFile(t, "../README.md"), "\n")
	for _, plugin := range allPlugins {
		i := slices.IndexFunc(rows, func(row string) bool { return strings.HasPrefix(row, "| ["+plugin+"](plugins/"+plugin+"/README.md) |") })
		if i < 0 {
			t.Errorf("the README has no row for %s", plugin)
			continue
		}
		cells := strings.Split(rows[i], "|")
		if len(cells) != 6 {
			t.Errorf("the README's row for %s has %d cells, not 4", plugin, len(cells)-2)
			continue
		}
		want := expectedRow(t, plugin)
		if !containsAll(cells[3], want.offers...) {
			t.Errorf("offers of %s in the README: got %q, want all of %q", plugin, cells[3], want.offers)
		}
		if !containsAll(cells[4], want.grants...) {
			t.Errorf("grants of %s in the README: got %q, want all of %q", plugin, cells[4], want.grants)
		}
	}
}
