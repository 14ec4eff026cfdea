// Package fetch is the host operation http/fetch: a module asks a web server something, and gets the
// answer if the admin granted the server's origin. Start with New; Fetch is the operation.
//
// An origin is granted by scheme, host and port, and each redirect is checked like the request itself; one
// to another origin carries no more than the URL (see redirect.go).
// The address behind a host's name has to be public, unless the grant says that the host is private;
// package dial connects to exactly the address that was checked. A grant's credential is added here, for
// requests to its own origin only, and is never part of an error, a log line or a record. No proxy is
// used, no cookie is kept, nothing is cached, and connections are shared with nobody: a Fetcher belongs
// to one plugin.
package fetch

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/bulkhead-mcp/bulkhead/host/internal/origin"
	"github.com/bulkhead-mcp/bulkhead/host/sandbox/dial"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// Defaults of Limits.
const (
	DefaultRequestBody  = 8 << 20
	DefaultResponseBody = 8 << 20
	DefaultTime         = 30 * time.Second
	DefaultConcurrent   = 4
)

// Bounds that nobody sets.
const (
	maxURL             = 8 << 10  // bytes
	maxRequestHeaders  = 100      // values
	maxRequestHeader   = 32 << 10 // bytes of all names and values
	maxResponseHeaders = 200      // values
	maxResponseHeader  = 64 << 10 // bytes
	idleTime           = 30 * time.Second
	handshakeTime      = 10 * time.Second
)

// Config says what a Fetcher may reach.
type Config struct {
	// Grants are the granted origins, each of them once; none means that every request is denied.
	Grants []Grant
	Limits Limits
	// Dial says how hosts are found and reached. Its Private is replaced by what the grants say, its Log
	// by Config's.
	Dial dial.Config
	// RootCAs are the authorities that servers' certificates are checked against; nil means the system's.
	RootCAs *x509.CertPool
	// Log takes refusals; nil means none.
	Log hclog.Logger
	// Audit takes a record of every request that is sent or refused; nil means none. It may be called by
	// several goroutines at the same time.
	Audit func(context.Context, Record)
}

// Grant is an origin that may be asked.
type Grant struct {
	Origin origin.Origin
	// Private lets the host be one of the machine or the network: by loopback, private or link-local
	// addresses, and by that of a metadata service where it is itself the origin's host.
	Private bool
	// Credential is added to every request to the origin; nil means none. Over plain http it is refused
	// unless the grant is private.
	Credential *Credential
}

// Credential is a header that the host adds and a module never sees.
type Credential struct {
	Header string
	// Value gives the header's value. It is asked for each request, so that a changed one is used, and may
	// be called by several goroutines at the same time. Its error is logged and must not hold the secret.
	Value func() (string, error)
}

// Limits bound one plugin's requests. Zero means the default.
type Limits struct {
	RequestBody  int64         // bytes; DefaultRequestBody
	ResponseBody int64         // bytes, once unpacked; DefaultResponseBody
	Time         time.Duration // of a whole operation, redirects and waiting included; DefaultTime
	Concurrent   int           // requests at the same time, beyond which they wait; DefaultConcurrent
}

// Fetcher does one plugin's requests. It is safe for concurrent use.
type Fetcher struct {
	grants    map[origin.Origin]Grant
	limits    Limits
	transport *http.Transport
	slots     chan struct{}
	log       hclog.Logger
	audit     func(context.Context, Record)
}

// New checks the grants and connects to nothing. Whoever makes a Fetcher closes it.
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
		grants: map[origin.Origin]Grant{},
		limits: limits,
		slots:  make(chan struct{}, limits.Concurrent),
		log:    c.Log,
		audit:  c.Audit,
	}
	for _, g := range c.Grants {
		if err := g.check(); err != nil {
			return nil, fmt.Errorf("grant of %s: %w", g.Origin, err)
		}
		if _, twice := f.grants[g.Origin]; twice {
			return nil, fmt.Errorf("grant of %s: is there twice", g.Origin)
		}
		f.grants[g.Origin] = g
	}
	c.Dial.Private, c.Dial.Log = f.private, c.Log
	f.transport = transport(dial.New(c.Dial), c.RootCAs, limits)
	return f, nil
}

// transport is one plugin's own. It has no proxy, unlike the one that net/http begins with.
func transport(d *dial.Dialer, roots *x509.CertPool, limits Limits) *http.Transport {
	return &http.Transport{
		DialContext:            d.DialContext,
		TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots},
		TLSHandshakeTimeout:    handshakeTime,
		ForceAttemptHTTP2:      true, // a dialer of one's own turns it off otherwise
		MaxResponseHeaderBytes: maxResponseHeader,
		MaxIdleConns:           limits.Concurrent,
		MaxConnsPerHost:        limits.Concurrent, // counts connections being made for requests that have ended
		IdleConnTimeout:        idleTime,
	}
}

// Close gives up idle connections; requests in flight go on.
func (f *Fetcher) Close() { f.transport.CloseIdleConnections() }

// private answers the dialer. It does not know the scheme, so of http and https on the same port either
// counts: both are grants of the same listener.
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
	if l.RequestBody == 0 {
		l.RequestBody = DefaultRequestBody
	}
	if l.ResponseBody == 0 {
		l.ResponseBody = DefaultResponseBody
	}
	if l.Time == 0 {
		l.Time = DefaultTime
	}
	if l.Concurrent == 0 {
		l.Concurrent = DefaultConcurrent
	}
	return l, nil
}

func (g Grant) check() error {
	if again, err := origin.Parse(g.Origin.String()); err != nil || again != g.Origin {
		return errors.New("is not an origin as package origin reads it")
	}
	c := g.Credential
	switch {
	case c == nil:
		return nil
	case c.Value == nil:
		return errors.New("its credential has no value")
	case g.Origin.Scheme != "https" && !g.Private:
		return errors.New("a credential would cross the network unencrypted: use https")
	}
	return CheckHeader(c.Header)
}

// Fetch asks q's server, and follows its redirects. The error is an *abi.HostError (HostInvalid for a
// request that is not of the operation's form, HostDenied for what is not granted, HostFailed for what was
// tried and did not work) or that of ctx.
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
		return abi.HTTPResponse{}, failed("%s: no answer within %v", first.origin, limit)
	}
	return abi.HTTPResponse{}, err
}

// follow waits for a place, and goes from redirect to redirect.
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
