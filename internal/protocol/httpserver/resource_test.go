package httpserver

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/internal/protocol/bearer"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/call"
)

// issued is an Authenticator for tokens of an issuer.
type issued struct {
	access  map[string]*bearer.Access
	refused map[string]*bearer.Refused
}

func (i issued) Authenticate(_ context.Context, token, _ string) (*bearer.Access, error) {
	if r := i.refused[token]; r != nil {
		return nil, r
	}
	return i.access[token], nil
}

var resource = &Resource{URL: "https://mcp.example.com/tools/mcp", Issuers: []string{"https://login.example.com"}, Scopes: []string{"mcp:use", "other"}}

// TestResourceMetadata checks the addresses of RFC 9728 and what is there. No token is needed, and no Host is checked.
func TestResourceMetadata(t *testing.T) {
	run(t, Config{Auth: issued{}, Resource: resource}, func(t *testing.T, f *fixture) {
		for path, want := range map[string]string{
			"":                                      "https://mcp.example.com/tools/mcp",
			"/tools/mcp":                            "https://mcp.example.com/tools/mcp",
			"/tools/mcp/team-a":                     "https://mcp.example.com/tools/mcp/team-a",
			"/mcp":                                  "",
			"/tools/mcp/":                           "",
			"/tools/mcp/a/b":                        "",
			"/tools/mcp/a%22b":                      "",
			"/tools/mcpx":                           "",
			"x":                                     "",
			"/tools/mcp/" + strings.Repeat("a", 65): "",
		} {
			got := f.do(http.MethodGet, metadataPath+path, "", "Host", "mcp.example.com")
			var document map[string]any
			if want == "" {
				got.want(t, http.StatusNotFound, "the MCP endpoint is")
				continue
			}
			if err := json.Unmarshal([]byte(got.body), &document); err != nil || got.status != http.StatusOK {
				t.Errorf("%s: %d %s", path, got.status, got.body)
			}
			if diff := cmp.Diff(document, map[string]any{
				"resource": want, "authorization_servers": []any{"https://login.example.com"}, "scopes_supported": []any{"mcp:use", "other"},
				"bearer_methods_supported": []any{"header"}, "resource_name": "Bulkhead",
			}); diff != "" {
				t.Errorf("%s: %s", path, diff)
			}
		}
		f.do(http.MethodPost, metadataPath, "{}").want(t, http.StatusMethodNotAllowed, "GET")
	})
	run(t, Config{}, func(t *testing.T, f *fixture) {
		f.do(http.MethodGet, metadataPath, "").want(t, http.StatusNotFound, "the MCP endpoint is")
	})
}

// TestChallenges checks what a client is told that has no valid token, and what is recorded.
func TestChallenges(t *testing.T) {
	ann := &call.Principal{ID: "oauth:ann"}
	auth := issued{refused: map[string]*bearer.Refused{
		"expired": {Why: "the token has expired", Principal: ann}, "narrow": {Why: "the token lacks a scope", Principal: ann, Status: http.StatusForbidden},
		"later": {Why: "the keys are not available", Status: http.StatusServiceUnavailable},
	}}
	const where = `Bearer realm="bulkhead", resource_metadata="https://mcp.example.com/.well-known/oauth-protected-resource/tools/mcp", scope="mcp:use other"`
	var reported []Refusal
	run(t, Config{Auth: auth, Resource: resource, Refused: func(r Refusal) { reported = append(reported, r) }}, func(t *testing.T, f *fixture) {
		body, headers := modernCall("echo", `{}`)
		for _, c := range []struct {
			token, challenge string
			status           int
			want             Refusal
		}{
			{"", where, 401, Refusal{Code: RefusedToken, Reason: "a bearer token is required in the Authorization header"}},
			{"unknown", where + `, error="invalid_token", error_description="the bearer token in the Authorization header is wrong"`, 401, Refusal{Code: RefusedToken, Reason: "the bearer token in the Authorization header is wrong"}},
			{"expired", where + `, error="invalid_token", error_description="the token has expired"`, 401, Refusal{Code: RefusedToken, Reason: "the token has expired", Principal: "oauth:ann"}},
			{"narrow", where + `, error="insufficient_scope", error_description="the token lacks a scope"`, 403, Refusal{Code: RefusedScope, Reason: "the token lacks a scope", Principal: "oauth:ann"}},
			{"later", "", 503, Refusal{Code: RefusedToken, Reason: "the keys are not available"}},
		} {
			h := headers
			if c.token != "" {
				h = append(h[:len(h):len(h)], authorization(c.token)...)
			}
			got := f.post(body, h...)
			if challenge := got.header.Get("WWW-Authenticate"); got.status != c.status || challenge != c.challenge || (got.header.Get("Retry-After") != "") != (c.status == 503) {
				t.Errorf("%q: %d\n%s\n%s", c.token, got.status, challenge, c.challenge)
			}
			c.want.Address, c.want.Method = "127.0.0.1", http.MethodPost
			if last := reported[len(reported)-1]; last != c.want {
				t.Errorf("%q: reported %+v, want %+v", c.token, last, c.want)
			}
		}
	})
}

// TestExpiryOfAccessTokenEndsStreams checks that a session outlives an access token, since its owner gets a new one, while its streams and
// those of the modern era end; and that each request has the claims of its own token.
func TestExpiryOfAccessTokenEndsStreams(t *testing.T) {
	auth := issued{access: map[string]*bearer.Access{}}
	run(t, Config{Auth: auth, SessionIdle: 24 * time.Hour}, func(t *testing.T, f *fixture) {
		auth.access["first"] = &bearer.Access{Principal: &call.Principal{ID: "oauth:ann", Groups: []string{"a"}}, Expires: time.Now().Add(time.Hour)}
		auth.access["second"] = &bearer.Access{Principal: &call.Principal{ID: "oauth:ann", Groups: []string{"b"}}, Expires: time.Now().Add(2 * time.Hour)}
		auth.access["other"] = &bearer.Access{Principal: &call.Principal{ID: "oauth:bob"}, Expires: time.Now().Add(2 * time.Hour)}
		o := f.openAll("first")
		<-f.b.requests
		<-f.b.requests
		time.Sleep(time.Hour)
		for name, e := range map[string]*events{"GET": o.stream, "subscriptions/listen": o.listening} {
			for data := "?"; data != ""; {
				if _, data = e.next(); strings.Contains(data, "notifications/message") {
					t.Errorf("the stream of %s got %s", name, data)
				}
			}
		}
		f.b.release <- struct{}{}
		f.b.release <- struct{}{}
		(<-o.legacy).want(t, http.StatusOK, "result")
		(<-o.modern).want(t, http.StatusOK, "result")
		f.post(legacyCall(2, "echo"), append(authorization("second"), headerSession, o.session)...).want(t, http.StatusOK, "result")
		if r := <-f.b.requests; r.Principal.Groups[0] != "b" {
			t.Errorf("the request has the groups %v of the session's first request", r.Principal.Groups)
		}
		f.post(legacyCall(3, "echo"), append(authorization("other"), headerSession, o.session)...).want(t, http.StatusNotFound, "")
		again := f.stream(http.MethodGet, "", append(authorization("second"), headerSession, o.session)...)
		f.g.Warn("bulkhead", "still here")
		synctest.Wait()
		again.want("0-1", "still here")
	})
}
