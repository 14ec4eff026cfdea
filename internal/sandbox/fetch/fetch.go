// Package fetch implements the host operation http/fetch: a module sends a request to a web server whose origin the
// admin has granted. Start with New; Fetch is the operation.
//
// Modules and servers are untrusted. An origin is granted by scheme, host and port, or as part of the public web (Config.PublicWeb),
// and is checked for the request and each redirect; a redirect to another origin carries nothing of the request but the URL (see redirect.go). The addresses
// of a host must be public unless the grant is private; package dial connects to exactly the address that was checked. A
// grant's credential is added to requests to its own origin only, and never appears in an error, log line or record. There
// is no proxy, cookie or cache, and plugins share no connections: a Fetcher belongs to one plugin.
package fetch

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/bulkhead-mcp/bulkhead/internal/base/origin"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/dial"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// Defaults of Limits.
const (
	defaultRequestBody  = 8 << 20
	defaultResponseBody = 8 << 20
	defaultTime         = 30 * time.Second
	defaultConcurrent   = 4
)

// Fixed limits.
const (
	maxURL             = 8 << 10  // bytes
	maxRequestHeaders  = 100      // values
	maxRequestHeader   = 32 << 10 // bytes of all names and values
	maxResponseHeaders = 200      // values
	maxResponseHeader  = 64 << 10 // bytes
	idleTime           = 30 * time.Second
	handshakeTime      = 10 * time.Second
)

// Config configures a Fetcher: which origins it may reach, and how.
type Config struct {
	// Grants are the granted origins, without duplicates. If there are none, and PublicWeb is not set, every request is denied.
	Grants []Grant
	// PublicWeb permits requests to every origin with its scheme's default port, if the host has public addresses only. A grant of an
	// origin takes precedence for that origin.
	PublicWeb bool
	Limits    Limits
	// Dial configures how hosts are resolved and reached. Its Private and Log are ignored: the grants and Config.Log
	// apply.
	Dial dial.Config
	// RootCAs verify the certificates of servers; nil means the system's.
	RootCAs *x509.CertPool
	// Log receives refusals; nil means that nothing is logged.
	Log hclog.Logger
	// Audit receives a record of every request that is sent or refused; nil means that no records are kept. It must be
	// safe for concurrent use.
	Audit func(context.Context, Record)
}

// Grant permits requests to an origin.
type Grant struct {
	Origin origin.Origin
	// Private permits loopback, private and link-local addresses, and a cloud metadata address if it is itself the
	// origin's host.
	Private bool
	// Credential is added to every request to the origin; nil means none. For http it is refused unless the grant is
	// private.
	Credential *Credential
}

// Credential is a header that the host adds and a module never sees.
type Credential struct {
	Header string
	// Value returns the header's value. It is called for each request, so that a changed secret takes effect, and must be
	// safe for concurrent use. Its error is logged and must not contain the secret.
	Value func(context.Context) (string, error)
}

// Limits bound one plugin's requests. Zero means the default.
type Limits struct {
	RequestBody  int64         // maximum size in bytes; default defaultRequestBody
	ResponseBody int64         // maximum size in bytes after decompression; default defaultResponseBody
	Time         time.Duration // maximum duration of an operation, including redirects and queueing; default defaultTime
	Concurrent   int           // maximum number of operations in flight, beyond which operations wait; default defaultConcurrent
}

// Fetcher performs the requests of one plugin. It is safe for concurrent use.
type Fetcher struct {
	grants    map[origin.Origin]Grant
	publicWeb bool
	limits    Limits
	transport *http.Transport
	slots     chan struct{} // semaphore of Limits.Concurrent
	log       hclog.Logger
	audit     func(context.Context, Record)
}

// New validates the grants; it does not connect. The caller closes the Fetcher.
func New(c Config) (*Fetcher, error) {
	limits, err := c.Limits.complete()
	if err != nil {
		return nil, err
	}
	if c.Log == nil {
		c.Log = hclog.NewNullLogger()
	}
	if c.Audit == nil {
		c.Audit = func(context.Context, Record) {}
	}
	f := &Fetcher{
		grants:    map[origin.Origin]Grant{},
		publicWeb: c.PublicWeb,
		limits:    limits,
		slots:     make(chan struct{}, limits.Concurrent),
		log:       c.Log,
		audit:     c.Audit,
	}
	for _, g := range c.Grants {
		if err := g.check(); err != nil {
			return nil, fmt.Errorf("grant of %s: %w", g.Origin, err)
		}
		if _, duplicate := f.grants[g.Origin]; duplicate {
			return nil, fmt.Errorf("grant of %s: the origin is granted twice", g.Origin)
		}
		f.grants[g.Origin] = g
	}
	c.Dial.Private, c.Dial.Log = f.private, c.Log
	f.transport = transport(dial.New(c.Dial), c.RootCAs, limits)
	return f, nil
}

