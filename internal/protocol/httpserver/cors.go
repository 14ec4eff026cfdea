package httpserver

import (
	"net/http"
	"slices"
	"strings"
)

// Headers of requests that pages may send, and of answers that they may read, beside those that all pages may.
var pageHeaders = []string{"accept", "authorization", "content-type", "last-event-id", "mcp-method", "mcp-name", "mcp-protocol-version", "mcp-session-id", "traceparent", "tracestate"}

const (
	paramHeaders    = "mcp-param-" // the prefix of those of parameters
	readableHeaders = "Mcp-Session-Id, WWW-Authenticate, Retry-After"
)

// maxPageHeaders bounds the headers that a page can ask for.
const maxPageHeaders = 64

// allowPage has the browser give the answer to a page whose origin is configured. Cookies are not used, and so not allowed. If the request
// is a preflight, which has no token, it answers it and returns true.
func (s *Server) allowPage(w http.ResponseWriter, r *http.Request) (answered bool) {
	if len(s.config.Origins) == 0 {
		return false
	}
	h := w.Header()
	h.Add("Vary", "Origin")
	origins := r.Header["Origin"]
	if len(origins) != 1 || !slices.ContainsFunc(s.config.Origins, func(allowed string) bool { return strings.EqualFold(allowed, origins[0]) }) {
		return false
	}
	h.Set("Access-Control-Allow-Origin", origins[0])
	h.Set("Access-Control-Expose-Headers", readableHeaders)
	if r.Method != http.MethodOptions || r.Header.Get("Access-Control-Request-Method") == "" {
		return false
	}
	h.Set("Access-Control-Allow-Methods", "POST, GET, DELETE")
	h.Set("Access-Control-Allow-Headers", strings.Join(allowedHeaders(r.Header["Access-Control-Request-Headers"]), ", "))
	h.Set("Access-Control-Max-Age", "600")
	w.WriteHeader(http.StatusNoContent)
	return true
}

// allowedHeaders returns those of the requested headers that pages may send.
func allowedHeaders(requested []string) (allowed []string) {
	for _, line := range requested {
		for name := range strings.SplitSeq(line, ",") {
			name = strings.ToLower(strings.TrimSpace(name))
			parameter, isParam := strings.CutPrefix(name, paramHeaders)
			if len(allowed) < maxPageHeaders && (slices.Contains(pageHeaders, name) || isParam && isEndpointName(parameter)) {
				allowed = append(allowed, name)
			}
		}
	}
	return allowed
}
