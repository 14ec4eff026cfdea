package metrics

import (
	"errors"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"
	"golang.org/x/net/netutil"

	"github.com/bulkhead-mcp/bulkhead/internal/base/socket"
)

// Bounds of a listener, and of requests.
const (
	maxConnections = 32
	headerTimeout  = 5 * time.Second
	writeTimeout   = 10 * time.Second
	maxHeader      = 16 << 10
)

// ServeHTTP implements http.Handler. It answers with the page, whatever the path.
func (m *Metrics) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "the method must be GET", http.StatusMethodNotAllowed)
		return
	}
	text := m.text(time.Now())
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeTimeout)) // not every server has one
	w.Header().Set("Content-Type", ContentType)
	w.Header().Set("Content-Length", strconv.Itoa(len(text)))
	_, _ = w.Write(text) // an error means that the client has gone
}

// Server offers metrics at a listener of their own.
type Server struct {
	server   http.Server
	listener net.Listener
}

// unixPrefix begins the address of a socket.
const unixPrefix = "unix:"

// Listen returns a Server at address: a loopback address with port, or "unix:" and the path of a socket. Serve must be called.
func Listen(address string) (*Server, error) {
	var l net.Listener
	var err error
	if path, isSocket := strings.CutPrefix(address, unixPrefix); isSocket {
		l, err = socket.Listen(path)
	} else {
		l, err = net.Listen("tcp", address)
	}
	if err != nil {
		return nil, err
	}
	return &Server{listener: netutil.LimitListener(l, maxConnections)}, nil
}

// Addr returns the address that the Server listens on.
func (s *Server) Addr() net.Addr { return s.listener.Addr() }

// Serve offers m until Close is called.
func (s *Server) Serve(m *Metrics, log hclog.Logger) {
	s.server.Handler = local(m)
	s.server.ReadHeaderTimeout, s.server.ReadTimeout, s.server.WriteTimeout, s.server.IdleTimeout = headerTimeout, headerTimeout, writeTimeout, headerTimeout
	s.server.MaxHeaderBytes = maxHeader
	s.server.ErrorLog = log.StandardLogger(&hclog.StandardLoggerOptions{ForceLevel: hclog.Debug})
	go func() {
		if err := s.server.Serve(s.listener); !errors.Is(err, http.ErrServerClosed) {
			log.Error("metrics cannot be read any more", "reason", err)
		}
	}()
}

// Close ends the Server and its connections. It can be called without Serve.
func (s *Server) Close() {
	_ = s.server.Close()
	_ = s.listener.Close()
}

// local answers only requests for the page by programs of this machine. A web page in a browser of this machine has an Origin, or reaches
// the listener by another name than that of a loopback address.
func local(m *Metrics) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case !isLocal(r):
			http.Error(w, "the Host or Origin header is not that of a program of this machine", http.StatusForbidden)
		case r.URL.Path != "/metrics":
			http.Error(w, "the metrics are at /metrics", http.StatusNotFound)
		default:
			m.ServeHTTP(w, r)
		}
	})
}

func isLocal(r *http.Request) bool {
	if len(r.Header["Origin"]) > 0 || r.Header.Get("Sec-Fetch-Site") == "cross-site" {
		return false
	}
	if at, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr); at != nil && at.Network() == "unix" {
		return true // no browser connects to it
	}
	host, _, err := net.SplitHostPort(r.Host)
	if err != nil {
		host = strings.Trim(r.Host, "[]")
	}
	address, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || err == nil && address.Unmap().IsLoopback()
}
