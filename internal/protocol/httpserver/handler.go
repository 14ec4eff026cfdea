package httpserver

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/protocol/gateway"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !s.connections.setAnswering(r, true) {
		panic(http.ErrAbortHandler)
	}
	if c := s.counter(); c != nil {
		w = &countedAnswer{ResponseWriter: w, counter: c}
	}
	control, now := http.NewResponseController(w), time.Now()
	write := now.Add(writeTimeout)
	if r.ContentLength != 0 { // the server of package http reads a body before it sends a refusal
		_ = control.SetReadDeadline(now.Add(bodyTimeout))
		write = write.Add(bodyTimeout)
	}
	_ = control.SetWriteDeadline(write)
	if len(r.TransferEncoding) > 0 { // a proxy that takes a Content-Length instead finds a different end of the request
		w.Header().Set("Connection", "close")
	}
	switch r.URL.Path {
	case "/healthz":
		s.health(w, r, true)
	case "/readyz":
		if s.config.Policy != nil {
			if digest := s.config.Policy(); digest != "" {
				w.Header().Set(PolicyHeader, digest)
			}
		}
		s.health(w, r, !s.draining.Load())
	case Path:
		s.endpoint(w, r, "")
	case MetricsPath:
		s.metrics(w, r)
	default:
		if endpoint, ok := s.config.Resource.endpointOf(r.URL.Path); ok {
			if !s.allowPage(w, r) {
				s.config.Resource.metadata(w, r, endpoint)
			}
			return
		}
		if project, ok := strings.CutPrefix(r.URL.Path, Path+"/"); ok && isEndpointName(project) && s.config.View != nil {
			s.endpoint(w, r, project)
			return
		}
		refuse(w, http.StatusNotFound, "the MCP endpoint is "+Path)
	}
}

// health answers a health check, which needs no token and reveals nothing but PolicyHeader.
func (s *Server) health(w http.ResponseWriter, r *http.Request, ok bool) {
	w.Header().Set("Cache-Control", "no-store")
	switch {
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		w.Header().Set("Allow", "GET, HEAD")
		refuse(w, http.StatusMethodNotAllowed, "the method must be GET")
	case ok:
		writeText(w, http.StatusOK, "ok")
	default:
		w.Header().Set("Retry-After", retryAfter)
		writeText(w, http.StatusServiceUnavailable, "shutting down")
	}
}

// endpoint handles a request to the MCP endpoint of a project; empty: the server's own. A client without access gets only the refusal.
func (s *Server) endpoint(w http.ResponseWriter, r *http.Request, project string) {
	if !s.admits(w, r) || s.allowPage(w, r) {
		return
	}
	by := access{Access: s.accessOf(w, r, project)}
	if by.Access == nil {
		return
	}
	if by.view, by.admitted = s.viewOf(w, r, project, by.Principal); by.view == nil {
		return
	}
	switch r.Method {
	case http.MethodPost:
		s.post(w, r, by)
	case http.MethodGet:
		s.get(w, r, by)
	case http.MethodDelete:
		s.delete(w, r, by)
	default:
		w.Header().Set("Allow", "POST, GET, DELETE")
		refuse(w, http.StatusMethodNotAllowed, "the method must be POST, GET or DELETE")
	}
}

// admits reports whether the host and the origin of a request are allowed. If not, it answers with an error.
func (s *Server) admits(w http.ResponseWriter, r *http.Request) bool {
	loopback := isLoopbackConnection(r)
	switch {
	case !s.allowsHost(r.Host, loopback):
		s.report(r, RefusedHost, "its Host header is not allowed", nil, "host", shown(r.Host))
		status := http.StatusForbidden
		if r.ProtoMajor == 2 { // the client may have used a connection to another host with the same address and certificate
			status = http.StatusMisdirectedRequest
		}
		refuse(w, status, "the Host header is not allowed: add the host to hosts in [http]")
		return false
	case !s.allowsOrigin(r.Header["Origin"], loopback):
		s.report(r, RefusedOrigin, "its Origin header is not allowed", nil, "origin", shown(r.Header.Get("Origin")))
		refuse(w, http.StatusForbidden, "the Origin header is not allowed: add the origin to origins in [http]")
		return false
	}
	return true
}

