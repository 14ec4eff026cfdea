package httpserver

import (
	"container/list"
	"context"
	"net"
	"net/http"
	"sync"
)

// connections bounds the connections of a server. Beyond the bound, the connection that has been without a request for the
// longest time is closed, so that idle connections, and those that send a request slowly, cannot keep clients out. Those that
// have a request are bounded by the requests that are handled at once.
type connections struct {
	max int

	mu   sync.Mutex
	all  map[net.Conn]*list.Element // the element is nil while a request of the connection is handled
	idle list.List                  // has the connections (net.Conn) without such a request, longest first
}

func newConnections(max int) *connections {
	return &connections{max: max, all: make(map[net.Conn]*list.Element)}
}

type connectionKey struct{}

// context is the ConnContext of an http.Server.
func (c *connections) context(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, connectionKey{}, conn)
}

// handler returns a handler that calls another one.
func (c *connections) handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if conn, ok := r.Context().Value(connectionKey{}).(net.Conn); ok {
			c.setBusy(conn)
		}
		next.ServeHTTP(w, r)
	})
}

func (c *connections) setBusy(conn net.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.all[conn]; e != nil {
		c.idle.Remove(e)
		c.all[conn] = nil
	}
}

// changed is the ConnState of an http.Server.
func (c *connections) changed(conn net.Conn, state http.ConnState) {
	if state == http.StateActive {
		return // the request may take long to arrive
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.all[conn]; e != nil {
		c.idle.Remove(e)
	}
	if state != http.StateNew && state != http.StateIdle {
		delete(c.all, conn)
		return
	}
	c.all[conn] = c.idle.PushBack(conn)
	for len(c.all) > c.max && c.idle.Len() > 0 {
		first := c.idle.Remove(c.idle.Front()).(net.Conn)
		delete(c.all, first)
		_ = first.Close()
	}
}