// transport returns the transport of one plugin. Unlike http.DefaultTransport it uses no proxy, which would bypass the
// dialer's checks.
func transport(d *dial.Dialer, roots *x509.CertPool, limits Limits) *http.Transport {
	return &http.Transport{
		DialContext:            d.DialContext,
		TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots},
		TLSHandshakeTimeout:    handshakeTime,
		ForceAttemptHTTP2:      true, // a custom dialer disables it otherwise
		MaxResponseHeaderBytes: maxResponseHeader,
		MaxIdleConns:           limits.Concurrent,
		MaxConnsPerHost:        limits.Concurrent, // includes dials of requests that have ended
		IdleConnTimeout:        idleTime,
	}
}

// Close closes idle connections; requests in flight continue.
func (f *Fetcher) Close() { f.transport.CloseIdleConnections() }

// grant returns the grant that permits requests to o. A host and port that are granted as private, by the other scheme, are not part of
// the public web: the dialer, which does not know the scheme, would connect to a private address.
func (f *Fetcher) grant(o origin.Origin) (Grant, bool) {
	if g, ok := f.grants[o]; ok {
		return g, true
	}
	return Grant{Origin: o}, f.publicWeb && o.OnDefaultPort() && !f.private(o.Host, o.Port)
}

// private implements dial.Config.Private. The dialer does not know the scheme, so a private grant of http or https on the
// port suffices: both are grants of the same listener.
func (f *Fetcher) private(host string, port uint16) bool {
	for _, scheme := range []string{"http", "https"} {
		if f.grants[origin.Origin{Scheme: scheme, Host: host, Port: port}].Private {
			return true
		}
	}
	return false
}

func (l Limits) complete() (Limits, error) {
	if l.RequestBody < 0 || l.ResponseBody < 0 || l.Time < 0 || l.Concurrent < 0 {
		return Limits{}, errors.New("http: a limit is negative")
	}
	return Limits{
		RequestBody:  cmp.Or(l.RequestBody, defaultRequestBody),
		ResponseBody: cmp.Or(l.ResponseBody, defaultResponseBody),
		Time:         cmp.Or(l.Time, defaultTime),
		Concurrent:   cmp.Or(l.Concurrent, defaultConcurrent),
	}, nil
}

func (g Grant) check() error {
	if again, err := origin.Parse(g.Origin.String()); err != nil || again != g.Origin {
		return errors.New("the origin is not in canonical form")
	}
	c := g.Credential
	switch {
	case c == nil:
		return nil
	case c.Value == nil:
		return errors.New("the credential has no value")
	case g.Origin.Scheme != "https" && !g.Private:
		return errors.New("a credential would cross the network unencrypted: use https")
	}
	return checkHeader(c.Header)
}

// Fetch sends a request and follows redirects. The error is an *abi.HostError (HostInvalid for a malformed request,
// HostDenied for one that is not granted, HostFailed for one that did not succeed) or that of ctx.
func (f *Fetcher) Fetch(ctx context.Context, q abi.HTTPRequest) (abi.HTTPResponse, error) {
	first, err := f.check(q)
	if err != nil {
		return abi.HTTPResponse{}, err
	}
	limit := f.limits.Time
	if q.TimeoutMS > 0 && q.TimeoutMS < limit.Milliseconds() {
		limit = time.Duration(q.TimeoutMS) * time.Millisecond
	}
	timed, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	response, err := f.follow(timed, first, q.Redirect == abi.RedirectManual)
	switch {
	case err == nil:
		return response, nil
	case ctx.Err() != nil:
		return abi.HTTPResponse{}, ctx.Err()
	case timed.Err() != nil:
		return abi.HTTPResponse{}, failed("%s: no response within %v", first.origin, limit)
	}
	return abi.HTTPResponse{}, err
}

// follow waits for a slot, and follows redirects.
func (f *Fetcher) follow(ctx context.Context, h hop, manual bool) (abi.HTTPResponse, error) {
	select {
	case f.slots <- struct{}{}:
		defer func() { <-f.slots }()
	case <-ctx.Done():
		return abi.HTTPResponse{}, ctx.Err()
	}
	for range maxRedirects + 1 {
		response, location, err := f.exchange(ctx, h, manual)
		if err != nil || location == "" {
			return response, err
		}
		next, err := f.redirected(h, response.Status, location)
		if err != nil {
			f.record(ctx, Record{Method: h.method, Target: h.target(), Status: response.Status}, err)
			return abi.HTTPResponse{}, err
		}
		h = next
	}
	return abi.HTTPResponse{}, failed("%s: more than %d redirects", h.origin, maxRedirects)
}
