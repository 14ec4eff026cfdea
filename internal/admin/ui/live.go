package ui

import (
	"context"
	"net/url"
	"reflect"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/admin/servers"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/discovery"
)

// liveInterval is how often the sockets of servers are read while a page is open.
const liveInterval = time.Second

// livePage shows what the running servers of the user do now. With JavaScript, it is updated unless the parameter still is set: an update
// takes focus and selection away. The time of the latest look is an event of its own, so that a time that stands still tells that updates have ended.
func livePage(o discovery.Options) Page {
	type model struct {
		Now   *servers.Servers
		At    time.Time
		Still bool
	}
	return Page{
		Path: "/live", Title: "Live", Template: "live.html",
		Model: func(ctx context.Context, q url.Values) (any, error) {
			s, err := servers.NewWatcher(o).Look(ctx)
			return model{s, time.Now(), q.Has("still")}, err
		},
		Events: func(ctx context.Context, _ url.Values, send func(block string, model any) error) error {
			return follow(ctx, servers.NewWatcher(o).Look, liveInterval, func(s *servers.Servers, changed bool) error {
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

// follow calls show with what look returns, and whether that has changed, at intervals until ctx ends.
func follow(ctx context.Context, look func(context.Context) (*servers.Servers, error), interval time.Duration, show func(now *servers.Servers, changed bool) error) error {
	ticks := time.NewTicker(interval)
	defer ticks.Stop()
	var last *servers.Servers
	for {
		now, err := look(ctx)
		if err != nil {
			return err
		}
		changed := last == nil || !same(last, now)
		if err := show(now, changed); err != nil {
			return err
		}
		if changed {
			last = now
		}
		select {
		case <-ctx.Done():
		case <-ticks.C:
		}
		if ctx.Err() != nil { // of two that are ready, select takes either
			return ctx.Err()
		}
	}
}

// same reports whether two states show the same. The ages of calls that run always differ.
func same(a, b *servers.Servers) bool {
	x, y := timeless(a), timeless(b)
	return reflect.DeepEqual(x, y)
}

func timeless(s *servers.Servers) servers.Servers {
	t := *s
	t.Servers = nil
	for _, one := range s.Servers {
		if len(one.Calls) == 0 {
			one.Time = time.Time{}
		}
		t.Servers = append(t.Servers, one)
	}
	return t
}
