package pages

import (
	"context"
	"net/url"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/admin/servers"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/ui"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/discovery"
)

// liveInterval is how often the sockets of servers are read while a page is open.
const liveInterval = time.Second

// livePage shows what the running servers of the user do now. With JavaScript, it is updated unless the parameter still is set: an update
// takes focus and selection away. The time of the latest look is an event of its own, so that a time that stands still tells that updates have ended.
func livePage(o discovery.Options) ui.Page {
	type model struct {
		Now   *servers.Servers
		At    time.Time
		Still bool
	}
	return ui.Page{
		Path: "/live", Title: "Live", Template: liveTemplate + parts,
		Model: func(ctx context.Context, q url.Values) (any, error) {
			s, err := servers.NewWatcher(o).Look(ctx)
			return model{s, time.Now(), q.Has("still")}, err
		},
		Events: func(ctx context.Context, _ url.Values, send func(block string, model any) error) error {
			return servers.NewWatcher(o).Follow(ctx, liveInterval, func(s *servers.Servers, changed bool) error {
				if changed {
					if err := send("servers", s); err != nil {
						return err
					}
				}
				return send("now", time.Now())
			})
		},
	}
}
