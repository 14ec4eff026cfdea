package httpserver

import (
	"cmp"
	"context"
	"errors"
	"net/http"

	"github.com/bulkhead-mcp/bulkhead/internal/protocol/bearer"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/call"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/gateway"
)

// local is the access of all clients of a server that needs no token.
var local = bearer.Access{Principal: gateway.LocalUser}

// access is what a request may use: the access that its token gives, and what its principal is offered at the endpoint.
type access struct {
	*bearer.Access
	view     *gateway.View
	admitted context.Context // see Config.View; nil: it does not end
}

// atEnd calls f when the principal has to be authenticated or admitted again, unless stop is called before.
func (a access) atEnd(f func()) (stop func()) {
	stopAccess, stopAdmitted := a.AtEnd(f), func() bool { return false }
	if a.admitted != nil {
		stopAdmitted = context.AfterFunc(a.admitted, f)
	}
	return func() { stopAccess(); stopAdmitted() }
}

// canEnd reports whether the view may end before the server does.
func (s *Server) canEnd(v *gateway.View) bool { return v != s.config.Gateway.View }

// viewOf returns what a principal is offered at the endpoint of a project, and Config.View's context; nil if it answered with an error. A
// project that the principal may not use looks like one that does not exist.
func (s *Server) viewOf(w http.ResponseWriter, r *http.Request, project string, p *call.Principal) (*gateway.View, context.Context) {
	if s.config.View == nil {
		return s.config.Gateway.View, nil
	}
	view, admitted, err := s.config.View(r.Context(), project, p)
	switch {
	case err != nil:
		refuseBusy(w, nil, err.Error())
	case view != nil:
		return view, admitted
	case project == "":
		s.report(r, RefusedClient, "its principal is granted nothing", p)
		refuse(w, http.StatusForbidden, "this server offers you nothing: ask its administrator")
	default:
		s.report(r, RefusedProject, "there is no such project of its principal", p, "project", shown(project))
		refuse(w, http.StatusNotFound, "there is no such project")
	}
	return nil, nil
}

// accessOf is like authenticate. A server that needs no token gives all clients the same access.
func (s *Server) accessOf(w http.ResponseWriter, r *http.Request, project string) *bearer.Access {
	if s.config.Auth == nil {
		return &local
	}
	return s.authenticate(w, r, project)
}

// authenticate returns the access of a request to the endpoint of a project. If it has none, it answers with an error, and returns nil.
func (s *Server) authenticate(w http.ResponseWriter, r *http.Request, project string) *bearer.Access {
	endpoint := ""
	if project != "" {
		endpoint = "/" + project
	}
	token, stated := bearer.Token(r.Header)
	refused := &bearer.Refused{Why: "a bearer token is required in the Authorization header"}
	if stated {
		access, err := s.config.Auth.Authenticate(r.Context(), token, endpoint)
		if access != nil {
			return access
		}
		if !errors.As(err, &refused) {
			refused.Why = "the bearer token in the Authorization header is wrong"
		}
	}
	status, code := cmp.Or(refused.Status, http.StatusUnauthorized), RefusedToken
	challenge := `Bearer realm="bulkhead"` + s.config.Resource.challenge(endpoint)
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