// isLoopbackConnection reports whether a request was sent to a loopback address, so that it comes from this machine.
func isLoopbackConnection(r *http.Request) bool {
	local, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if local == nil {
		return false
	}
	at, err := netip.ParseAddrPort(local.String())
	return err == nil && at.Addr().Unmap().IsLoopback()
}

// allowsHost checks the Host header, so that a web site cannot make a browser send requests here by resolving its name to
// this machine's address. Addresses cannot be resolved to others, so that they are accepted beyond loopback.
func (s *Server) allowsHost(header string, loopback bool) bool {
	host := hostOf(header)
	if slices.ContainsFunc(s.config.Hosts, func(allowed string) bool { return strings.EqualFold(allowed, host) }) {
		return true
	}
	address, err := netip.ParseAddr(host)
	if loopback {
		return strings.EqualFold(host, "localhost") || err == nil && address.Unmap().IsLoopback()
	}
	return err == nil
}

// allowsOrigin checks the Origin header, which browsers send. Pages of this machine may use a loopback address.
func (s *Server) allowsOrigin(values []string, loopback bool) bool {
	switch {
	case len(values) == 0:
		return true
	case len(values) > 1:
		return false
	case slices.ContainsFunc(s.config.Origins, func(allowed string) bool { return strings.EqualFold(allowed, values[0]) }):
		return true
	case !loopback:
		return false
	}
	origin, err := url.Parse(values[0])
	if err != nil || origin.Scheme != "http" && origin.Scheme != "https" || origin.User != nil {
		return false
	}
	address, err := netip.ParseAddr(origin.Hostname())
	return strings.EqualFold(origin.Hostname(), "localhost") || err == nil && address.Unmap().IsLoopback()
}

// hostOf returns the host of a Host header without port and brackets.
func hostOf(header string) string {
	host, port, err := net.SplitHostPort(header)
	if err != nil {
		host, port = header, ""
	}
	if _, err := strconv.ParseUint(port, 10, 16); port != "" && err != nil {
		return ""
	}
	if inner, ok := strings.CutPrefix(host, "["); ok {
		host, _ = strings.CutSuffix(inner, "]")
	}
	return host
}

// accepts reports whether the Accept header of a request admits a media type. The most specific range that includes it counts.
func accepts(h http.Header, want string) bool {
	values := h["Accept"]
	if len(values) == 0 {
		return true
	}
	kind, _, _ := strings.Cut(want, "/")
	ranges := []string{"*/*", kind + "/*", want}
	best, accepted := -1, false
	for _, value := range values {
		for item := range strings.SplitSeq(value, ",") {
			name, parameters, _ := strings.Cut(item, ";")
			if i := slices.Index(ranges, strings.ToLower(strings.TrimSpace(name))); i >= 0 && i >= best {
				accepted = !isZeroQuality(parameters) || i == best && accepted
				best = i
			}
		}
	}
	return accepted
}

func isZeroQuality(parameters string) bool {
	for p := range strings.SplitSeq(parameters, ";") {
		if value, ok := strings.CutPrefix(strings.ToLower(strings.TrimSpace(p)), "q="); ok {
			q, err := strconv.ParseFloat(value, 64)
			return err == nil && q == 0
		}
	}
	return false
}

// refuse answers with an error that has no id.
func refuse(w http.ResponseWriter, status int, why string) {
	writeJSON(w, status, gateway.Response{Err: &abi.Error{Code: codeOf(status), Message: why}})
}

// codeOf returns the JSON-RPC code for a request that is refused because of its HTTP method, headers or size.
func codeOf(status int) int {
	if status >= http.StatusInternalServerError {
		return codeServerError
	}
	return codeInvalidRequest
}

// refuseFull answers that the server has reached a bound, and logs it at a bounded rate.
func (s *Server) refuseFull(w http.ResponseWriter, id []byte, why string) {
	if s.refusals.admitFull(why, time.Now()) {
		s.log.Warn("requests are refused: " + why)
	}
	refuseBusy(w, id, why)
}

// refuseBusy answers that the request can be repeated later.
func refuseBusy(w http.ResponseWriter, id []byte, why string) {
	w.Header().Set("Retry-After", retryAfter)
	writeJSON(w, http.StatusServiceUnavailable, gateway.Response{ID: id, Err: &abi.Error{Code: codeServerError, Message: why}})
}

func writeText(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(text + "\n"))
}
