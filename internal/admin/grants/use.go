package grants

import (
	"context"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/admin/history"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/catalog"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/discovery"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/audit"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/live"
)

const (
	unusedDays = 30
	countTime  = 2 * time.Second // in which new records of the log are counted, for one page
)

// Use is what is known of the use of tools.
type Use struct {
	Days   int       // for which a tool must not have been used to count as unused
	From   time.Time // since when no use is missing; the zero value: nothing is known
	Before time.Time // a tool that was used last before this time is unused
	Short  bool      // whether From is later than Before, so that less than Days is known
	Reason string    // why nothing is known, with a remedy, or why it is incomplete
}

func useKey(plugin, tool string) string { return plugin + "\x00" + tool }

// read returns the last uses of tools by useKey.
func (u *Use) read(ctx context.Context, o discovery.Options, view *catalog.Catalog) map[string]time.Time {
	u.Days, u.Before = unusedDays, time.Now().AddDate(0, 0, -unusedDays)
	if view.Audit == nil {
		u.Reason = "no audit log is configured, so it is not known which tools are used: add [audit] with a file to the config"
		return nil
	}
	uses, err := u.count(ctx, o, view.Audit.File)
	if err != nil {
		u.From, u.Reason = time.Time{}, err.Error()
		return nil
	}
	if u.From.IsZero() && u.Reason == "" {
		u.Reason = "the audit log has no calls yet"
	}
	u.Short = u.From.After(u.Before)
	addRunning(ctx, o, uses)
	return uses
}

// addRunning adds the uses by calls that have not ended, which no log has yet, of the servers that offer their state. Without it, the log is
// all that is known: the page Live has the reason.
func addRunning(ctx context.Context, o discovery.Options, uses map[string]time.Time) {
	state, err := discovery.StateDir(o.System)
	if err != nil || state == "" {
		return
	}
	read, _ := live.Read(ctx, live.Dir(state))
	for _, s := range read.Servers {
		for _, c := range s.Calls {
			if key := useKey(c.Plugin, c.Tool); c.Since.After(uses[key]) {
				uses[key] = c.Since
			}
		}
	}
}

func (u *Use) count(ctx context.Context, o discovery.Options, log string) (map[string]time.Time, error) {
	state, err := discovery.StateDir(o.System)
	if err != nil {
		return nil, err
	}
	h, err := history.Open(state, log)
	if err != nil {
		return nil, err
	}
	p, err := h.UpdateFor(ctx, countTime)
	if err != nil {
		return nil, err
	}
	if p.Unread > 0 {
		u.Reason = "records of the audit log are still being counted: reload the page"
	}
	all, from, err := h.LastUses(ctx, audit.Query{})
	if err != nil {
		return nil, err
	}
	u.From = from
	uses := map[string]time.Time{}
	for _, use := range all {
		if key := useKey(use.Plugin, use.Tool); use.Last.After(uses[key]) {
			uses[key] = use.Last
		}
	}
	return uses, nil
}
