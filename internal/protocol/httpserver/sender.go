package httpserver

import (
	"net"
	"net/http"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/protocol/call"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/tracecontext"
)

// Headers of W3C Trace Context, in the canonical form of package http.
const (
	headerTraceparent = "Traceparent"
	headerTracestate  = "Tracestate"
)

// senderOf describes who has sent a request. session names its session; empty: it belongs to none. The value is kept as long as the call, so that
// its size is bounded.
func senderOf(r *http.Request, session string) call.Sender {
	sender := call.Sender{Address: addressOf(r), Session: session}
	if parents := r.Header[headerTraceparent]; len(parents) == 1 && len(parents[0]) <= tracecontext.MaxParent { // several are invalid
		sender.Traceparent, sender.Tracestate = parents[0], joined(r.Header[headerTracestate], tracecontext.MaxState)
	}
	return sender
}

// joined returns the values of a list that a request may spread over several headers; empty if they are longer than limit.
func joined(values []string, limit int) string {
	size := len(values)
	for _, v := range values {
		size += len(v)
	}
	if size > limit+1 { // of the n values n-1 are preceded by a comma
		return ""
	}
	return strings.Join(values, ",")
}

// addressOf returns the IP address of the peer.
func addressOf(r *http.Request) string {
	address, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return address
}
