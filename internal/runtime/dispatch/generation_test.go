package dispatch

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/bulkhead-mcp/bulkhead/internal/policy/catalog"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/discovery"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/call"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/worker"
)

// catalogOf returns a Catalog with one plugin. That plugin is granted the directory /granted.
func catalogOf(change func(*catalog.Catalog)) *catalog.Catalog {
	log := hclog.NewNullLogger()
	c := &catalog.Catalog{
		Found: &discovery.Found{Options: discovery.Options{Log: log}, HostFiles: []string{"/host"}},
		Plugins: []*catalog.Plugin{{Name: "it", Log: log, Manifest: &manifest.Manifest{Digest: "1", Module: manifest.Module{SHA256: "1"}},
			Grant: config.Grant{FS: []config.Mount{{Path: "/granted"}}, Limits: manifest.Limits{Concurrency: 1}}}},
	}
	if change != nil {
		change(c)
	}
	return c
}

func TestGenerationKeepsRunnersOfEqualPlugins(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*catalog.Catalog)
		want   bool
	}{
		"nothing":                      {nil, true},
		"another plugin":               {func(c *catalog.Catalog) { c.Plugins = append(c.Plugins, &catalog.Plugin{Name: "b", Problem: "x"}) }, true},
		"a file of the host elsewhere": {func(c *catalog.Catalog) { c.HostFiles = []string{"/host", "/other"} }, true},
		"the reason for a withheld tool": {func(c *catalog.Catalog) {
			c.Plugins[0].Grant.Withheld = []config.Withheld{{Why: "another line"}}
		}, true},
		"a file of the host in a granted directory": {func(c *catalog.Catalog) { c.HostFiles = []string{"/host", "/granted/it"} }, false},
		"a file of the host above one":              {func(c *catalog.Catalog) { c.HostFiles = []string{"/host", "/"} }, false},
		"the manifest":                              {func(c *catalog.Catalog) { c.Plugins[0].Manifest.Digest = "2" }, false},
		"a grant":                                   {func(c *catalog.Catalog) { c.Plugins[0].Grant.FS[0].Access = "rw" }, false},
		"a limit":                                   {func(c *catalog.Catalog) { c.Plugins[0].Grant.Limits.Memory = 1 }, false},
		"the place":                                 {func(c *catalog.Catalog) { c.Plugins[0].Entry.Path = "/moved" }, false},
		"the project":                               {func(c *catalog.Catalog) { c.Places.Project = "/moved" }, false},
		"a problem":                                 {func(c *catalog.Catalog) { c.Plugins[0].Problem = "x" }, false},
	} {
		t.Run(name, func(t *testing.T) {
			d := New(catalogOf(nil))
			old := d.current.Load()
			next := newGeneration(d, []*catalog.Catalog{catalogOf(test.change)}, old)
			if got := next.first.plugins[0].runner == old.first.plugins[0].runner; got != test.want {
				t.Errorf("the runner is kept: %v, want %v", got, test.want)
			}
			if next.first.plugins[0].lane != old.first.plugins[0].lane {
				t.Error("two versions of the plugin have different queues")
			}
		})
	}
}

