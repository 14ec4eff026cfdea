// Package codecache is for those who look after the cache of compiled code and derived data: List lists it, Clear removes parts of
// it, and Warm compiles the modules of plugins ahead of their first call.
package codecache

import (
	"cmp"
	"errors"
	"path/filepath"
	"slices"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/catalog"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/discovery"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/derived"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/engine/code"
)

// The kinds of a Item.
const (
	Code    = "code"    // compiled code of a module
	Derived = "derived" // derived data of files
)

// Item is the compiled code of one module, or the derived data of one plugin, in the cache.
type Item struct {
	Kind   string    `json:"kind"`
	Plugin string    `json:"plugin,omitempty"` // empty for code of a module that belongs to no plugin here
	Module string    `json:"module,omitempty"` // first 16 hex digits of its SHA-256
	Path   string    `json:"path,omitempty"`   // path of the code; empty for derived data
	Size   int64     `json:"size"`             // bytes
	Used   time.Time `json:"used"`

	entry code.Entry
}

// Content is the content of the cache of a user.
type Content struct {
	Dir   string `json:"dir"`
	Items []Item `json:"items"`

	// unnamed is the reason why code could not be attributed to plugins.
	unnamed error
	known   []string // the plugins that a host with these options would find
}

// Selection selects a part of the cache. The zero value selects everything.
type Selection struct {
	Plugin string
	Kind   string
}

// List lists the cache that a host with these options uses. Code is attributed to the plugins that this host would
// find.
func List(o discovery.Options) (*Content, error) {
	dir, unsafe := discovery.CacheDir(o.System)
	switch {
	case dir == "":
		return nil, usage.Errorf("there is no cache: there is neither $XDG_CACHE_HOME nor a home directory")
	case unsafe != nil:
		return nil, usage.Errorf("the cache is not used: %w", unsafe)
	}
	c := &Content{Dir: dir, Items: []Item{}}
	entries, err := code.List(dir)
	if err != nil {
		return nil, err
	}
	sets, err := derived.List(derived.Dir(dir))
	if err != nil {
		return nil, err
	}
	named := c.plugins(o)
	for _, e := range entries {
		item := named[filepath.Base(e.Dir)]
		item.Kind, item.Path, item.Size, item.Used, item.entry = Code, e.Dir, e.Size, e.Used, e
		c.Items = append(c.Items, item)
	}
	for _, s := range sets {
		c.Items = append(c.Items, Item{Kind: Derived, Plugin: s.Plugin, Module: s.Module, Size: s.Size, Used: s.Used})
	}
	slices.SortStableFunc(c.Items, func(a, b Item) int { return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Plugin, b.Plugin)) })
	return c, nil
}

// plugins maps the name of each cache entry with code to the code's plugin and module. If the config is invalid, the result is
// incomplete and no error, because listing the cache must not require a valid config.
func (c *Content) plugins(o discovery.Options) map[string]Item {
	named := map[string]Item{}
	view, err := catalog.Look(o)
	if view == nil {
		c.unnamed = err
		return named
	}
	for _, p := range view.Plugins {
		c.known = append(c.known, p.Name)
		if p.Manifest == nil {
			continue
		}
		if sum, err := code.DigestOf(p.Manifest.ModuleFile()); err == nil {
			named[code.EntryName(sum)] = Item{Plugin: p.Name, Module: sum[:16]}
		}
	}
	return named
}

// Cleared says what Clear has removed.
type Cleared struct {
	Dir     string `json:"dir"`
	Removed []Item `json:"removed"`
	Kept    []Item `json:"kept"` // code that is not removed because it is being compiled
}

// Clear removes the selected part of the cache. Hosts may be running: they compile modules again, and derive data
// again, when they need them.
func Clear(o discovery.Options, s Selection) (*Cleared, error) {
	c, err := List(o)
	if err != nil {
		return nil, err
	}
	if s.Plugin != "" {
		switch {
		case s.Kind != Derived && c.unnamed != nil:
			return nil, usage.Errorf("it is unknown which code belongs to plugin %q (clear its derived data with --derived): %w", s.Plugin, c.unnamed)
		case !slices.Contains(c.known, s.Plugin) && !slices.ContainsFunc(c.Items, func(i Item) bool { return i.Plugin == s.Plugin }):
			return nil, usage.Errorf("there is no plugin %q here, and the cache contains nothing of it: %s", s.Plugin, usage.DidYouMean(s.Plugin, c.known, "`bulkhead cache` lists what it contains"))
		}
	}
	done := &Cleared{Dir: c.Dir, Removed: []Item{}, Kept: []Item{}}
	for _, item := range c.Items {
		if item.Kind != Code || s.Kind == Derived || s.Plugin != "" && item.Plugin != s.Plugin {
			continue
		}
		removed, err := item.entry.Remove()
		switch {
		case err != nil:
			return done, err
		case removed:
			done.Removed = append(done.Removed, item)
		default:
			done.Kept = append(done.Kept, item)
		}
	}
	if s.Kind == Code {
		return done, nil
	}
	store := derived.NewStore(derived.Dir(c.Dir), hclog.NewNullLogger())
	gone, err := store.Clear(s.Plugin)
	for _, set := range gone {
		done.Removed = append(done.Removed, Item{Kind: Derived, Plugin: set.Plugin, Module: set.Module, Size: set.Size, Used: set.Used})
	}
	return done, errors.Join(err, store.Close())
}
