package ui

import (
	"context"
	"net/url"
	"slices"
	"sync"

	"github.com/bulkhead-mcp/bulkhead/internal/admin/doctor"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/terminal"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/discovery"
)

// doctorModel is the content of the page.
type doctorModel struct {
	OK      bool
	Command string // that shows the same in a terminal
	Checks  []doctor.Check
}

// doctorPage shows what `bulkhead doctor` says.
func doctorPage(o discovery.Options) Page {
	var one sync.Mutex // an examination compiles and starts modules
	return Page{Path: "/doctor", Title: "Doctor", Template: "doctor.html", Model: func(ctx context.Context, _ url.Values) (any, error) {
		one.Lock()
		defer one.Unlock()
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		m := doctorModel{Command: terminal.Command(o, "doctor"), Checks: doctor.Examine(ctx, o)}
		m.OK = !slices.ContainsFunc(m.Checks, func(c doctor.Check) bool { return c.Outcome == doctor.CheckFailed })
		return m, nil
	}}
}
