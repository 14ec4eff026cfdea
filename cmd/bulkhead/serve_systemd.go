package main

import (
	"context"
	"fmt"
	"sync"

	"github.com/bulkhead-mcp/bulkhead/host"
	"github.com/bulkhead-mcp/bulkhead/internal/base/systemd"
	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
	"github.com/bulkhead-mcp/bulkhead/internal/base/visible"
)

// fromSystemd is the value of --http that names the socket of a systemd unit.
const fromSystemd = "systemd"

// listenFromSystemd makes the socket that systemd has passed the listener, before a child process could inherit it.
func listenFromSystemd(http *host.HTTPOptions) (err error) {
	if http.Listener, err = systemd.Listener(); err != nil {
		return usage.Errorf("--http systemd: %w", err)
	}
	return nil
}

// tellSystemd makes a server over HTTP tell systemd its states, if it runs in a unit of Type=notify. A state that cannot be told is
// logged: systemd acts on its absence.
func (o *options) tellSystemd(ctx context.Context, s *server) {
	tell := func(state systemd.State) {
		if err := systemd.Notify(state); err != nil {
			fmt.Fprintf(o.stderr, "bulkhead: %s\n", visible.Text(err.Error()))
		}
	}
	reload := s.reload
	s.reload = func(h *host.Host) error {
		tell(systemd.Reloading)
		defer tell(systemd.Ready)
		return reload(h)
	}
	s.http.Listening = func(string) { tell(systemd.Ready) }
	// The server can have ended before a function of AfterFunc runs.
	stopping := sync.OnceFunc(func() { tell(systemd.Stopping) })
	context.AfterFunc(ctx, stopping)
	s.close = func() error { stopping(); return nil }
}
