//go:build unix

package tests

import (
	"bufio"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// logins are the ways in which clients of the official SDKs log in.
var logins = map[string]struct {
	provider, client string // options of provider.mjs, and of login.mjs and login.py, in JSON
	tool             string // what the client needs; empty: all of them
	logins, tokens   int
}{
	// The client registers itself.
	"registration": {logins: 1, tokens: 1},
	// The client is known by the URL of its metadata. DOCUMENT stands for it.
	"metadata document": {provider: `{"documents":true}`, client: `{"client":"DOCUMENT"}`, logins: 1, tokens: 1},
	// The first token lacks a scope. The client logs in again for it.
	"further scope": {provider: `{"reluctant":true}`, logins: 2, tokens: 2},
	// The access token expires. The SDKs of TypeScript refresh it after a 401, that of Python by the time that the provider states.
	"refresh":         {provider: `{"expired":true}`, client: `{"grants":["authorization_code","refresh_token"]}`, tool: "node", logins: 1, tokens: 2},
	"refresh in time": {provider: `{"seconds":2}`, client: `{"grants":["authorization_code","refresh_token"],"wait":3}`, tool: "python", logins: 1, tokens: 2},
}

// loginClients are the clients that log in.
var loginClients = []library{
	{name: "typescript-1", tool: "node", adapter: "login.mjs"}, {name: "typescript-2", tool: "node", adapter: "login.mjs"}, {name: "python-2", tool: "python", adapter: "login.py"},
}

// TestClientSDKsLogIn has clients of the official SDKs go through the whole login, from the first request without a token to a call, with an
// OpenID provider on loopback: metadata of the server and the provider, authorization code with PKCE, resource, refresh.
func TestClientSDKsLogIn(t *testing.T) {
	t.Parallel()
	for name, way := range logins {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			document, authority := clientDocument(t)
			s := serveLogin(t, freeAddress(t), startProvider(t, way.provider, authority), "")
			for _, c := range loginClients {
				if way.tool != "" && way.tool != c.tool {
					continue
				}
				t.Run(c.name, func(t *testing.T) {
					options := strings.ReplaceAll(way.client, "DOCUMENT", document)
					if options == "" {
						options = "{}"
					}
					got := s.logIn(t, c, options)
					if got.Tools == 0 || got.Scope != "mcp:use" || got.Logins != way.logins || got.Tokens != way.tokens {
						t.Errorf("got %+v", got)
					}
					if isDocument := got.Client == document; isDocument != strings.Contains(way.provider, "documents") {
						t.Errorf("the client is %s", got.Client)
					}
				})
			}
		})
	}
}

// clientDocument serves the metadata of the clients over TLS, and returns its URL, which is the clients' ID, and the file of the certificate.
func clientDocument(t *testing.T) (url, authority string) {
	t.Helper()
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		page(fmt.Sprintf(`{"client_id":%q,"client_name":"login","redirect_uris":["http://127.0.0.1/callback"],"token_endpoint_auth_method":"none",`+
			`"grant_types":["authorization_code"],"response_types":["code"],"application_type":"native"}`, url))(w, nil)
	}))
	t.Cleanup(s.Close)
	authority = filepath.Join(t.TempDir(), "authority.pem")
	putFile(t, authority, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})))
	url = s.URL + "/client.json"
	return url, authority
}

// loginServer is a server to which clients log in.
type loginServer struct{ url, audit string }

// freeAddress returns a loopback address that no program listens on: the audience of tokens has it, so that the server cannot choose one.
func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

// serveLogin serves the plugin surface to the users of an issuer. more is the rest of the config.
func serveLogin(t *testing.T, address, issuer, more string) loginServer {
	t.Helper()
	s := loginServer{url: "http://" + address + "/mcp"}
	dir := t.TempDir()
	config := filepath.Join(dir, "bulkhead.toml")
	s.audit = filepath.Join(dir, "audit.jsonl")
	putFile(t, config, fmt.Sprintf("[http]\nissuers = [%q]\naudience = %q\nscopes = [\"mcp:use\"]\n\n[audit]\nfile = %q\n\n[[plugins]]\npath = %q\n\n%s",
		issuer, s.url, s.audit, builtPlugins(t, "testdata/guests/surface")+"/surface", more))
	if url := serveHTTP(t, programCommand(t, "serve", "--config", config, "--http", address)); url != s.url {
		t.Fatalf("the server is at %s, want %s", url, s.url)
	}
	return s
}

// loggedIn is what a client reports.
type loggedIn struct {
	Tools, Logins, Tokens          int
	Audience, Scope, Client, Token string
}

// logIn has a client log in, and checks what the audit log has of the requests that were refused before.
func (s loginServer) logIn(t *testing.T, c library, options string) (got loggedIn) {
	t.Helper()
	out, err := adapterCommand(t, clientProgram(t, c.tool, c.name), clientScript(t, c), c.name, s.url, options).Output()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if err := json.Unmarshal(out, &got); err != nil || got.Audience != s.url {
		t.Errorf("got %s, %v", out, err)
	}
	codes := []string{`"http_token"`}
	if got.Logins > 1 {
		codes = append(codes, `"http_scope"`)
	}
	s.wantRecords(t, codes, got.Token)
	return got
}

// wantRecords waits until the audit log contains texts, and checks that it contains no token.
func (s loginServer) wantRecords(t *testing.T, texts []string, tokens ...string) {
	t.Helper()
	records := readFile(t, s.audit)
	for end := time.Now().Add(patience); !containsAll(records, texts...); records = readFile(t, s.audit) {
		if time.Now().After(end) {
			t.Fatalf("the audit log lacks one of %q:\n%s", texts, records)
		}
		time.Sleep(20 * time.Millisecond)
	}
	for _, token := range tokens {
		if strings.Contains(records, token[len(token)-20:]) {
			t.Errorf("the audit log contains a token:\n%s", records)
		}
	}
}

// list lists the tools with a token.
func (s loginServer) list(t *testing.T, token string) (status int, text string) {
	t.Helper()
	response, text := postHTTP(t, s.url, `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`,
		"MCP-Protocol-Version", modernVersion, "Mcp-Method", "tools/list", "Authorization", "Bearer "+token)
	return response.StatusCode, text
}

// startProvider starts an OpenID provider, which trusts a certificate beside those of the system, and returns its issuer.
func startProvider(t *testing.T, options, authority string) string {
	t.Helper()
	provider := library{tool: "node", adapter: "provider.mjs"}
	cmd := exec.Command(clientProgram(t, "node", ""), clientScript(t, provider))
	if options != "" {
		cmd.Args = append(cmd.Args, options)
	}
	cmd.Env = append(cmd.Environ(), "NODE_EXTRA_CA_CERTS="+authority)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stdin.Close()
		_ = cmd.Wait() // it ends with its input
		if t.Failed() {
			t.Logf("stderr of the provider:\n%s", stderr.String())
		}
	})
	lines := bufio.NewScanner(stdout)
	if !lines.Scan() {
		t.Fatal("the provider did not start")
	}
	return lines.Text()
}

// adapterCommand returns the command of a client's program, whose errors are shown if the test fails.
func adapterCommand(t *testing.T, program string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, args...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	cmd.Env = append(cmd.Environ(), "PYTHONDONTWRITEBYTECODE=1", "NO_PROXY=127.0.0.1")
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("stderr of the client:\n%s", stderr.String())
		}
	})
	return cmd
}
