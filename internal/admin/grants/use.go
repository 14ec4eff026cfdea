package grants

import (
	"context"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/admin/explain"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/history"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/catalog"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/discovery"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/audit"
)

const unusedDays = 30

// Use is what is known of the use of tools.
type Use struct {
	Days   int       // for which a tool must not have been used to count as unused
	From   time.Time // since when no use is missing; the zero value: nothing is known
	Before time.Time // a tool that was used last before this time is unused
	Short  bool      // whether From is later than Before, so that less than Days is known
	Reason string    // why nothing is known, with a remedy
}

// read returns the last uses of tools.
func (u *Use) read(ctx context.Context, o discovery.Options, view *catalog.Catalog) []history.Use {
	u.Days, u.Before = unusedDays, time.Now().AddDate(0, 0, -unusedDays)
	if view.Audit == nil {
		u.Reason = "no audit log is configured, so it is not known which tools are used: "
		if o.NoConfig {
			u.Reason += "a config names the log, and with --no-config none is used"
		} else {
			u.Reason += "add [audit] with a file to the config"
		}
		return nil
	}
	uses, err := u.count(ctx, o, view.Audit.File, history.PageTime)
	switch {
	case err != nil:
		u.Reason = err.Error()
	case u.From.IsZero() && u.Reason == "":
		u.Reason = "the audit log has no calls yet"
	}
	u.Short = u.From.After(u.Before)
	return append(uses, history.Running(ctx, o, view.Config)...)
}

// count returns the uses that the log has, of which it counts new ones for a time. Until all are counted, nothing is known: the newest are missing.
func (u *Use) count(ctx context.Context, o discovery.Options, log string, d time.Duration) (uses []history.Use, err error) {
	h, err := history.Find(o, log)
	if err != nil {
		return nil, err
	}
	p, err := h.UpdateFor(ctx, d)
	if err != nil {
		return nil, err
	}
	if p.Unread > 0 {
		u.Reason = "records of the audit log are still being counted: reload the page"
		return nil, nil
	}
	uses, u.From, err = h.LastUses(ctx, audit.Query{})
	if err != nil {
		u.From = time.Time{}
	}
	return uses, err
}

// unused returns which tools of plugins are offered and unused; none if nothing is known.
func (u *Use) unused(plugins []explain.PluginPolicy, last map[history.Tool]time.Time) map[history.Tool]bool {
	all := map[history.Tool]bool{}
	if u.From.IsZero() {
		return all
	}
	for _, t := range history.FindUnused(history.Granted(plugins, audit.Query{}), last, u.Before) {
		all[history.Tool{Plugin: t.Plugin, Name: t.Tool}] = true
	}
	return all
}
