package httpserver

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
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

// Bounds of a token, in bytes.
const (
	minToken = 20
	maxToken = 4 << 10
)

// TokenBits is the number of random bits of a token: rand.Text returns 26 digits of base 32.
const TokenBits = 2 * 26 * 5

// NewToken returns a random token of TokenBits bits.
func NewToken() string { return rand.Text() + rand.Text() }

// CheckToken returns an error if a token cannot be one, or is short enough to be guessed. The error does not contain it.
func CheckToken(token string) error {
	switch {
	case len(token) < minToken:
		return fmt.Errorf("it has fewer than %d characters: make one with `bulkhead token new`", minToken)
	case len(token) > maxToken:
		return fmt.Errorf("it has more than %d characters", maxToken)
	case strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }):
		return errors.New("it has characters other than visible ASCII")
	}
	return nil
}
