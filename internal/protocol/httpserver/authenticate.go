package httpserver

import (
	"errors"
	"net/http"

	"github.com/bulkhead-mcp/bulkhead/internal/protocol/bearer"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/call"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/gateway"
)

// local is the access of all clients of a server that needs no token.
var local = bearer.Access{Principal: gateway.LocalUser}

// authenticate returns the access of a request. If it has none, it answers with an error, and returns nil.
func (s *Server) authenticate(w http.ResponseWriter, r *http.Request) *bearer.Access {
	token, stated := bearer.Token(r.Header)
	challenge, why := `Bearer realm="bulkhead"`, "a bearer token is required in the Authorization header"
	var owner *call.Principal
	if stated {
		access, err := s.config.Auth.Authenticate(token)
		if access != nil {
			return access
		}
		challenge, why = challenge+`, error="invalid_token"`, "the bearer token in the Authorization header is wrong"
		if refused := (*bearer.Refused)(nil); errors.As(err, &refused) {
			why, owner = refused.Why, refused.Principal
		}
	}
	s.report(r, RefusedToken, why, owner)
	w.Header().Set("WWW-Authenticate", challenge)
	refuse(w, http.StatusUnauthorized, why)
	return nil
}
