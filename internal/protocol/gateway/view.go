package gateway

import (
	"context"
	"slices"
	"sync/atomic"
)

// View is what some clients are offered. Views share the bounds of their Gateway. A session belongs to one view; what calls of other views
// do is hidden from it, except for the changes that a Source shows.
type View struct {
	g       *Gateway
	backend Backend
	scope   string                 // what the state of a question is bound to, besides its principal
	served  atomic.Pointer[served] // see Apply
	ended   context.Context
	end     context.CancelFunc
}

// NewView returns a further view. MaxLine, MaxInFlight and Log of its Config are ignored. A client's answer to a question is accepted in views
// of the same scope only.
func (g *Gateway) NewView(config Config, backend Backend, scope string) (*View, error) {
	first, err := newServed(config)
	if err != nil {
		return nil, err
	}
	v := &View{g: g, backend: backend}
	if scope != "" {
		v.scope = scope + "\x00" // which neither a scope nor a principal contains
	}
	v.ended, v.end = context.WithCancel(context.Background())
	v.served.Store(first)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.views = append(g.views, v)
	return v, nil
}

// Close removes the view. The transport ends its sessions.
func (v *View) Close() {
	v.g.mu.Lock()
	v.g.views = slices.DeleteFunc(v.g.views, func(other *View) bool { return other == v })
	v.g.mu.Unlock()
	v.end()
}

// Backend returns the backend that answers the requests of the view's clients.
func (v *View) Backend() Backend { return v.backend }

// Ended returns a context that Close ends.
func (v *View) Ended() context.Context { return v.ended }

// otherViews returns the views except v.
func (g *Gateway) otherViews(v *View) []*View {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.views) == 1 {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(g.views), func(other *View) bool { return other == v })
}
