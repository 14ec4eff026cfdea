// Package remote speaks git's smart HTTP protocol, versions 0 to 2, with granted remote repositories. Start with New;
// the operations are Client.List and Client.Fetch, which write nothing.
//
// Remotes are untrusted: everything that they send is bounded before it is stored or decoded. The package does not use go-git's own client,
// which reads without limits and lacks protocol version 2. In older versions of the protocol, a server lists all its references, and
// serves only commits to which a reference refers.
package remote

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/internal/hosterror"
)

const (
	anyRemote  = "*"
	maxURL     = 2 << 10         // most bytes of a URL
	maxFetches = 2               // most packs in memory at the same time; further fetches wait
	timeout    = 2 * time.Minute // time limit of one operation; the context may end earlier
)

// Client performs operations on remotes. It is safe for concurrent use.
type Client struct {
	any     bool
	urls    []string // granted URLs in normalized form
	http    *http.Client
	fetches chan struct{} // semaphore that admits maxFetches fetches
	maxFile int64         // maximum size in bytes of one file that Fetch returns, and of the content of one page
}

// New returns a client for the granted https URLs in remotes, or for any if "*" is among them. transport carries the requests; if it is
// nil, no remote can be reached. If some URLs are malformed, New also returns an error that joins the reasons. The client is valid
// nevertheless, and does not grant the malformed URLs.
func New(remotes []string, transport http.RoundTripper, maxFile int64) (*Client, error) {
	client := &Client{any: slices.Contains(remotes, anyRemote), fetches: make(chan struct{}, maxFetches), maxFile: maxFile}
	var malformed error
	for _, granted := range remotes {
		u, err := normalizeURL(granted)
		switch {
		case err == nil:
			client.urls = append(client.urls, u)
		case granted != anyRemote:
			malformed = errors.Join(malformed, err)
		}
	}
	if transport == nil {
		transport = noTransport{}
	}
	client.http = &http.Client{Transport: transport, CheckRedirect: checkRedirect}
	return client, malformed
}

// authorize returns the normalized form of a URL. It returns an error if the URL is not granted.
func (c *Client) authorize(text string) (string, error) {
	u, err := normalizeURL(text)
	switch {
	case err != nil:
		return "", err
	case c.any || slices.Contains(c.urls, u):
		return u, nil
	case len(c.urls) == 0:
		return "", hosterror.Denied("%s: this plugin is granted no remote; its manifest must ask for remotes = [URL] under "+
			"[capabilities] git", u)
	}
	return "", hosterror.Denied("%s is not one of the granted remotes (%s)", u, strings.Join(c.urls, ", "))
}

// connect opens a session with a granted remote and runs f on it.
func (c *Client) connect(ctx context.Context, text string, f func(*session) error) error {
	granted, err := c.authorize(text)
	if err != nil {
		return err
	}
	timed, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	s := &session{ctx: timed, http: c.http, url: granted, capabilities: map[string]string{}}
	defer s.close()
	if err = s.discover(); err == nil {
		err = f(s)
	}
	if timed.Err() != nil && err != nil {
		return fmt.Errorf("the remote did not respond within %v", timeout)
	}
	return err
}

// normalizeURL returns the form in which granted and requested URLs are compared. It refuses a URL that a different parser could interpret
// differently, so that the URL that is requested is the one that was granted.
func normalizeURL(text string) (string, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil || len(text) > maxURL:
	case u.Scheme != "https" || u.Hostname() == "" || u.Opaque != "":
	case u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" || strings.Contains(text, "#"):
	case strings.Trim(u.Path, "/") != "" && path.Clean(u.Path) != strings.TrimRight(u.Path, "/"):
	default:
		host := strings.ToLower(u.Host)
		return "https://" + strings.TrimSuffix(strings.TrimSuffix(host, ":443"), ":") + strings.TrimRight(u.EscapedPath(), "/"), nil
	}
	return "", hosterror.Invalid("url: %q: give https://host/path, without user, password, query, \".\" and \"..\"",
		hosterror.Truncate(StripCredentials(text)))
}

// StripCredentials removes the user and the password from a URL. It keeps the user of an ssh URL, which names the account that owns the
// repository. It also keeps the user of user@host:path, which cannot have a password. It does not parse the URL: a password must not be
// disclosed because a parser rejects the URL.
func StripCredentials(url string) string {
	scheme, rest, ok := strings.Cut(url, "://")
	if !ok {
		return url
	}
	end := strings.IndexAny(rest, "/?#\\")
	if end < 0 {
		end = len(rest)
	}
	at := strings.LastIndexByte(rest[:end], '@')
	if at < 0 {
		return url
	}
	user, host := rest[:at], rest[at+1:]
	switch strings.ToLower(scheme) {
	case "ssh", "git+ssh", "ssh+git":
		user, _, _ = strings.Cut(user, ":")
		return scheme + "://" + user + "@" + host
	}
	return scheme + "://" + host
}
