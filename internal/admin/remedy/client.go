package remedy

import (
	"github.com/bulkhead-mcp/bulkhead/internal/admin/explain"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/review"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/catalog"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/httpserver"
)

// client is a client over HTTP. A nil client gets what the plugins' own tables grant.
type client struct {
	explain.Client
	table *config.Client // of [[clients]], that decides; nil: none does
}

// plugin returns p as the client gets it. why is the reason why the client does not get it.
func (c *client) plugin(view *catalog.Catalog, p *catalog.Plugin) (_ *catalog.Plugin, why review.Reason) {
	if c == nil {
		return p, review.Reason{}
	}
	return c.Client.Plugin(view, p)
}

// ofHTTP returns the remedy of a request that the HTTP server has refused for what [[clients]] says.
func (f *Finder) ofHTTP(r Refusal) Remedy {
	var q explain.Question
	r.Transport = overHTTP
	c, why := f.clientOf(r, &q)
	switch {
	case why != "":
		return Remedy{Why: why}
	case c == nil && r.Code == httpserver.RefusedMetrics:
		return Remedy{Why: "only a table of [[clients]] lets a client read metrics"}
	case c == nil:
		return Remedy{}
	}
	found := Remedy{Why: c.By, Command: command(f.options, q)}
	decides := func(key string) {
		found.Key, found.At = key, []config.Position{c.table.Position(key)}
	}
	switch {
	case r.Code == httpserver.RefusedMetrics && c.table == nil:
		found.Why = "only a table of [[clients]] lets a client read metrics: " + c.By
	case r.Code == httpserver.RefusedMetrics && !c.Metrics:
		decides("metrics")
		found.Allow = "true"
	case r.Code == httpserver.RefusedQuota && c.Quota != nil:
		decides("quota")
	case r.Code == httpserver.RefusedClient && !c.Admitted:
		if found.Key = "other_clients"; f.view.Clients.OthersAt.File != "" {
			found.At = []config.Position{f.view.Clients.OthersAt}
		}
	case r.Code == httpserver.RefusedClient && !c.AllowsProject(""):
		decides("projects")
		found.Why += "; its projects do not include the server's own"
	default:
		found.Why = granted(c.By).Why
	}
	return found
}
