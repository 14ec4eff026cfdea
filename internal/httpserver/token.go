package httpserver

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"strings"
)

// tokenDigest is the digest of a bearer token. Digests have the same length, so that comparing them takes the same time for
// all tokens.
type tokenDigest [sha256.Size]byte

// digestToken returns nil if the token is empty.
func digestToken(token string) *tokenDigest {
	if token == "" {
		return nil
	}
	d := tokenDigest(sha256.Sum256([]byte(token)))
	return &d
}

// authorized reports whether a request has the token in its Authorization header, and whether it has one at all.
func (d *tokenDigest) authorized(h http.Header) (ok, stated bool) {
	values := h["Authorization"]
	if len(values) != 1 {
		return false, len(values) > 0
	}
	scheme, token, _ := strings.Cut(values[0], " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return false, true
	}
	got := digestToken(strings.TrimLeft(token, " "))
	return got != nil && subtle.ConstantTimeCompare(got[:], d[:]) == 1, true
}
