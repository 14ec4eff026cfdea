package httpserver

import (
	"net/http"
	"sync"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/protocol/call"
)

// Refusal is a request without access to the server.
type Refusal struct {
	Code    string // one of the constants below
	Reason  string // in words of the server: no part of the request
	Address string // the IP address of the peer, which may be a proxy
	Method  string // of HTTP
	// Principal is the ID of the principal of the request; empty if it was not authenticated.
	Principal string
	// Further is the number of earlier refusals of which none was reported, because there were too many.
	Further int64
}

// Codes of a Refusal.
const (
	RefusedHost    = "http_host"    // the Host header is not allowed
	RefusedOrigin  = "http_origin"  // the Origin header is not allowed
	RefusedToken   = "http_token"   // the bearer token is missing or wrong, or cannot be checked
	RefusedScope   = "http_scope"   // the bearer token lacks a scope
	RefusedClient  = "http_client"  // no table of the config admits the principal
	RefusedProject = "http_project" // the project is unknown, or the principal may not use it
	RefusedQuota   = "http_quota"   // the principal has made too many requests
	RefusedSession = "http_session" // the session is unknown, or belongs to another principal
	RefusedMetrics = "http_metrics" // no table of the config lets the principal read the metrics
)

// refusedConnections counts connections that were ended because there were too many. They have no Refusal.
const refusedConnections = "http_connections"

// Rate limit of reported refusals. A client without a token can cause any number of them, which must not displace other records of the audit log.
const (
	refusalBurst  = 20
	refusalPeriod = 10 * time.Second
)

// fullInterval is the least time between two lines of the log about the same bound of the server: clients can repeat their requests at any rate.
const fullInterval = time.Minute

// refusals limits the rate of reports.
type refusals struct {
	mu       sync.Mutex
	full     map[string]time.Time // when a bound was logged last
	counts   map[string]int64     // of all refusals, by code
	used     int                  // reports of the burst that were made
	refilled time.Time
	further  int64
}

// admit counts a refusal, and reports whether it is reported, with the number of earlier ones that were not.
func (l *refusals) admit(code string, now time.Time) (further int64, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.counts == nil {
		l.counts = map[string]int64{}
	}
	l.counts[code]++
	if n := int64(now.Sub(l.refilled) / refusalPeriod); n > 0 {
		l.used, l.refilled = max(0, l.used-int(min(n, refusalBurst))), now
	}
	if l.used == refusalBurst {
		l.further++
		return 0, false
	}
	l.used++
	further, l.further = l.further, 0
	return further, true
}

// admitFull reports whether the log gets a line about a bound that is reached.
func (l *refusals) admitFull(bound string, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if last, ok := l.full[bound]; ok && now.Sub(last) < fullInterval {
		return false
	}
	if l.full == nil {
		l.full = map[string]time.Time{}
	}
	l.full[bound] = now
	return true
}

// report logs and reports that a request is refused. owner is nil if the request was not authenticated. args are further fields of the log line; none may be a secret.
func (s *Server) report(r *http.Request, code, why string, owner *call.Principal, args ...any) {
	further, ok := s.refusals.admit(code, time.Now())
	if !ok {
		return
	}
	address := addressOf(r)
	args = append([]any{"address", address, "method", shown(r.Method)}, args...)
	refusal := Refusal{Code: code, Reason: why, Address: address, Method: r.Method, Further: further}
	if owner != nil {
		refusal.Principal = owner.ID
		args = append(args, "principal", owner.ID)
	}
	if further > 0 {
		args = append(args, "further", further)
	}
	s.log.Warn("a request was refused: "+why, args...)
	if s.config.Refused != nil {
		s.config.Refused(refusal)
	}
}

// reportRest logs how many refusals were not reported.
func (s *Server) reportRest() {
	s.refusals.mu.Lock()
	defer s.refusals.mu.Unlock()
	if s.refusals.further > 0 {
		s.log.Warn("further requests were refused", "further", s.refusals.further)
	}
}
