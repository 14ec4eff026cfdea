// Package bearer authenticates HTTP requests by the bearer token in their Authorization header: the server's single token, or one of the
// named tokens, of which only digests are stored. Start with Tokens for a server, and with File for the commands that make and revoke
// named tokens. No error contains a token, or a part of one that is secret.
package bearer

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/protocol/call"
)

// Access is what a valid token gives. It is immutable, and the same for all requests with one token.
type Access struct {
	Principal *call.Principal
	// Held ends when the token is revoked or replaced, or expires. What the principal has open ends with it. nil: it does not end.
	Held context.Context
	// Expires is the time until which the token is valid; zero: there is no bound.
	Expires time.Time
}

// AtEnd calls f when the access ends, unless stop is called before.
func (a *Access) AtEnd(f func()) (stop func() bool) {
	switch {
	case a.Held != nil:
		return context.AfterFunc(a.Held, f)
	case !a.Expires.IsZero():
		return time.AfterFunc(time.Until(a.Expires), f).Stop
	}
	return func() bool { return false }
}

// Refused is why a token is refused. Its text is safe for the client and the log.
type Refused struct {
	Why       string
	Principal *call.Principal // whose token it is, if that was proved; else nil
	Status    int             // 0: unauthorized; http.StatusForbidden: it lacks a scope; http.StatusServiceUnavailable: it cannot be checked now
}

func (e *Refused) Error() string { return e.Why }

// Token returns the bearer token of a request. stated reports whether the request has an Authorization header at all; the token is empty if
// that is not a bearer token, or if there are several.
func Token(h http.Header) (token string, stated bool) {
	values := h["Authorization"]
	if len(values) != 1 {
		return "", len(values) > 0
	}
	scheme, token, _ := strings.Cut(values[0], " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return "", true
	}
	return strings.TrimLeft(token, " "), true
}
