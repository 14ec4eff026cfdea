// Package httpserver serves MCP over Streamable HTTP: it checks requests, keeps the sessions and streams of the legacy era, and
// writes what the gateway answers. Messages are handled by the gateway, as on stdio. It does not know plugins. Start with New and
// Server.Serve.
package httpserver

import (
	"cmp"
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/bulkhead-mcp/bulkhead/internal/protocol/bearer"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/call"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/gateway"
)

// Path is the path of the MCP endpoint.
const Path = "/mcp"

// PolicyHeader is the header of /readyz with a digest, by which servers that should be equal are compared.
const PolicyHeader = "Bulkhead-Policy"

// Defaults of a Config.
const (
	defaultSessionIdle    = 30 * time.Minute
	defaultMaxConnections = 1024
)

// Bounds that are not configurable.
const (
	maxHeader      = 64 << 10         // bytes of the header of a request, the request line included
	headerSlop     = 4 << 10          // bytes that an http.Server accepts beyond its MaxHeaderBytes
	headerTimeout  = 10 * time.Second // for the header of a request
	bodyTimeout    = 30 * time.Second // for its body, even if the request is refused
	writeTimeout   = 30 * time.Second // for a client to take what is written at once
	idleTimeout    = 2 * time.Minute  // of a connection without request
	streamAfter    = time.Second      // without an answer, after which the answer becomes a stream
	keepAlive      = 15 * time.Second // between comments on a stream without messages
	maxSessions    = 512
	maxStreams     = 256      // streams that stay open without a call: GET, and subscriptions/listen
	maxRequests    = 512      // requests that are handled at once
	maxKeptTotal   = 64 << 20 // bytes of messages that are kept
	minBodies      = 16 << 20 // bytes of requests that are handled, or of four requests if that is more
	retryAfter     = "1"      // seconds, of a response with status 503
	stopGrace      = 400 * time.Millisecond
	answerGrace    = 100 * time.Millisecond
	maxConcurrent  = 100       // requests of a connection of HTTP/2 at once
	maxReceived    = 256 << 10 // bytes of a connection of HTTP/2 that were received and not read
	sweepIntervals = 4         // in the time after which an idle session expires
)

// Config configures a Server. Gateway is required.
type Config struct {
	Gateway *gateway.Gateway
	// Auth authenticates the requests; nil: none needs a token, and each client is the local user.
	Auth Authenticator
	// Resource describes the server to clients of OAuth; nil: it accepts no tokens of issuers.
	Resource *Resource
	// View returns what a principal is offered at the endpoint of a project, /mcp/PROJECT; that of the server's own project, /mcp, if the project is
	// empty. It is nil if the principal is offered nothing. When the context admitted ends, the rules have changed by which principals are
	// offered views: streams that stay open end then. If the field is nil, there is only /mcp, with the Gateway's own view for everybody.
	View func(ctx context.Context, project string, p *call.Principal) (view *gateway.View, admitted context.Context, err error)
	// Hosts and Origins are accepted values of these headers, beside those of a loopback address.
	Hosts   []string // without port
	Origins []string
	MaxBody int64 // bytes; 0 means gateway.DefaultMaxLine

	SessionIdle    time.Duration // after which a session expires; 0 means defaultSessionIdle
	MaxConnections int           // 0 means defaultMaxConnections

	// Metrics offers the metrics of the server at MetricsPath; nil: there are none.
	Metrics Metrics
	// Policy returns a digest of the policy that is in force, which /readyz tells in the header PolicyHeader; empty: there is none. Nil: it does
	// not tell any.
	Policy func() string
	// Refused is called for requests without access, at a bounded rate; nil: it is not called.
	Refused func(Refusal)
	Log     hclog.Logger // nil: nothing is logged
}

// Authenticator decides about bearer tokens.
type Authenticator interface {
	// Authenticate returns what a token gives at an endpoint: empty for Path, "/NAME" for one below it. The error is a *bearer.Refused; nil
	// access without an error is a token that nothing is known of.
	Authenticate(ctx context.Context, token, endpoint string) (*bearer.Access, error)
}

// Server is an HTTP server for MCP clients.
type Server struct {
	config      Config
	log         hclog.Logger
	transport   *gateway.Transport
	sessions    sessions
	refusals    refusals
	connections *connections
	messages    budget        // of streams
	bodies      budget        // of requests that are handled
	requests    chan struct{} // a semaphore of requests that are handled
	streams     chan struct{} // a semaphore of streams that stay open without a call

	draining atomic.Bool
	stopping chan struct{} // closed when streams without calls have to end
	calls    context.Context
	stop     context.CancelCauseFunc

	mu      sync.Mutex
	running int           // exchanges that have not ended
	idle    chan struct{} // closed when running becomes 0 while draining; nil if nothing waits
}

