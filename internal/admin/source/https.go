package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
)

// Bounds of a download.
const (
	stallTime    = 30 * time.Second // without a byte
	downloadTime = 15 * time.Minute
	maxRedirects = 5
)

func parseURL(text string) (Reference, error) {
	u, err := url.Parse(text)
	if err != nil {
		return Reference{}, usage.Errorf("the reference is not a URL: %w", withoutURL(err))
	}
	// The URL is not part of these errors: it can contain a password.
	switch fragment, where := u.Fragment, "https://"+u.Host+u.Path; {
	case u.Host == "":
		return Reference{}, usage.Errorf("%s has no host", text)
	case u.User != nil:
		return Reference{}, usage.Errorf("the reference to %s contains a user name or password, which a config must not", u.Host)
	case u.Scheme == "http" && !isLoopback(u.Hostname()):
		return Reference{}, usage.Errorf("http://%s is not encrypted: write https://; plain http is accepted on this machine only", u.Host)
	case fragment == "":
		return Reference{}, usage.Errorf("%s has no digest: append #%s and the SHA-256 of the archive, which its author publishes", where, digestPrefix)
	default:
		without := *u
		without.Fragment, without.RawFragment = "", ""
		r := Reference{Kind: HTTPS, URL: &without}
		return r, r.setDigest(fragment, true)
	}
}

// isLoopback reports whether a host is this machine, without asking a name server.
func isLoopback(host string) bool {
	a, err := netip.ParseAddr(host)
	return err == nil && a.Unmap().IsLoopback() || strings.EqualFold(host, "localhost")
}

// checkURL refuses URLs to which no request is sent.
func checkURL(u *url.URL) error {
	if u.Scheme == "https" || u.Scheme == "http" && isLoopback(u.Hostname()) {
		return nil
	}
	return fmt.Errorf("%s://%s is not encrypted", u.Scheme, u.Host)
}

// errStalled is the reason why a download was ended.
var errStalled = fmt.Errorf("no byte came for %s", stallTime)

// errAbsent says that the server does not have the file.
var errAbsent = fmt.Errorf("the server answers %d %s", http.StatusNotFound, http.StatusText(http.StatusNotFound))

// download returns the content of u, which has at most limit bytes. It sends no credentials, and follows redirects to encrypted servers only.
func (f *Fetcher) download(ctx context.Context, u *url.URL, limit int64) ([]byte, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, downloadTime, fmt.Errorf("it took longer than %s", downloadTime))
	defer cancel()
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	stalled := time.AfterFunc(stallTime, func() { end(errStalled) })
	defer stalled.Stop()
	data, err := f.get(ctx, u, limit, stalled)
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return data, err
}

// get sends the request. It resets the timer stalled whenever bytes come.
func (f *Fetcher) get(ctx context.Context, u *url.URL, limit int64, stalled *time.Timer) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept-Encoding", "identity") // the digest is that of the archive, and what is decompressed is not bounded by what comes
	client := http.Client{Transport: f.Transport, CheckRedirect: checkRedirect}
	response, err := client.Do(request)
	if err != nil {
		return nil, withoutURL(err)
	}
	defer response.Body.Close()
	switch {
	case response.StatusCode == http.StatusNotFound:
		return nil, errAbsent
	case response.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("the server answers %d %s", response.StatusCode, http.StatusText(response.StatusCode))
	case response.Header.Get("Content-Encoding") != "":
		return nil, errors.New("the server sends the archive compressed, which is not accepted")
	case response.ContentLength > limit:
		return nil, tooLarge(limit)
	}
	f.Task.Step("fetching from %s", response.Request.URL.Host)
	data, err := io.ReadAll(io.LimitReader(&counted{response.Body, f, stalled, 0, response.ContentLength}, limit+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("the download was interrupted after %d bytes: %w", len(data), err)
	case int64(len(data)) > limit:
		return nil, tooLarge(limit)
	}
	return data, nil
}

func checkRedirect(to *http.Request, via []*http.Request) error {
	if len(via) > maxRedirects {
		return fmt.Errorf("the server redirects more than %d times", maxRedirects)
	}
	if err := checkURL(to.URL); err != nil {
		return fmt.Errorf("the server redirects to %w", err)
	}
	if isLoopback(to.URL.Hostname()) && !isLoopback(via[0].URL.Hostname()) {
		return errors.New("the server redirects to this machine")
	}
	return nil
}

// withoutURL strips the URL from an error of package http or url: it can contain a secret.
func withoutURL(err error) error {
	if failed := (*url.Error)(nil); errors.As(err, &failed) {
		return failed.Err
	}
	return err
}

// counted is the body of a response.
type counted struct {
	io.Reader
	fetcher     *Fetcher
	stalled     *time.Timer
	done, total int64
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	if n > 0 {
		c.stalled.Reset(stallTime)
		c.done += int64(n)
		if c.total > 0 {
			c.fetcher.Task.Count(c.done, c.total)
		}
	}
	return n, err
}