func TestWaitingRequestNeedsItsGrant(t *testing.T) {
	for name, test := range map[string]struct {
		change  func(*catalog.Catalog)
		refused bool
	}{
		"nothing":      {nil, false},
		"the manifest": {func(c *catalog.Catalog) { c.Plugins[0].Manifest.Digest = "2" }, false},
		"a text of its tool": {func(c *catalog.Catalog) {
			c.Plugins[0].Tools[0].Description = "new"
			c.Plugins[0].Grant.Tools[0].Description = "new"
		}, false},
		"its tool":       {func(c *catalog.Catalog) { c.Plugins[0].Tools, c.Plugins[0].Grant.Tools = nil, nil }, true},
		"a grant":        {func(c *catalog.Catalog) { c.Plugins[0].Grant.FS = nil }, true},
		"a hidden file":  {func(c *catalog.Catalog) { c.Plugins[0].Grant.Deny = []string{"x"} }, true},
		"the place":      {func(c *catalog.Catalog) { c.Plugins[0].Entry.Path = "/moved" }, true},
		"a problem":      {func(c *catalog.Catalog) { c.Plugins[0].Problem = "x" }, true},
		"the plugin":     {func(c *catalog.Catalog) { c.Plugins = nil }, true},
		"another plugin": {func(c *catalog.Catalog) { c.Plugins[0].Name = "b" }, true},
	} {
		t.Run(name, func(t *testing.T) {
			withTool := func(change func(*catalog.Catalog)) *catalog.Catalog {
				return catalogOf(func(c *catalog.Catalog) {
					p, tool := c.Plugins[0], manifest.Tool{Name: "t"}
					p.Grant.Tools, p.Tools = []manifest.Tool{tool}, []*catalog.Tool{{Tool: tool, Plugin: p}}
					if change != nil {
						change(c)
					}
				})
			}
			d := New(withTool(nil))
			d.pool = worker.NewPool(1 << 30)
			waiting := d.current.Load().first.plugins[0]
			replaceBy(t, d, withTool(test.change))
			if err := waiting.checkGrant("t"); (err != nil) != test.refused {
				t.Errorf("got %v, want an error: %v", err, test.refused)
			}
		})
	}
}

// opened returns a Dispatcher that is ready for calls of Apply.
func opened() *Dispatcher {
	d := New(catalogOf(nil))
	d.pool = worker.NewPool(1 << 30)
	return d
}

func replaceBy(t *testing.T, d *Dispatcher, c *catalog.Catalog) {
	t.Helper()
	u, err := d.Prepare(c)
	if err != nil {
		t.Fatal(err)
	}
	d.Apply(u)
}

// A call that writes runs alone, even if calls of an earlier version of the plugin are in flight.
func TestVersionsOfPluginShareQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := opened()
		old := d.acquire()
		first := old.first.plugins[0].enqueue(call.Request{}, true)
		replaceBy(t, d, catalogOf(func(c *catalog.Catalog) { c.Plugins[0].Manifest.Digest = "2" }))
		now := d.acquire()
		second := now.first.plugins[0].enqueue(call.Request{}, true)
		ran := false
		go func() {
			if err := second.place.start(t.Context(), time.Hour); err == nil {
				ran = true
			}
		}()
		synctest.Wait()
		if ran {
			t.Error("two calls that write run at the same time")
		}
		first.place.leave()
		synctest.Wait()
		if !ran {
			t.Error("the second call does not run after the first one")
		}
	})
}

func TestReplacedGenerationIsClosedAfterLastRequest(t *testing.T) {
	d := opened()
	s := d.acquire()
	replaceBy(t, d, catalogOf(nil))
	replaceBy(t, d, catalogOf(nil))
	if len(d.live) != 2 { // the second generation had no request, so it is closed
		t.Errorf("%d generations are open, want 2", len(d.live))
	}
	s.release()
	if len(d.live) != 1 || d.live[0] != d.current.Load() {
		t.Errorf("%d generations are open, want the current one", len(d.live))
	}
}

func TestResizedSlots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &queue{}
		s.resize(2)
		acquire := func() <-chan error {
			done := make(chan error, 1)
			p := &place{}
			s.enter(p, "", false)
			go func() { done <- p.start(context.Background(), time.Hour) }()
			synctest.Wait()
			return done
		}
		<-acquire()
		<-acquire()
		third := acquire()
		release := (&place{queue: s}).release
		s.resize(1)
		release()
		synctest.Wait()
		if len(third) > 0 {
			t.Error("two slots are in use after the limit was reduced to one")
		}
		release()
		<-third
		fourth := acquire()
		s.resize(2)
		<-fourth
		release()
		release()
		if s.free != 2 {
			t.Errorf("%d slots are free, want 2", s.free)
		}
	})
}