// New returns a Server.
func New(c Config) *Server {
	c.MaxBody = cmp.Or(c.MaxBody, gateway.DefaultMaxLine)
	c.SessionIdle = cmp.Or(c.SessionIdle, defaultSessionIdle)
	c.MaxConnections = cmp.Or(c.MaxConnections, defaultMaxConnections)
	if c.Log == nil {
		c.Log = hclog.NewNullLogger()
	}
	s := &Server{
		config: c, log: c.Log,
		messages: budget{max: maxKeptTotal}, bodies: budget{max: max(minBodies, 4*c.MaxBody)},
		requests: make(chan struct{}, maxRequests), streams: make(chan struct{}, maxStreams),
		stopping: make(chan struct{}), connections: newConnections(c.MaxConnections),
	}
	s.calls, s.stop = context.WithCancelCause(context.Background())
	s.transport = c.Gateway.NewTransport(s.calls)
	s.sessions.init(s)
	return s
}

var (
	errStopped = errors.New("the server is shutting down")
	errRevoked = errors.New("the token of the request is not valid any more")
)

// Serve serves the connections of l, which it closes, until ctx ends. Then it refuses further requests, with status 503, while
// those in flight may continue for the duration that drain returns. After that it cancels them, and returns ctx's error at
// most 500 ms later.
func (s *Server) Serve(ctx context.Context, l net.Listener, drain func() time.Duration) error {
	defer s.stop(errStopped)
	defer s.reportRest()
	server := &http.Server{
		Handler:           s,
		ConnContext:       s.connections.context,
		ReadHeaderTimeout: headerTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeader - headerSlop,
		ConnState:         s.connections.changed,
		ErrorLog:          s.log.StandardLogger(&hclog.StandardLoggerOptions{ForceLevel: hclog.Debug}),
		Protocols:         new(http.Protocols),
		HTTP2: &http.HTTP2Config{
			MaxConcurrentStreams: maxConcurrent, MaxReceiveBufferPerConnection: maxReceived, MaxReceiveBufferPerStream: maxReceived,
			WriteByteTimeout: writeTimeout,
		},
	}
	server.Protocols.SetHTTP1(true)
	server.Protocols.SetHTTP2(true) // over TLS, if the listener's configuration offers it
	sweeping, stopSweeping := context.WithCancel(ctx)
	defer stopSweeping()
	go s.sessions.sweep(sweeping)
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(l) }()
	select {
	case err := <-failed:
		s.stop(errStopped)
		return err
	case <-ctx.Done():
	}
	if s.drain(drain()) {
		// The handlers have returned, and package http may still have to write their last answers.
		written, cancel := context.WithTimeout(context.Background(), answerGrace)
		defer cancel()
		_ = server.Shutdown(written) // an error means that a client does not read
	}
	_ = server.Close()
	return context.Cause(ctx)
}

// drain ends the requests in flight, and reports whether all have ended.
func (s *Server) drain(wait time.Duration) bool {
	s.draining.Store(true)
	close(s.stopping)
	idle, ended := s.whenIdle(), make(chan struct{})
	go func() {
		<-idle
		s.transport.WaitTasks() // which no request begins any more
		close(ended)
	}()
	if await(ended, wait) {
		return true
	}
	s.stop(errStopped)
	if !await(ended, stopGrace) {
		s.log.Warn("cancelled calls have not ended, or clients do not read their responses", "waited", stopGrace)
		return false
	}
	return true
}

// begin counts an exchange until done is called.
func (s *Server) begin() {
	s.mu.Lock()
	s.running++
	s.mu.Unlock()
}

func (s *Server) done() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running--; s.running == 0 && s.idle != nil {
		close(s.idle)
		s.idle = nil
	}
}

// whenIdle returns a channel that is closed when no exchange is running.
func (s *Server) whenIdle() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	idle := make(chan struct{})
	if s.running == 0 {
		close(idle)
	} else {
		s.idle = idle
	}
	return idle
}

// await waits until done is closed, and reports whether that happened within a duration.
func await(done <-chan struct{}, wait time.Duration) bool {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
		return false
	}
}
