package httpserver

import (
	"container/list"
	"net"
	"net/http"
	"sync"
)

// connections bounds the connections of a server. Beyond the bound, the connection that has been without a request for the
// longest time is closed, so that idle connections cannot keep clients out.
type connections struct {
	max int

	mu   sync.Mutex
	all  map[net.Conn]*list.Element // the element is nil while the connection has a request
	idle list.List                  // of net.Conn, longest first
}

func newConnections(max int) *connections {
	return &connections{max: max, all: make(map[net.Conn]*list.Element)}
}

// changed is the ConnState of an http.Server.
func (c *connections) changed(conn net.Conn, state http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.all[conn]; e != nil {
		c.idle.Remove(e)
	}
	switch state {
	case http.StateNew, http.StateIdle:
		c.all[conn] = c.idle.PushBack(conn)
	case http.StateActive:
		c.all[conn] = nil
	case http.StateHijacked, http.StateClosed:
		delete(c.all, conn)
	}
	for len(c.all) > c.max && c.idle.Len() > 0 {
		first := c.idle.Remove(c.idle.Front()).(net.Conn)
		delete(c.all, first)
		_ = first.Close()
	}
}
