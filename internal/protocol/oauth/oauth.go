// Package oauth verifies access tokens that are JWTs, as an OAuth 2.1 resource server does: by the keys that their issuers publish. It is
// never an authorization server, and passes no token on. Start with New and Verifier.Authenticate. A token and the documents of an issuer
// are untrusted input: their sizes, numbers and times are bounded.
package oauth

import (
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/bulkhead-mcp/bulkhead/internal/base/download"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/bearer"
)

// Config configures a Verifier. Issuers and Audience are required.
type Config struct {
	Issuers  []string // identifiers of the accepted issuers, which are URLs
	Audience string   // URL of the MCP endpoint, for which tokens must be issued
	Others   []string // further accepted audiences, of issuers that cannot put a URL into tokens
	Scopes   []string // that a token must have, all of them
	Client   *download.Client
	Log      hclog.Logger
}

// Verifier verifies tokens. It is safe for concurrent use.
type Verifier struct {
	config   Config
	issuers  map[string]*issuer
	verified cache
	stop     context.CancelFunc
}

// New returns a Verifier. It requests nothing before Prefetch or Authenticate.
func New(c Config) *Verifier {
	ctx, stop := context.WithCancel(context.Background())
	v := &Verifier{config: c, issuers: make(map[string]*issuer, len(c.Issuers)), stop: stop}
	for _, name := range c.Issuers {
		v.issuers[name] = &issuer{name: name, client: c.Client, log: c.Log, ctx: ctx, waiting: make(chan struct{}, maxWaiting)}
	}
	return v
}

// Prefetch fetches the keys of all issuers in the background, so that the first request need not wait, and the log says what is wrong.
func (v *Verifier) Prefetch() {
	for _, i := range v.issuers {
		i.fetch(time.Now())
	}
}

// Close ends requests to issuers.
func (v *Verifier) Close() { v.stop() }

// Authenticate returns what a token gives at an endpoint: empty, or "/NAME" for an endpoint below the one that Config.Audience names. The
// error is a *bearer.Refused. ctx bounds the time that it waits for an issuer.
func (v *Verifier) Authenticate(ctx context.Context, token, endpoint string) (*bearer.Access, error) {
	if len(token) > maxToken {
		return nil, refused("the token is too long")
	}
	digest, now := digestOf(token), time.Now()
	known := v.verified.get(digest)
	unknown := known == nil || !known.holds(now)
	if unknown {
		var err error
		if known, err = v.verify(ctx, token); err != nil {
			return nil, err
		}
	}
	switch {
	case !v.accepts(known.audience, endpoint): // whatever its scopes are: more of them would not help
		return nil, &bearer.Refused{Why: "the token is for another audience", Principal: known.access.Principal}
	case known.lacksScope:
		return nil, &bearer.Refused{Why: "the token lacks a scope that the server requires", Principal: known.access.Principal, Status: http.StatusForbidden}
	case unknown:
		v.verified.put(digest, known)
	}
	return &known.access, nil
}

// accepts reports whether one of the audiences of a token is an endpoint, or the server to which it belongs.
func (v *Verifier) accepts(audience []string, endpoint string) bool {
	return slices.ContainsFunc(audience, func(a string) bool {
		return a == v.config.Audience || slices.Contains(v.config.Others, a) || endpoint != "" && a == v.config.Audience+endpoint
	})
}

// verify verifies a token that is not known, except for its audience and scopes.
func (v *Verifier) verify(ctx context.Context, token string) (*verified, error) {
	t, err := parse(token)
	if err != nil {
		return nil, err
	}
	i := v.issuers[t.issuer]
	if i == nil {
		return nil, refused("the issuer of the token is not accepted")
	}
	keys, err := i.verify(ctx, t)
	if err != nil {
		return nil, err
	}
	known, err := t.check(time.Now(), v.config.Scopes)
	if err != nil {
		return nil, err
	}
	known.issuer, known.keys = i, keys.digest
	return known, nil
}

func refused(why string) error { return &bearer.Refused{Why: why} }
