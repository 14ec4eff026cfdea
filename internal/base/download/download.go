// Package download makes HTTP requests to servers that the user names, such as registries, catalogues and issuers of tokens. It bounds
// what such a server can do: redirect a credential elsewhere, downgrade to plain HTTP, stall, and send more than is expected. Start with
// Client.Do, or Client.Get for a whole file. What the bytes are worth is decided by digests and signatures, by the caller.
package download

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"syscall"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/base/origin"
)

// Bounds of a request.
const (
	maxRedirects = 5
	stallTime    = 30 * time.Second // without a byte in either direction
	totalTime    = 20 * time.Minute
	maxHeader    = 256 << 10 // bytes of the header of a response
)

// The errors of time.
var (
	ErrStalled = fmt.Errorf("the server sent or accepted nothing for %s", stallTime)
	ErrTooLong = fmt.Errorf("the transfer was not complete after %s", totalTime)
)

// Client makes requests. The zero value is ready to use.
type Client struct {
	// Progress is told how many bytes of total have been transferred in the body of a request; total is -1 if it is not known. It may be nil.
	Progress func(done, total int64)
	// Transport makes the connections; nil: one with the certificates of the system and the proxy of the environment.
	Transport http.RoundTripper
	// Plain allows plain HTTP beyond loopback: for requests without secrets, whose answers are none.
	Plain bool
	// NoRedirects has Do return a redirect as the response.
	NoRedirects bool
}

// Origin returns the origin of a URL, or an error if the URL is not https, or http on the loopback interface.
func Origin(u *url.URL) (origin.Origin, error) {
	o, err := origin.Of(u)
	if err != nil {
		return o, fmt.Errorf("its address %w", err)
	}
	if o.Scheme != "https" && !IsLoopback(o.Host) {
		return o, fmt.Errorf("%s would be reached without TLS, which is for loopback addresses only: write https://", o.Authority())
	}
	return o, nil
}

// origin is Origin, by the rules of the client.
func (c *Client) origin(u *url.URL) (origin.Origin, error) {
	if c.Plain {
		return origin.Of(u)
	}
	return Origin(u)
}

// IsLoopback reports whether a host name is that of the loopback interface. A connection by plain HTTP is made to loopback addresses only,
// whatever the name resolves to.
func IsLoopback(host string) bool {
	if host == "localhost" {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.Unmap().IsLoopback()
}

// IsThisMachine reports whether the host of an Origin leads to this machine, whatever resolves names: beside those of the loopback interface, it is
// an unspecified address, to which systems connect as to loopback, or a name below localhost (RFC 6761).
func IsThisMachine(host string) bool {
	addr, err := netip.ParseAddr(host)
	return IsLoopback(host) || strings.HasSuffix(host, ".localhost") || err == nil && addr.Unmap().IsUnspecified()
}

// Do sends a request and returns the response, whose body the caller must close. A GET request follows redirects, none of which leaves TLS
// or leads from the network to this machine, and of which none to another origin gets the Authorization header. Reading the body fails with ErrStalled or ErrTooLong.
func (c *Client) Do(r *http.Request) (*http.Response, error) {
	var first origin.Origin
	for hop := range maxRedirects + 1 {
		at, err := c.origin(r.URL)
		if err != nil {
			return nil, err
		}
		if hop == 0 {
			first = at
		}
		if first.Scheme == "https" && at.Scheme != "https" {
			return nil, fmt.Errorf("%s redirects to %s, which is not https", first.Authority(), at)
		}
		if IsThisMachine(at.Host) && !IsThisMachine(first.Host) {
			return nil, fmt.Errorf("%s redirects to this machine", first.Authority())
		}
		if at != first {
			r.Header.Del("Authorization")
		}
		response, err := c.send(r)
		if err != nil {
			return nil, err
		}
		if c.NoRedirects || r.Method != http.MethodGet && r.Method != http.MethodHead || !isRedirect(response.StatusCode) {
			return response, nil
		}
		_ = response.Body.Close() // the body of a redirect is not used
		next, err := r.URL.Parse(response.Header.Get("Location"))
		if err != nil || response.Header.Get("Location") == "" {
			return nil, fmt.Errorf("%s redirects without an address", at.Authority())
		}
		next.Fragment = ""
		r = r.Clone(r.Context())
		r.URL, r.Host = next, ""
	}
	return nil, fmt.Errorf("%s redirects more than %d times", first.Authority(), maxRedirects)
}

func isRedirect(status int) bool {
	switch status {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return true
	}
	return false
}

// Get returns the file at an address, of at most limit bytes.
func (c *Client) Get(ctx context.Context, address string, limit int64) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Accept-Encoding", "identity") // digests are those of the bytes that are sent, which are the bytes that are counted
	response, err := c.Do(r)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	switch {
	case response.StatusCode != http.StatusOK:
		return nil, &StatusError{r.URL.Host, response.StatusCode}
	case response.Header.Get("Content-Encoding") != "":
		return nil, fmt.Errorf("%s sends the file compressed, which is not accepted", r.URL.Host)
	case response.ContentLength > limit:
		return nil, tooLarge(limit)
	}
	return ReadAll(response.Body, limit)
}

