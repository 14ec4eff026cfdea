package pages

import (
	"context"
	"net/url"
	"slices"
	"strconv"

	"github.com/bulkhead-mcp/bulkhead/internal/admin/grants"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/ui"
	"github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"
	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/discovery"
)

// grantsPage shows what clients are granted, one client at a time, and what all of them reach.
func grantsPage(o discovery.Options) ui.Page {
	type model struct {
		*grants.Picture
		Client  grants.Client // the one that is shown
		Drawing drawing
	}
	return ui.Page{Path: "/grants", Title: "Grants", Template: grantsTemplate + parts, Model: func(ctx context.Context, q url.Values) (any, error) {
		p, err := grants.Look(ctx, o)
		if err != nil {
			return nil, err
		}
		i := 0
		if name := q.Get("client"); q.Has("client") {
			if i = slices.IndexFunc(p.Clients, func(c grants.Client) bool { return c.Name == name }); i < 0 {
				return nil, usage.Errorf("there is no client %s", tomlfile.Quote(name))
			}
		}
		return model{p, p.Clients[i], drawGrants(p.Clients[i])}, nil
	}}
}

// linePage shows a line of the config, or of another file that decides about grants.
func linePage(o discovery.Options) ui.Page {
	return ui.Page{Path: "/line", Title: "Line", Template: lineTemplate + parts, Unlisted: true, Model: func(_ context.Context, q url.Values) (any, error) {
		line, err := strconv.ParseUint(q.Get("line"), 10, 31)
		if err != nil {
			return nil, usage.Errorf("%s is not the number of a line", tomlfile.Quote(q.Get("line")))
		}
		return grants.Show(o, q.Get("file"), int(line))
	}}
}

// narrowPage shows how a plugin is granted less.
func narrowPage(o discovery.Options) ui.Page {
	return ui.Page{Path: "/narrow", Title: "Grant less", Template: narrowTemplate + parts, Unlisted: true, Model: func(ctx context.Context, q url.Values) (any, error) {
		return grants.Narrow(ctx, o, grants.Less{Plugin: q.Get("plugin"), Key: q.Get("key"), What: q.Get("what"), Client: q.Get("client")})
	}}
}
