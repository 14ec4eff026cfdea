package codecache_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/bulkhead-mcp/bulkhead/internal/admin/admintest"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/codecache"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/hosttest"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/derived"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/engine/code"
)

// cached creates code and derived data of the plugins "first" and "gone", and code of an unknown module. Only "first"
// is found.
func cached(t *testing.T) *admintest.Workspace {
	t.Helper()
	w := admintest.New(t)
	dir := w.Plugin(t, "first", "")
	w.Config(t, "[[plugins]]\npath = \"../plugins/first\"\n")
	sum, err := code.DigestOf(filepath.Join(dir, "it.wasm"))
	if err != nil {
		t.Fatal(err)
	}
	w.Write(t, "cache/bulkhead/"+code.EntryName(sum)+"/sums.json", "first")
	w.Write(t, "cache/bulkhead/module-unknown/sums.json", "unknown")
	store := derived.NewStore(derived.Dir(w.Path("cache/bulkhead")), hclog.NewNullLogger())
	for _, plugin := range []string{"first", "gone"} {
		set, err := store.Set(plugin, sum, nil)
		if err != nil {
			t.Fatal(err)
		}
		handles, err := set.Open()
		if err != nil {
			t.Fatal(err)
		}
		handles.Take([]byte("records"))
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	return w
}

// kinds returns "KIND PLUGIN" of each item.
func kinds(items []codecache.Item) []string {
	var all []string
	for _, item := range items {
		all = append(all, strings.TrimSpace(item.Kind+" "+item.Plugin))
	}
	return all
}

func TestListCacheAttributesCodeToPlugins(t *testing.T) {
	w := cached(t)
	list, err := codecache.List(w.Options())
	if err != nil {
		t.Fatal(err)
	}
	if got := kinds(list.Items); !slices.Equal(got, []string{"code", "code first", "derived first", "derived gone"}) {
		t.Errorf("got %q", got)
	}
	for _, item := range list.Items {
		if item.Size == 0 || item.Used.IsZero() || (item.Plugin == "") != (item.Module == "") {
			t.Errorf("the item lacks a size, a time, or both plugin and module: %+v", item)
		}
	}
	// The cache is listed even if the config is invalid.
	w.Config(t, "[sever]\n")
	if list, err = codecache.List(w.Options()); err != nil || !slices.Equal(kinds(list.Items), []string{"code", "code", "derived first", "derived gone"}) {
		t.Errorf("ListCache with an invalid config: got %+v, %v", list, err)
	}
}

func TestClearCacheRemovesWhatIsSelected(t *testing.T) {
	for name, c := range map[string]struct {
		selected codecache.Selection
		removed  []string
		left     []string
	}{
		"everything":              {codecache.Selection{}, []string{"code", "code first", "derived first", "derived gone"}, nil},
		"code":                    {codecache.Selection{Kind: codecache.Code}, []string{"code", "code first"}, []string{"derived first", "derived gone"}},
		"derived data":            {codecache.Selection{Kind: codecache.Derived}, []string{"derived first", "derived gone"}, []string{"code", "code first"}},
		"a plugin":                {codecache.Selection{Plugin: "first"}, []string{"code first", "derived first"}, []string{"code", "derived gone"}},
		"code of a plugin":        {codecache.Selection{Plugin: "first", Kind: codecache.Code}, []string{"code first"}, []string{"code", "derived first", "derived gone"}},
		"a plugin that was moved": {codecache.Selection{Plugin: "gone"}, []string{"derived gone"}, []string{"code", "code first", "derived first"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := cached(t)
			done, err := codecache.Clear(w.Options(), c.selected)
			if err != nil || len(done.Kept) > 0 || !slices.Equal(kinds(done.Removed), c.removed) {
				t.Errorf("got %+v, %v", done, err)
			}
			if list, err := codecache.List(w.Options()); err != nil || !slices.Equal(kinds(list.Items), c.left) {
				t.Errorf("the cache then contains %+v, %v; want %q", list, err, c.left)
			}
		})
	}
}

func TestClearCacheRefuses(t *testing.T) {
	w := cached(t)
	_, err := codecache.Clear(w.Options(), codecache.Selection{Plugin: "none"})
	hosttest.WantUsage(t, err, `no plugin "none"`, "bulkhead cache")
	w.Config(t, "[sever]\n")
	_, err = codecache.Clear(w.Options(), codecache.Selection{Plugin: "first"})
	hosttest.WantUsage(t, err, "--derived", "sever")
	if done, err := codecache.Clear(w.Options(), codecache.Selection{Plugin: "first", Kind: codecache.Derived}); err != nil || len(done.Removed) != 1 {
		t.Errorf("got %+v, %v", done, err)
	}
	if err := os.Chmod(w.Path("cache/bulkhead"), 0o777); err != nil {
		t.Fatal(err)
	}
	_, err = codecache.Clear(w.Options(), codecache.Selection{})
	hosttest.WantUsage(t, err, "can be written by others")
	w.Env["XDG_CACHE_HOME"], w.Env["HOME"] = "", "relative"
	_, err = codecache.List(w.Options())
	hosttest.WantUsage(t, err, "there is no cache")
}
