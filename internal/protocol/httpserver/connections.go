package httpserver

import (
	"container/list"
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/protocol/gateway"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// connections bounds the connections of a server. Beyond the bound, the connection that has been idle for the longest time is
// closed; if its request may be arriving, it is answered with status 503 first. A connection is idle until its request has arrived
// completely and is authorized, so that clients that send slowly, or have no token, cannot keep others out. The number of other
// connections is bounded by the requests and streams of the server.
type connections struct {
	max       int
	refusals  chan struct{} // a semaphore of connections that are being refused
	refuseFor time.Duration // how long a client may take to read the refusal

	mu     sync.Mutex
	all    map[net.Conn]*connection
	idle   list.List                  // has the idle connections (net.Conn), longest first
	closed map[net.Conn]chan struct{} // closed when the server has closed a connection that is being refused
	ended  int64                      // number of connections that were ended because there were too many
}

type connection struct {
	state     http.ConnState
	answering bool          // whether the answer to its request may be being written
	idle      *list.Element // nil: it is not idle
}

const (
	maxRefusals = 256                    // connections that are refused with an answer at a time; further ones are closed at once
	refuseFor   = 500 * time.Millisecond // after which a refused connection is closed
)

// refusal is the answer to a request of a connection beyond the bound.
var refusal = func() []byte {
	body := gateway.Response{Err: &abi.Error{Code: codeServerError, Message: "the server has too many connections"}}.Encode()
	size := 0
	for _, part := range body {
		size += len(part)
	}
	answer := fmt.Appendf(nil, "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nRetry-After: %s\r\nConnection: close\r\nContent-Length: %d\r\n\r\n", retryAfter, size)
	for _, part := range body {
		answer = append(answer, part...)
	}
	return answer
}()

func newConnections(max int) *connections {
	return &connections{
		max: max, refusals: make(chan struct{}, maxRefusals), refuseFor: refuseFor,
		all: make(map[net.Conn]*connection), closed: make(map[net.Conn]chan struct{}),
	}
}

type connectionKey struct{}

// context is the ConnContext of an http.Server.
func (c *connections) context(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, connectionKey{}, conn)
}

// of returns the connection of a request; nil if the server has none, or is refusing it. The caller holds c.mu.
func (c *connections) of(r *http.Request) (has *connection, counted bool) {
	conn, ok := r.Context().Value(connectionKey{}).(net.Conn)
	return c.all[conn], ok
}

// setBusy states that the connection of a request is not idle until the request is answered. It returns false if the connection was ended
// meanwhile: then the handler must not answer, and the request must have no effect, since its client has been told that the server has too
// many connections.
func (c *connections) setBusy(r *http.Request) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	has, counted := c.of(r)
	if has == nil {
		return !counted
	}
	if has.idle != nil {
		c.idle.Remove(has.idle)
		has.idle = nil
	}
	return true
}

// setAnswering states whether the handler of a request may write its answer, as opposed to waiting for the body. Its result is that of
// setBusy.
func (c *connections) setAnswering(r *http.Request, answering bool) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	has, counted := c.of(r)
	if has == nil {
		return !counted
	}
	has.answering = answering
	return true
}

// changed is the ConnState of an http.Server.
func (c *connections) changed(conn net.Conn, state http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	has := c.all[conn]
	switch {
	case state == http.StateClosed || state == http.StateHijacked:
		if has != nil && has.idle != nil {
			c.idle.Remove(has.idle)
		}
		delete(c.all, conn)
		if closed := c.closed[conn]; closed != nil {
			delete(c.closed, conn)
			close(closed)
		}
		return
	case has == nil && state != http.StateNew: // it is being refused
		return
	case has == nil:
		has = &connection{}
		c.all[conn] = has
	}
	has.state, has.answering = state, false
	if state == http.StateActive {
		return // the request may take long to arrive
	}
	if has.idle != nil {
		c.idle.Remove(has.idle)
	}
	has.idle = c.idle.PushBack(conn)
	for len(c.all) > c.max && c.idle.Len() > 0 {
		first := c.idle.Remove(c.idle.Front()).(net.Conn)
		ended := c.all[first]
		delete(c.all, first)
		c.ended++
		c.end(first, ended)
	}
}

// end closes a connection. If a request may be arriving, it answers the request, unless there are too many of them. The caller
// holds c.mu.
func (c *connections) end(conn net.Conn, has *connection) {
	raw := conn
	if encrypted, ok := conn.(*tls.Conn); ok {
		raw = encrypted.NetConn() // closing the other one would wait for a client that does not read
	}
	isHTTP2 := raw != conn && has.state == http.StateActive && conn.(*tls.Conn).ConnectionState().NegotiatedProtocol == "h2" // which has no such answer
	if isHTTP2 || has.answering || has.state == http.StateIdle || has.state == http.StateNew && raw != conn {                // the handshake of the latter may not be complete
		_ = raw.Close()
		return
	}
	select {
	case c.refusals <- struct{}{}:
	default:
		_ = raw.Close()
		return
	}
	closed := make(chan struct{})
	c.closed[conn] = closed
	go func() {
		defer func() { <-c.refusals }()
		timer := time.NewTimer(c.refuseFor)
		defer timer.Stop()
		defer raw.Close()
		_ = conn.SetWriteDeadline(time.Now().Add(c.refuseFor))
		if _, err := conn.Write(refusal); err != nil {
			return
		}
		// Closing the connection while a part of the request is unread would reset it, and the client would lose the answer. The handler
		// of the request reads on until the client, which has the answer, closes the connection.
		if half, ok := conn.(interface{ CloseWrite() error }); !ok || half.CloseWrite() != nil {
			return
		}
		select {
		case <-closed:
		case <-timer.C:
		}
	}()
}
