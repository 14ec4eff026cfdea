package oauth

import (
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/bulkhead-mcp/bulkhead/internal/base/download"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/oauth/oauthtest"
)

const (
	issuerName = "https://login.example.com/realms/team"
	audience   = "https://mcp.example.com/mcp"
	metadata   = "https://login.example.com/.well-known/oauth-authorization-server/realms/team"
	jwks       = "https://login.example.com/keys"
)

// provider answers requests for the documents of an issuer.
type provider struct {
	mu       sync.Mutex
	pages    map[string]string // by address; a page that is absent has status 404
	requests []string
	hang     bool // do not answer before the request is ended
}

func newProvider(keys ...string) *provider {
	p := &provider{pages: map[string]string{metadata: `{"issuer":"` + issuerName + `","jwks_uri":"` + jwks + `"}`}}
	p.publish(keys...)
	return p
}

// publish replaces the keys.
func (p *provider) publish(names ...string) { p.set(jwks, oauthtest.Published(names...)) }

func (p *provider) set(address, page string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pages[address] = page
}

func (p *provider) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.requests)
}

func (p *provider) RoundTrip(r *http.Request) (*http.Response, error) {
	p.mu.Lock()
	p.requests = append(p.requests, r.URL.String())
	page, ok := p.pages[r.URL.String()]
	hang := p.hang
	p.mu.Unlock()
	if hang {
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	status := http.StatusOK
	if !ok {
		status = http.StatusNotFound
	}
	return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(page)), ContentLength: -1}, nil
}

// verifier returns a Verifier that uses the provider.
func (p *provider) verifier(t testing.TB, change func(*Config)) *Verifier {
	t.Helper()
	c := Config{Issuers: []string{issuerName}, Audience: audience, Client: &download.Client{Transport: p}, Log: hclog.NewNullLogger()}
	if change != nil {
		change(&c)
	}
	v := New(c)
	t.Cleanup(v.Close)
	return v
}

// usual returns the claims of a valid token, in which changed ones replace others; nil removes one.
func usual(changed map[string]any) map[string]any {
	return oauthtest.Claims(issuerName, audience, changed)
}

// sign signs claims with a key.
func sign(with string, claims any) string { return oauthtest.Keys()[with].Sign(claims) }
