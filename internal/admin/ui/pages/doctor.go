package pages

import (
	"context"
	"net/url"
	"sync"

	"github.com/bulkhead-mcp/bulkhead/internal/admin/doctor"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/terminal"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/ui"
	"github.com/bulkhead-mcp/bulkhead/internal/base/chart"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/discovery"
)

// doctorModel is the content of the page.
type doctorModel struct {
	Verdict string
	Command string // that shows the same in a terminal
	Checks  []doctor.Check
}

// doctorPage shows what `bulkhead doctor` says.
func doctorPage(o discovery.Options) ui.Page {
	var one sync.Mutex // an examination compiles and starts modules
	return ui.Page{Path: "/doctor", Title: "Doctor", Template: doctorTemplate, Model: func(ctx context.Context, _ url.Values) (any, error) {
		one.Lock()
		defer one.Unlock()
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		m := doctorModel{Command: terminal.Command(o, "doctor"), Checks: doctor.Examine(ctx, o)}
		m.Verdict = verdict(m.Checks)
		return m, nil
	}}
}

// verdict says how many checks failed, and how many have warned.
func verdict(checks []doctor.Check) string {
	n := map[string]int{}
	for _, c := range checks {
		n[c.Outcome]++
	}
	failed, warnings := "No check failed", "no warnings"
	if n := n[doctor.CheckFailed]; n > 0 {
		failed = chart.Counted(n, "check", "checks") + " failed"
	}
	if n := n[doctor.CheckWarning]; n > 0 {
		warnings = chart.Counted(n, "warning", "warnings")
	}
	return failed + "; " + warnings + "."
}
