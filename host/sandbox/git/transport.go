package git

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"time"
)

const (
	maxHeaders    = 64 << 10 // bytes of an answer's header
	headerTimeout = 30 * time.Second
)

// NewTransport speaks to remotes, for a process that has a network. dial opens the connections; it decides
// which addresses may be reached. rootCAs are the authorities that the certificates of remotes are checked
// against; nil means the system's.
func NewTransport(dial func(ctx context.Context, network, address string) (net.Conn, error), rootCAs *x509.CertPool) *http.Transport {
	return &http.Transport{
		Proxy:                  nil, // whatever the environment says: it would dial for us
		DialContext:            dial,
		TLSClientConfig:        &tls.Config{RootCAs: rootCAs, MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout:    headerTimeout,
		ResponseHeaderTimeout:  headerTimeout,
		MaxResponseHeaderBytes: maxHeaders,
		ForceAttemptHTTP2:      true,
		// An operation's connections end with it: what was checked for one is not used for another.
		DisableKeepAlives: true,
	}
}
