package explain

import (
	"sync"

	"github.com/bulkhead-mcp/bulkhead/internal/admin/review"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/catalog"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/grant"
)

// NewResolver returns a resolver of granted paths that applies the rules of the host. It has no side effects.
func NewResolver(places config.Places, plugins []*catalog.Plugin) review.Resolver {
	looker := sync.OnceValue(func() *grant.Looker { // many questions are about no path
		var grants []config.Grant
		for _, s := range plugins {
			if s.Problems.Err() == nil {
				grants = append(grants, s.Grant)
			}
		}
		return grant.NewLooker(places, grant.Writable(places, grants...))
	})
	return func(kind, path string, within []string) review.Place {
		if kind == review.Folder {
			kind = grant.Directory
		}
		p, err := looker().Look(kind, path, within)
		out := review.Place{Resolved: p.Path, Breadth: p.Breadth.String(), Broad: p.Breadth.Broad()}
		if err != nil {
			out.Refused = err.Error()
		}
		return out
	}
}
