package source

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/base/download"
	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
)

func parseURL(text string) (Reference, error) {
	u, err := url.Parse(text)
	if err != nil {
		return Reference{}, usage.Errorf("the reference is not a URL: %w", withoutURL(err))
	}
	if err := checkURL(u); err != nil {
		return Reference{}, err
	}
	if u.Fragment == "" {
		return Reference{}, usage.Errorf("https://%s%s has no digest: append #%s and the SHA-256 of the archive, which its author publishes", u.Host, u.Path, digestPrefix)
	}
	without := *u
	without.Fragment, without.RawFragment = "", ""
	r := Reference{Kind: HTTPS, URL: &without}
	return r, r.setDigest(u.Fragment, true)
}

// checkURL refuses the URLs that are not fetched. The URL is not part of the errors: it can contain a password.
func checkURL(u *url.URL) error {
	switch {
	case u.Host == "":
		return usage.Errorf("%s:%s has no host", u.Scheme, u.Path)
	case u.User != nil:
		return usage.Errorf("the reference to %s contains a user name or password, which a config must not", u.Host)
	case u.Scheme == "http" && !download.IsLoopback(strings.ToLower(u.Hostname())):
		return usage.Errorf("http://%s is not encrypted: write https://; plain http is accepted on this machine only", u.Host)
	}
	return nil
}

// get returns the content of u, which has at most limit bytes. It sends no credentials.
func (f *Fetcher) get(ctx context.Context, u *url.URL, limit int64) ([]byte, error) {
	f.Task.Step("fetching from %s", u.Host)
	client := download.Client{Transport: f.Transport, Progress: f.count}
	data, err := client.Get(ctx, u.String(), limit)
	return data, withoutURL(err)
}

// isAbsent reports whether the server does not have a file.
func isAbsent(err error) bool {
	status := (*download.StatusError)(nil)
	return errors.As(err, &status) && status.Status == http.StatusNotFound
}

// withoutURL strips the URL from an error of package url: it can contain a secret.
func withoutURL(err error) error {
	if failed := (*url.Error)(nil); errors.As(err, &failed) {
		return failed.Err
	}
	return err
}