// StatusError says that a server answered with another status than was expected.
type StatusError struct {
	Host   string
	Status int
}

func (e *StatusError) Error() string {
	return fmt.Sprintf("%s answers with status %d (%s)", e.Host, e.Status, http.StatusText(e.Status))
}

// ReadAll reads the rest of a body, of at most limit bytes.
func ReadAll(body io.Reader, limit int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(body, limit+1))
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, fmt.Errorf("the server ended the connection after %d bytes, before the end", len(data))
	}
	if err != nil {
		return nil, err
	}
	if int64(len(data)) > limit {
		return nil, tooLarge(limit)
	}
	return data, nil
}

func tooLarge(limit int64) error { return fmt.Errorf("the server sends more than %d bytes", limit) }

// send sends one request, which ends if it makes no progress.
func (c *Client) send(r *http.Request) (*http.Response, error) {
	ctx, stop := context.WithTimeoutCause(r.Context(), totalTime, ErrTooLong)
	ctx, cancel := context.WithCancelCause(ctx)
	w := &watched{ctx: ctx, timer: time.AfterFunc(stallTime, func() { cancel(ErrStalled) }), total: -1}
	w.end = func() { w.timer.Stop(); cancel(context.Canceled); stop() }
	sent := r.Clone(ctx)
	if r.Body != nil && r.Body != http.NoBody {
		sent.Body = &body{r.Body, &watched{ctx: ctx, timer: w.timer, total: r.ContentLength, progress: c.Progress, end: func() {}}}
	}
	response, err := c.transport(r.URL).RoundTrip(sent)
	if err != nil {
		err = w.cause(err)
		w.end()
		return nil, err
	}
	w.progressed(0)
	if w.total = response.ContentLength; r.Method == http.MethodGet {
		w.progress = c.Progress
	}
	response.Body = &body{response.Body, w}
	return response, nil
}

// watched ends a request that makes no progress.
type watched struct {
	ctx         context.Context
	timer       *time.Timer
	progress    func(done, total int64)
	done, total int64
	end         func()
}

func (w *watched) progressed(n int) {
	w.timer.Reset(stallTime)
	if w.done += int64(n); n > 0 && w.progress != nil {
		w.progress(w.done, w.total)
	}
}

// cause returns why the request was ended, if it was, instead of err.
func (w *watched) cause(err error) error {
	if cause := context.Cause(w.ctx); cause != nil && !errors.Is(cause, context.Canceled) {
		return cause
	}
	return err
}

// body is the body of a request or response that is watched.
type body struct {
	io.ReadCloser
	*watched
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if n > 0 {
		b.progressed(n)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		err = b.cause(err)
	}
	return n, err
}

func (b *body) Close() error {
	err := b.ReadCloser.Close()
	b.end()
	return err
}

func (c *Client) transport(u *url.URL) http.RoundTripper {
	if c.Transport != nil {
		return c.Transport
	}
	t := &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		TLSHandshakeTimeout:    10 * time.Second,
		ForceAttemptHTTP2:      true,
		DisableCompression:     true, // digests are those of the bytes that are sent
		DisableKeepAlives:      true, // the transport is that of one request
		MaxResponseHeaderBytes: maxHeader,
	}
	dialer := &net.Dialer{Timeout: 15 * time.Second}
	if u.Scheme == "http" {
		dialer.Control = loopbackOnly
	}
	t.DialContext = dialer.DialContext
	return t
}

// loopbackOnly refuses a connection to any other address: localhost can resolve to one.
func loopbackOnly(_, address string, _ syscall.RawConn) error {
	host, _, err := net.SplitHostPort(address)
	if err == nil && !IsLoopback(host) {
		err = fmt.Errorf("%s is no loopback address", address)
	}
	return err
}
