//go:build unix

package tests

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/protocol/oauth/oauthtest"
)

// issuers is a server on loopback at which each first part of a path is an issuer.
type issuers struct {
	base string

	mu       sync.Mutex
	pages    map[string]http.HandlerFunc // by path
	requests map[string]int              // by path
}

func startIssuers(t *testing.T) *issuers {
	t.Helper()
	i := &issuers{pages: map[string]http.HandlerFunc{}, requests: map[string]int{}}
	s := httptest.NewServer(i)
	t.Cleanup(s.Close)
	i.base = s.URL
	return i
}

// ServeHTTP implements http.Handler.
func (i *issuers) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	i.mu.Lock()
	i.requests[r.URL.Path]++
	found := i.pages[r.URL.Path]
	i.mu.Unlock()
	if found == nil {
		http.NotFound(w, r)
		return
	}
	found(w, r)
}

func metadataPath(name string) string { return "/.well-known/oauth-authorization-server/" + name }

// set replaces a page.
func (i *issuers) set(path string, to http.HandlerFunc) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.pages[path] = to
}

// add has an issuer with keys, and returns its name.
func (i *issuers) add(name, keys string) (issuer string) {
	issuer = i.base + "/" + name
	i.set(metadataPath(name), page(fmt.Sprintf(`{"issuer":%q,"jwks_uri":"%s/keys"}`, issuer, issuer)))
	i.set("/"+name+"/keys", page(keys))
	return issuer
}

// count returns how often the keys of an issuer were requested.
func (i *issuers) count(name string) int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.requests["/"+name+"/keys"]
}

// page returns a page with JSON.
func page(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(text)) // a server that ends the request does not need it
	}
}

// resourceAudience is the URL of the MCP endpoint in the tests of access tokens. They connect to another address, as a proxy does.
const resourceAudience = "https://mcp.example.com/mcp"

// resourceServer is a server that accepts the access tokens of issuers, and named tokens.
type resourceServer struct {
	t          *testing.T
	url, audit string
	log        *logBuffer
	env        []string
}

func serveResource(t *testing.T, more string, accepted ...string) *resourceServer {
	t.Helper()
	dir := newDir(t, nil)
	config, audit := filepath.Join(dir, "bulkhead.toml"), filepath.Join(dir, "audit.jsonl")
	list, err := json.Marshal(accepted)
	if err != nil {
		t.Fatal(err)
	}
	putFile(t, config, fmt.Sprintf("[http]\nissuers = %s\naudience = %q\nscopes = [\"mcp:use\"]\ntokens = true\n\n[audit]\nfile = %q\n\n[[plugins]]\npath = %q\n\n%s",
		list, resourceAudience, audit, filepath.Join(copyPlugins(t, "hello"), "hello"), more))
	cmd := programCommand(t, "serve", "--config", config, "--project", newDir(t, nil), "--http", "127.0.0.1:0")
	s := startServer(t, cmd)
	return &resourceServer{t: t, url: httpURL(t, s), audit: audit, log: s.log, env: cmd.Env}
}

// call makes a call with a token, at a path below the endpoint.
func (s *resourceServer) call(token, path string) (*http.Response, string) {
	s.t.Helper()
	headers := []string{"MCP-Protocol-Version", modernVersion, "Mcp-Method", "tools/call", "Mcp-Name", "hello_greet"}
	if token != "" {
		headers = append(headers, "Authorization", "Bearer "+token)
	}
	return postHTTP(s.t, s.url+path, fmt.Sprintf(callMessage, "hello_greet", `{"name":"Ann"}`), headers...)
}

// want checks the status of a call.
func (s *resourceServer) want(token string, status int) {
	s.t.Helper()
	if got, body := s.call(token, ""); got.StatusCode != status {
		s.t.Errorf("got %d %s, want %d", got.StatusCode, body, status)
	}
}

// refusal is a record of the audit log about a refused request.
type refusal struct{ Kind, Principal, Address, Method, Outcome, Code, Reason string }

// refusals waits until the audit log has a number of records of refused requests, and returns them.
func (s *resourceServer) refusals(count int) []refusal {
	s.t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		var found []refusal
		text, err := os.ReadFile(s.audit)
		if err != nil {
			s.t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			var r refusal
			if err := json.Unmarshal([]byte(line), &r); err == nil && r.Kind == "refused" {
				found = append(found, r)
			}
		}
		if len(found) >= count || time.Now().After(end) {
			return found
		}
	}
}

// wantNoPartOf checks that neither the log nor the audit log contains a part of a token.
func (s *resourceServer) wantNoPartOf(token string) {
	s.t.Helper()
	written := s.log.String() + readFile(s.t, s.audit)
	for part := range strings.SplitSeq(token, ".") {
		if len(part) > 16 && strings.Contains(written, part[:16]) && part[:16] != oauthtest.Encode(`{"alg":"ES256",`)[:16] {
			s.t.Errorf("a part of the token was written: %.16s…", part)
		}
	}
}
