package httpserver

import (
	"cmp"
	"errors"
	"net/http"

	"github.com/bulkhead-mcp/bulkhead/internal/protocol/bearer"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/gateway"
)

// local is the access of all clients of a server that needs no token.
var local = bearer.Access{Principal: gateway.LocalUser}

// authenticate returns the access of a request. If it has none, it answers with an error, and returns nil.
func (s *Server) authenticate(w http.ResponseWriter, r *http.Request) *bearer.Access {
	token, stated := bearer.Token(r.Header)
	refused := &bearer.Refused{Why: "a bearer token is required in the Authorization header"}
	if stated {
		access, err := s.config.Auth.Authenticate(r.Context(), token, "")
		if access != nil {
			return access
		}
		if !errors.As(err, &refused) {
			refused.Why = "the bearer token in the Authorization header is wrong"
		}
	}
	status, code := cmp.Or(refused.Status, http.StatusUnauthorized), RefusedToken
	challenge := `Bearer realm="bulkhead"` + s.config.Resource.challenge("")
	switch {
	case status == http.StatusServiceUnavailable:
		w.Header().Set("Retry-After", retryAfterKeys)
		challenge = ""
	case status == http.StatusForbidden:
		challenge, code = challenge+`, error="insufficient_scope", error_description="`+refused.Why+`"`, RefusedScope
	case stated:
		challenge += `, error="invalid_token", error_description="` + refused.Why + `"`
	}
	if challenge != "" {
		w.Header().Set("WWW-Authenticate", challenge)
	}
	s.report(r, code, refused.Why, refused.Principal)
	refuse(w, status, refused.Why)
	return nil
}

// retryAfterKeys is the time in seconds after which the keys of an issuer may be available again.
const retryAfterKeys = "10"
