package explain

import (
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
// table of [[clients]], and for those that no table matches, if they are granted anything.
func EachClient(o discovery.Options, v *catalog.Catalog) []Granted {
	local := Granted{Client: Client{Name: ThisUser, Admitted: true, By: "clients that start the server themselves: no table of [[clients]] is about them"}}
	resolver := remembering(NewResolver(v.Places, v.Plugins))
	for _, p := range v.Plugins {
		local.Plugins = append(local.Plugins, policyOf(p, subjectOf(o, v, p, resolver)))
	}
	all := []Granted{local}
	if len(v.Clients.Tables) == 0 {
		all[0].Client.By = "every client: the config has no [[clients]]"
		return all
	}
	for i := range v.Clients.Tables {
		t := &v.Clients.Tables[i]
		c := Client{Name: t.Name, Admitted: true, Table: t.Name, By: t.Match.String(), Projects: t.Projects, table: t, dir: unknownDir}
		if !c.AllowsProject("") {
			c.By += "; only for projects of [[projects]], and not for the server's own"
		}
		all = append(all, c.granted(o, v, resolver, t.Position("")))
	}
	if v.Clients.AdmitsOthers() {
		c := Client{Name: Others, Admitted: true, By: `no table of [[clients]] matches, and other_clients = "all"`}
		all = append(all, c.granted(o, v, resolver, config.Position{}))
	}
	return all
}

func (c Client) granted(o discovery.Options, v *catalog.Catalog, resolver review.Resolver, at config.Position) Granted {
	g := Granted{Client: c, At: at}
	for _, p := range v.Plugins {
		g.Plugins = append(g.Plugins, c.policy(o, v, p, resolver))
	}
	return g
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
