package httpserver

import (
	"maps"
	"net/http"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/protocol/call"
)

// MetricsPath is the path of the metrics.
const MetricsPath = "/metrics"

// Metrics is the page of metrics, which only some principals may read.
type Metrics interface {
	http.Handler
	// Offered reports whether there is a page. If not, the answer says what offers one.
	Offered() bool
	// MayRead reports whether a principal may read the page.
	MayRead(p *call.Principal) bool
	// Counter returns what counts for the page; nil: nothing is counted.
	Counter() Counter
}

// Counter counts what a Server does.
type Counter interface {
	Answered(status int)
	SessionEnded(version string, took time.Duration)
}

// counter returns what counts now; nil: nothing is counted.
func (s *Server) counter() Counter {
	if s.config.Metrics == nil {
		return nil
	}
	return s.config.Metrics.Counter()
}

// countedAnswer is a ResponseWriter whose status is counted.
type countedAnswer struct {
	http.ResponseWriter
	counter Counter
	done    bool
}

// WriteHeader implements http.ResponseWriter.
func (a *countedAnswer) WriteHeader(status int) {
	if !a.done {
		a.done = true
		a.counter.Answered(status)
	}
	a.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (a *countedAnswer) Write(data []byte) (int, error) {
	if !a.done {
		a.WriteHeader(http.StatusOK)
	}
	return a.ResponseWriter.Write(data)
}

// FlushError is for http.ResponseController. It sends the header of a stream, before its first event.
func (a *countedAnswer) FlushError() error {
	if !a.done {
		a.WriteHeader(http.StatusOK)
	}
	return http.NewResponseController(a.ResponseWriter).Flush()
}

// Unwrap is for http.ResponseController.
func (a *countedAnswer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// metrics answers a request for the metrics.
func (s *Server) metrics(w http.ResponseWriter, r *http.Request) {
	page := s.config.Metrics
	if page == nil || !page.Offered() {
		refuse(w, http.StatusNotFound, `no metrics are offered here: metrics = "http" in [audit] of the config does that`)
		return
	}
	if !s.admits(w, r) {
		return
	}
	by := s.accessOf(w, r, "")
	if by == nil {
		return
	}
	if !page.MayRead(by.Principal) {
		s.report(r, RefusedMetrics, "its principal may not read metrics", by.Principal)
		refuse(w, http.StatusForbidden, "the metrics are not for this client: set metrics = true in its table of [[clients]]")
		return
	}
	page.ServeHTTP(w, r)
}

// Stats is what a Server handles at a time.
type Stats struct {
	Sessions, Connections int
	Requests, Streams     int              // that are handled, and that stay open without a call
	KeptBytes             int64            // of messages that are kept for clients
	Draining              bool             // whether the server shuts down
	Refused               map[string]int64 // requests without access so far, by the codes of a Refusal, and connections that were ended for others
}

// Stats returns what the Server handles now.
func (s *Server) Stats() Stats {
	now := Stats{Requests: len(s.requests), Streams: len(s.streams), KeptBytes: s.messages.used.Load(), Draining: s.draining.Load()}
	s.sessions.mu.Lock()
	now.Sessions = len(s.sessions.byID)
	s.sessions.mu.Unlock()
	s.connections.mu.Lock()
	now.Connections = len(s.connections.all)
	ended := s.connections.ended
	s.connections.mu.Unlock()
	s.refusals.mu.Lock()
	now.Refused = maps.Clone(s.refusals.counts)
	s.refusals.mu.Unlock()
	if ended > 0 {
		if now.Refused == nil {
			now.Refused = map[string]int64{}
		}
		now.Refused[refusedConnections] = ended
	}
	return now
}
