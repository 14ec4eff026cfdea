package fetch

import (
	"maps"
	"net/http"
	"slices"
	"strings"
)

// maxRedirects bounds the redirects of one operation.
const maxRedirects = 10

// crossOriginHeaders are the module's headers that are retained in a redirect to another origin. They only negotiate the
// representation. Any other header may contain a secret meant for the first origin.
var crossOriginHeaders = []string{"Accept", "Accept-Encoding", "Accept-Language", "Range", "User-Agent"}

// isRedirect reports whether a status with a Location is a redirect to be followed.
func isRedirect(status int) bool {
	switch status {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther,
		http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return true
	}
	return false
}

// redirected returns the request of a redirect, by the rules of the Fetch standard
// (https://fetch.spec.whatwg.org/#http-redirect-fetch) and the stricter ones of crossOrigin. The grant is checked when
// that request is sent.
func (f *Fetcher) redirected(h hop, status int, location string) (hop, error) {
	if len(location) > maxURL {
		return hop{}, failed("%s redirects to a URL of more than %d bytes", h.origin, maxURL)
	}
	u, err := h.url.Parse(location)
	if err != nil {
		return hop{}, failed("%s redirects to a malformed URL", h.origin)
	}
	next := h
	next.header = h.header.Clone()
	if err := next.aim(u); err != nil {
		return hop{}, denied("%s redirects to a URL that %v", h.origin, err)
	}
	if becomesGet(status, h.method) {
		next.method, next.body = http.MethodGet, nil
		maps.DeleteFunc(next.header, func(name string, _ []string) bool { return strings.HasPrefix(name, "Content-") })
	}
	if next.origin == h.origin {
		return next, nil
	}
	return next, f.crossOrigin(h, &next)
}

// crossOrigin restricts a redirect to another origin to what any client could read from that origin. The redirecting
// server, which is untrusted, has chosen the URL. So the next origin must not receive what the module sent to the first
// origin. And the first origin must not be able to make the host use its authority (a credential, or access to a
// private network) on the next origin, as a confused deputy. A module that intends such a request can send it itself.
func (f *Fetcher) crossOrigin(h hop, next *hop) error {
	grant, ok := f.grant(next.origin)
	if !ok {
		return nil // the next origin is not granted, so the request is refused when it is sent
	}
	const remedy = `if that is intended, use redirect "manual" and send a separate request`
	switch {
	case next.method != http.MethodGet && next.method != http.MethodHead:
		return denied("%s redirects %s to another origin, %s: %s", h.origin, next.method, next.origin, remedy)
	case len(next.body) > 0:
		return denied("%s redirects a body to another origin, %s: %s", h.origin, next.origin, remedy)
	case grant.Credential != nil:
		return denied("%s redirects to another origin, %s, for which the host has a credential: %s", h.origin, next.origin, remedy)
	case grant.Private && !f.grants[h.origin].Private:
		return denied("%s redirects to another origin, %s, which is private: %s", h.origin, next.origin, remedy)
	}
	maps.DeleteFunc(next.header, func(name string, _ []string) bool { return !slices.Contains(crossOriginHeaders, name) })
	return nil
}

func becomesGet(status int, method string) bool {
	switch status {
	case http.StatusMovedPermanently, http.StatusFound:
		return method == http.MethodPost
	case http.StatusSeeOther:
		return method != http.MethodGet && method != http.MethodHead
	}
	return false
}
