package ui

import (
	"context"
	"net/url"
	"slices"
	"sync"

	"github.com/bulkhead-mcp/bulkhead/internal/admin/doctor"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/discovery"
)

// doctorPage shows what `bulkhead doctor` says.
func doctorPage(o discovery.Options) Page {
	type model struct {
		OK     bool
		Checks []doctor.Check
	}
	var one sync.Mutex // an examination compiles and starts modules
	return Page{Path: "/doctor", Title: "Doctor", Template: "doctor.html", Model: func(ctx context.Context, _ url.Values) (any, error) {
		one.Lock()
		defer one.Unlock()
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		m := model{Checks: doctor.Examine(ctx, o)}
		m.OK = !slices.ContainsFunc(m.Checks, func(c doctor.Check) bool { return c.Outcome == doctor.CheckFailed })
		return m, nil
	}}
}
