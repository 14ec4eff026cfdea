package admin_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/bulkhead-mcp/bulkhead/internal/admin/admin"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/derived"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/engine/code"
)

// cached creates code and derived data of the plugins "first" and "gone", and code of an unknown module. Only "first"
// is found.
func cached(t *testing.T) *workspace {
	t.Helper()
	w := newWorkspace(t)
	dir := w.plugin(t, "first", "")
	w.config(t, "[[plugins]]\npath = \"../plugins/first\"\n")
	sum, err := code.DigestOf(filepath.Join(dir, "it.wasm"))
	if err != nil {
		t.Fatal(err)
	}
	w.write(t, "cache/bulkhead/"+code.EntryName(sum)+"/sums.json", "first")
	w.write(t, "cache/bulkhead/module-unknown/sums.json", "unknown")
	store := derived.NewStore(derived.Dir(w.path("cache/bulkhead")), hclog.NewNullLogger())
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
func kinds(items []admin.CacheItem) []string {
	var all []string
	for _, item := range items {
		all = append(all, strings.TrimSpace(item.Kind+" "+item.Plugin))
	}
	return all
}

func TestListCacheAttributesCodeToPlugins(t *testing.T) {
	w := cached(t)
	list, err := admin.ListCache(w.options())
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
	w.config(t, "[sever]\n")
	if list, err = admin.ListCache(w.options()); err != nil || !slices.Equal(kinds(list.Items), []string{"code", "code", "derived first", "derived gone"}) {
		t.Errorf("ListCache with an invalid config: got %+v, %v", list, err)
	}
}

func TestClearCacheRemovesWhatIsSelected(t *testing.T) {
	for name, c := range map[string]struct {
		selected admin.CacheSelection
		removed  []string
		left     []string
	}{
		"everything":              {admin.CacheSelection{}, []string{"code", "code first", "derived first", "derived gone"}, nil},
		"code":                    {admin.CacheSelection{Kind: admin.CacheCode}, []string{"code", "code first"}, []string{"derived first", "derived gone"}},
		"derived data":            {admin.CacheSelection{Kind: admin.CacheDerived}, []string{"derived first", "derived gone"}, []string{"code", "code first"}},
		"a plugin":                {admin.CacheSelection{Plugin: "first"}, []string{"code first", "derived first"}, []string{"code", "derived gone"}},
		"code of a plugin":        {admin.CacheSelection{Plugin: "first", Kind: admin.CacheCode}, []string{"code first"}, []string{"code", "derived first", "derived gone"}},
		"a plugin that was moved": {admin.CacheSelection{Plugin: "gone"}, []string{"derived gone"}, []string{"code", "code first", "derived first"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := cached(t)
			done, err := admin.ClearCache(w.options(), c.selected)
			if err != nil || len(done.Kept) > 0 || !slices.Equal(kinds(done.Removed), c.removed) {
				t.Errorf("got %+v, %v", done, err)
			}
			if list, err := admin.ListCache(w.options()); err != nil || !slices.Equal(kinds(list.Items), c.left) {
				t.Errorf("the cache then contains %+v, %v; want %q", list, err, c.left)
			}
		})
	}
}

func TestClearCacheRefuses(t *testing.T) {
	w := cached(t)
	_, err := admin.ClearCache(w.options(), admin.CacheSelection{Plugin: "none"})
	wantUsage(t, err, `no plugin "none"`, "bulkhead cache")
	w.config(t, "[sever]\n")
	_, err = admin.ClearCache(w.options(), admin.CacheSelection{Plugin: "first"})
	wantUsage(t, err, "--derived", "sever")
	if done, err := admin.ClearCache(w.options(), admin.CacheSelection{Plugin: "first", Kind: admin.CacheDerived}); err != nil || len(done.Removed) != 1 {
		t.Errorf("got %+v, %v", done, err)
	}
	if err := os.Chmod(w.path("cache/bulkhead"), 0o777); err != nil {
		t.Fatal(err)
	}
	_, err = admin.ClearCache(w.options(), admin.CacheSelection{})
	wantUsage(t, err, "can be written by others")
	w.env["XDG_CACHE_HOME"], w.env["HOME"] = "", "relative"
	_, err = admin.ListCache(w.options())
	wantUsage(t, err, "there is no cache")
}
