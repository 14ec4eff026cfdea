package explain

import (
	"context"
	"fmt"

	"github.com/bulkhead-mcp/bulkhead/internal/admin/review"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/catalog"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/discovery"
)

// Granted is what one kind of client is granted.
type Granted struct {
	Client  Client
	At      config.Position // of its table; the zero value if it has none
	Plugins []PluginPolicy  // in the order of the config
}

// The names of the clients that have no table. No table has such a name.
const (
	ThisUser = "(this user)"
	Others   = "(others)"
)

// EachClient returns what the plugins of v, the complete catalog, are granted for the clients over stdio of this user, for those of each
// table of [[clients]], and for those that no table matches, if they are granted anything. It ends with ctx.
func EachClient(ctx context.Context, o discovery.Options, v *catalog.Catalog) ([]Granted, error) {
	all := clientsOf(v)
	resolver := remembering(NewResolver(v.Places, v.Plugins))
	for i := range all {
		for _, p := range v.Plugins {
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			described := PluginPolicy{}
			if c := all[i].Client; c.Name == ThisUser {
				described = policyOf(p, subjectOf(o, v, p, resolver))
			} else {
				described = c.policy(o, v, p, resolver)
			}
			all[i].Plugins = append(all[i].Plugins, described)
		}
	}
	return all, nil
}

// clientsOf returns the clients of EachClient, without what they are granted.
func clientsOf(v *catalog.Catalog) []Granted {
	local := Client{Name: ThisUser, Admitted: true, By: "clients that start the server themselves: no table of [[clients]] is about them"}
	if len(v.Clients.Tables) == 0 {
		local.By = "every client: the config has no [[clients]]"
		return []Granted{{Client: local}}
	}
	all := []Granted{{Client: local}}
	for i := range v.Clients.Tables {
		t := &v.Clients.Tables[i]
		c := clientOf(t)
		if c.By = t.Match.String(); !c.AllowsProject("") {
			c.By += "; only for projects of [[projects]], and not for the server's own"
		}
		all = append(all, Granted{Client: c, At: t.Position("")})
	}
	if v.Clients.AdmitsOthers() {
		all = append(all, Granted{Client: Client{Name: Others, Admitted: true, By: `no table of [[clients]] matches, and other_clients = "all"`}})
	}
	return all
}

// remembering returns a Resolver that resolves each path once: the tables of [[clients]] mostly grant the same directories.
func remembering(r review.Resolver) review.Resolver {
	known := map[string]review.Place{}
	return func(kind, path string, within []string) review.Place {
		key := fmt.Sprintf("%s %q %q", kind, path, within)
		place, ok := known[key]
		if !ok {
			place = r(kind, path, within)
			known[key] = place
		}
		return place
	}
}

// policy returns what the plugin p of v is granted for the client.
func (c Client) policy(o discovery.Options, v *catalog.Catalog, p *catalog.Plugin, resolver review.Resolver) PluginPolicy {
	p, why := c.Plugin(v, p)
	described := policyOf(p, subjectOf(o, v, p, resolver))
	if why.By != "" {
		described.Problem, described.Policy, described.Cuts = why.By, nil, nil
	}
	return described
}
