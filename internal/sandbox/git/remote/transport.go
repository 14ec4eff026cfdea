package remote

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"time"
)

const (
	maxHeaders    = 64 << 10 // most bytes of a response's header
	headerTimeout = 30 * time.Second
)

// NewTransport returns a transport for a process that has a network. dial opens the connections and decides which addresses may be reached.
// rootCAs verify the certificates of remotes; if it is nil, the system's certificates do.
func NewTransport(dial func(ctx context.Context, network, address string) (net.Conn, error), rootCAs *x509.CertPool) *http.Transport {
	return &http.Transport{
		Proxy:                  nil, // a proxy from the environment would bypass the checks of dial
		DialContext:            dial,
		TLSClientConfig:        &tls.Config{RootCAs: rootCAs, MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout:    headerTimeout,
		ResponseHeaderTimeout:  headerTimeout,
		MaxResponseHeaderBytes: maxHeaders,
		ForceAttemptHTTP2:      true,
		// Connections are not reused: dial authorizes a connection for one operation only.
		DisableKeepAlives: true,
	}
}

// noTransport fails every request.
type noTransport struct{}

func (noTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.Body != nil {
		_ = request.Body.Close()
	}
	return nil, errors.New("this host has no network access to remotes")
}
