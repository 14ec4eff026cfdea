package httpserver

import (
	"container/list"
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"sync"
)

// connections bounds the connections of a server. Beyond the bound, the connection that has been idle for the longest time is
// closed. A connection is idle until its request has arrived completely and is authorized, so that clients that send slowly, or
// have no token, cannot keep others out. The number of other connections is bounded by the requests and streams of the server.
type connections struct {
	max int

	mu   sync.Mutex
	all  map[net.Conn]*list.Element // the element is nil if the connection is not idle
	idle list.List                  // has the idle connections (net.Conn), longest first
}

func newConnections(max int) *connections {
	return &connections{max: max, all: make(map[net.Conn]*list.Element)}
}

type connectionKey struct{}

// context is the ConnContext of an http.Server.
func (c *connections) context(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, connectionKey{}, conn)
}

// setBusy states that the connection of a request is not idle until the request is answered.
func (c *connections) setBusy(r *http.Request) {
	conn, ok := r.Context().Value(connectionKey{}).(net.Conn)
	if !ok {
		return
	}
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
		if encrypted, ok := first.(*tls.Conn); ok {
			first = encrypted.NetConn() // closing the other one would wait for a client that does not read
		}
		_ = first.Close()
	}
}
