//go:build unix

package grants

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/admin/admintest"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/explain"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/review"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
)

// clientOf returns a client whose plugins are granted n directories each, and a directory that contains those of the first.
func clientOf(plugins, n int) Client {
	c := Client{Name: "all"}
	for p := range plugins {
		plugin := Plugin{PluginPolicy: explain.PluginPolicy{Name: fmt.Sprint("p", p)}}
		for i := range n {
			plugin.Grants = append(plugin.Grants, Grant{Key: "fs", Kind: kinds[review.Folder], Grant: review.Grant{What: fmt.Sprintf("/d%d/%d", p, i)}})
		}
		c.Plugins = append(c.Plugins, plugin)
	}
	c.Plugins[0].Grants = append(c.Plugins[0].Grants, Grant{Key: "fs", Kind: kinds[review.Folder], Grant: review.Grant{What: "/d0"}})
	return c
}

// TestThingsTakeLinearWork compares allocations: each comparison of two paths that do not contain each other allocates.
func TestThingsTakeLinearWork(t *testing.T) {
	allocations := func(plugins int) float64 {
		clients := []Client{clientOf(plugins, 100)}
		if got := len(things(t.Context(), clients)); got != plugins*100+1 {
			t.Fatalf("%d things", got)
		}
		return testing.AllocsPerRun(1, func() { things(t.Context(), clients) })
	}
	few, many := allocations(10), allocations(20)
	if many > 2.5*few {
		t.Errorf("1,000 directories take %.0f allocations, and 2,000 take %.0f", few, many)
	}
}

// TestPartOfTakesLinearWork has one plugin with many directories.
func TestPartOfTakesLinearWork(t *testing.T) {
	allocations := func(n int) float64 {
		var policy review.Policy
		items := map[string]map[string]bool{"fs": {}}
		for i := range n {
			policy.Folders = append(policy.Folders, review.Grant{What: fmt.Sprint("/d/", i)})
			items["fs"][policy.Folders[i].What] = true
		}
		described := explain.PluginPolicy{Name: "p", Policy: &policy}
		return testing.AllocsPerRun(1, func() { newPlugin(described, config.Plugin{}, items, clientUse{Use: &Use{}}) })
	}
	few, many := allocations(500), allocations(1000)
	if many > 2.5*few {
		t.Errorf("500 directories take %.0f allocations, and 1,000 take %.0f", few, many)
	}
}

// endsAfter is a context that ends when its Err has been called n times.
type endsAfter struct {
	context.Context
	n *int
}

func (c endsAfter) Err() error {
	if *c.n--; *c.n < 0 {
		return context.Canceled
	}
	return nil
}

// TestLookEndsWithItsContext ends the context at the first and at later steps.
func TestLookEndsWithItsContext(t *testing.T) {
	w := newSample(t)
	stopped, stop := context.WithCancel(t.Context())
	stop()
	if p, err := Look(stopped, w.Options()); !errors.Is(err, context.Canceled) || p != nil {
		t.Errorf("got %v, %v", p, err)
	}
	n := 500
	if things(endsAfter{t.Context(), &n}, []Client{clientOf(20, 100)}) != nil || n < -1 {
		t.Errorf("2,000 directories are compared for a context that ended, and asked %d times", -n)
	}
}

func TestWritableGrantOfOnePlaceDecidesForWhatIsInIt(t *testing.T) {
	w := admintest.NewGranted(t)
	w.Write(t, "src/app/a", "")
	admintest.Symlink(t, w, "src", "alias")
	w.Config(t, strings.ReplaceAll(`[[plugins]]
path = "../plugins/first"
fs = [{ path = "$W/alias", access = "r" }, { path = "$W/src", access = "rw" }]
[[plugins]]
path = "../plugins/second"
fs = [{ path = "$W/src/app", access = "r" }]
`, "$W", w.Dir))
	for _, thing := range look(t, w).Things {
		if len(thing.Writers) != 1 || thing.Writers[0].Plugin != "first" {
			t.Errorf("%s: written by %v", thing.What, thing.Writers)
		}
	}
}

// TestExtentsAreBoundedTogether has directories with many entries together.
func TestExtentsAreBoundedTogether(t *testing.T) {
	dir := t.TempDir()
	counted := newExtents()
	counted.left = 15
	for i, want := range []string{"10 files", "more than 5 files", "not counted"} {
		path := filepath.Join(dir, fmt.Sprint(i))
		if err := os.Mkdir(path, 0o700); err != nil {
			t.Fatal(err)
		}
		for n := range 10 {
			if err := os.WriteFile(filepath.Join(path, fmt.Sprint(n)), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if got := counted.of(t.Context(), path).String(); got != want {
			t.Errorf("directory %d: %q, want %q", i, got, want)
		}
	}
	if counted.left != 0 || newExtents().left != maxTotal {
		t.Errorf("%d entries are left", counted.left)
	}
}
