package host

import (
	"errors"
	"sync"

	"github.com/bulkhead-mcp/bulkhead/internal/runtime/live"
)

// watched offers the live state of a Host while it serves clients, as live in [audit] says.
type watched struct {
	mu        sync.Mutex
	serving   int
	transport string
	server    *live.Server // nil: the state is not offered
}

// watch offers the live state if the config says so, until end is called.
func (h *Host) watch(transport string) (end func()) {
	w := &h.watched
	w.mu.Lock()
	w.serving++
	w.transport = transport
	w.mu.Unlock()
	h.updateWatched()
	return func() {
		w.mu.Lock()
		w.serving--
		w.mu.Unlock()
		h.updateWatched()
	}
}

// updateWatched offers the live state, or no longer, as the config in force says. If it cannot be offered, that is logged: the tools matter more.
func (h *Host) updateWatched() {
	w := &h.watched
	w.mu.Lock()
	defer w.mu.Unlock()
	found := h.catalog().Found
	wanted := found.Audit.HasLiveState() && w.serving > 0
	switch {
	case wanted == (w.server != nil):
	case !wanted:
		h.dispatcher.Watch(nil)
		w.server.Close()
		w.server = nil
	default:
		state := live.New(w.transport, h.dispatcher.AddState)
		var err error
		if found.Places.State == "" {
			err = errors.New("there is no directory for it: set HOME or XDG_STATE_HOME")
		} else {
			w.server, err = live.Listen(live.Dir(found.Places.State), state)
		}
		if err != nil {
			h.options.Log.Error("the live state of this server cannot be read", "reason", err.Error())
			return
		}
		h.dispatcher.Watch(state)
	}
}
