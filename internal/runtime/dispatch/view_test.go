package dispatch

import (
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/policy/catalog"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/call"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/worker"
)

// clientCatalog returns a Catalog like catalogOf's for a client.
func clientCatalog(key catalog.Key, change func(*catalog.Catalog)) *catalog.Catalog {
	return catalogOf(func(c *catalog.Catalog) {
		c.Key = key
		if change != nil {
			change(c)
		}
	})
}

func TestViewsShareRunnersOfEqualWorkers(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*catalog.Plugin)
		want   bool
	}{
		"nothing":      {func(*catalog.Plugin) {}, true},
		"tools":        {func(p *catalog.Plugin) { p.Grant.Tools = []manifest.Tool{{Name: "x"}} }, true},
		"a prefix":     {func(p *catalog.Plugin) { p.Grant.Prefix = "x" }, true},
		"prompts":      {func(p *catalog.Plugin) { p.Grant.Prompts.Allow = []string{} }, true},
		"resources":    {func(p *catalog.Plugin) { p.Grant.Resources.Deny = []string{"*"} }, true},
		"questions":    {func(p *catalog.Plugin) { p.Grant.Ask = nil }, true},
		"access":       {func(p *catalog.Plugin) { p.Grant.FS[0].Access = manifest.Read }, false},
		"a directory":  {func(p *catalog.Plugin) { p.Grant.FS[0].Path = "/granted/below" }, false},
		"hidden files": {func(p *catalog.Plugin) { p.Grant.Deny = []string{"x"} }, false},
		"a variable":   {func(p *catalog.Plugin) { p.Grant.Env = map[string]string{"A": "1"} }, false},
		"an origin":    {func(p *catalog.Plugin) { p.Grant.HTTP = []config.HTTP{{PublicWeb: true}} }, false},
		"a limit":      {func(p *catalog.Plugin) { p.Grant.Limits.Fuel = 1 }, false},
		"reuse":        {func(p *catalog.Plugin) { p.Grant.Reused = true }, false},
	} {
		t.Run(name, func(t *testing.T) {
			d := opened()
			key := catalog.Key{Client: "c"}
			d.AddView(clientCatalog(key, func(c *catalog.Catalog) { test.change(c.Plugins[0]) }))
			first, other := d.current.Load().first.plugins[0], d.current.Load().view(key).plugins[0]
			if got := first.runner == other.runner; got != test.want {
				t.Errorf("the worker is shared: %v, want %v", got, test.want)
			}
			if first.lane != other.lane {
				t.Error("two clients of one project have different queues")
			}
		})
	}
}

// TestRecordsNameTheTableOfTheClient has a client of a table, one that no table matches although there are some, and one without tables.
func TestRecordsNameTheTableOfTheClient(t *testing.T) {
	for client, want := range map[string]string{"staff": "staff", "*": "", "": ""} {
		v := &view{catalog: clientCatalog(catalog.Key{Client: client}, nil)}
		if got := v.recordOf(&call.Request{Principal: &call.Principal{}}, nil).Table; got != want {
			t.Errorf("for the part %q the table is %q, want %q", client, got, want)
		}
	}
}

// TestLanesOfProjects checks which projects have a common queue, so that no two calls write one directory at the same time.
func TestLanesOfProjects(t *testing.T) {
	for name, test := range map[string]struct {
		path   string // what the plugin may write
		area   string
		shared bool
	}{
		"inside of the project":            {"/two/a", "two", false},
		"a project in the same area":       {"/two/a", "", true},
		"outside of the project":           {"/shared", "two", true},
		"a directory that only looks like": {"/two-more", "two", true},
	} {
		t.Run(name, func(t *testing.T) {
			writing := func(c *catalog.Catalog) {
				c.Plugins[0].Grant.FS = []config.Mount{{Path: test.path, Access: manifest.ReadWrite}, {Path: "/state/x", Access: manifest.ReadWrite, State: true}}
			}
			own := catalogOf(func(c *catalog.Catalog) { c.Plugins[0].Grant.FS = nil })
			d := New(own)
			d.pool = worker.NewPool(1 << 30)
			key := catalog.Key{Project: "two"}
			u, err := d.Prepare(own, clientCatalog(key, func(c *catalog.Catalog) {
				c.Places.Project, c.Area = "/two", test.area
				writing(c)
			}))
			if err != nil {
				t.Fatal(err)
			}
			d.Apply(u)
			g := d.current.Load()
			if got := g.first.plugins[0].lane == g.view(key).plugins[0].lane; got != test.shared {
				t.Errorf("the queue is shared: %v, want %v", got, test.shared)
			}
		})
	}
}

// TestRemovedViewEndsAfterItsRequests removes the view of a principal while a request of it is in flight.
func TestRemovedViewEndsAfterItsRequests(t *testing.T) {
	d := opened()
	key := catalog.Key{Client: "c", Dir: "d"}
	d.AddView(clientCatalog(key, func(c *catalog.Catalog) { c.Plugins[0].Grant.FS[0].Path = "/granted/d" }))
	v := d.acquireView(key)
	d.RemoveView(key)
	if d.acquireView(key) != nil {
		t.Error("a removed view is found")
	}
	if _, err := d.BackendOf(key).Find(call.Request{Method: "tools/call", Name: "t"}); err == nil {
		t.Error("a request of a removed view is accepted")
	}
	if n := v.uses.Load(); n != 1 {
		t.Errorf("the view has %d uses, want that of the request", n)
	}
	v.release()
	if n := v.uses.Load(); n != 0 {
		t.Errorf("the view has %d uses after its last request", n)
	}
	if n := d.current.Load().uses.Load(); n != 1 {
		t.Errorf("the generation has %d uses, want 1", n)
	}
	d.RemoveView(key)
	d.RemoveView(catalog.Key{})
	if d.current.Load().view(catalog.Key{}) == nil {
		t.Error("a view that is not of a single principal was removed")
	}
}

// TestRepresentativeOfRunnerOutlivesView removes a view whose plugin stands for a worker that another view shares.
func TestRepresentativeOfRunnerOutlivesView(t *testing.T) {
	d := opened()
	key := catalog.Key{Client: "c", Dir: "d"}
	d.AddView(clientCatalog(key, nil))
	g := d.current.Load()
	own := g.view(key).plugins[0]
	own.runner.plugin.Store(own)
	d.RemoveView(key)
	if got := own.runner.plugin.Load(); got != g.first.plugins[0] {
		t.Error("the plugin of a removed view prepares workers")
	}
}
