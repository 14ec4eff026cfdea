package servers

import (
	"context"
	"reflect"
	"time"
)

// Follow calls show with the state of the servers, and whether that has changed, at intervals until ctx ends.
func (w *Watcher) Follow(ctx context.Context, interval time.Duration, show func(now *Servers, changed bool) error) error {
	return follow(ctx, w.Look, interval, show)
}

// follow calls show with what look returns.
func follow(ctx context.Context, look func(context.Context) (*Servers, error), interval time.Duration, show func(now *Servers, changed bool) error) error {
	ticks := time.NewTicker(interval)
	defer ticks.Stop()
	var last *Servers
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
func same(a, b *Servers) bool { return reflect.DeepEqual(timeless(a), timeless(b)) }

// timeless returns s without the times of servers that run no calls.
func timeless(s *Servers) Servers {
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
