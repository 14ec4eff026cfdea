//go:build unix

package tests

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestClientSDKsLogIn has clients of the official SDKs go through the whole login, from the first request without a token to a call, with an
// OpenID provider on loopback: metadata of the server and the provider, dynamic registration, authorization code with PKCE, resource.
func TestClientSDKsLogIn(t *testing.T) {
	t.Parallel()
	issuer := startProvider(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String() // the audience has it, so that the server cannot choose one
	listener.Close()
	audience := "http://" + address + "/mcp"
	dir := t.TempDir()
	config, log := filepath.Join(dir, "bulkhead.toml"), filepath.Join(dir, "audit.jsonl")
	putFile(t, config, fmt.Sprintf("[http]\nissuers = [%q]\naudience = %q\nscopes = [\"mcp:use\"]\n\n[audit]\nfile = %q\n\n[[plugins]]\npath = %q\n",
		issuer, audience, log, builtPlugins(t, "testdata/guests/surface")+"/surface"))
	url := serveHTTP(t, programCommand(t, "serve", "--config", config, "--http", address))
	if url != audience {
		t.Fatalf("the server is at %s, want %s", url, audience)
	}
	for _, c := range []library{
		{name: "typescript-1", tool: "node", adapter: "login.mjs"}, {name: "typescript-2", tool: "node", adapter: "login.mjs"}, {name: "python-2", tool: "python", adapter: "login.py"},
	} {
		t.Run(c.name, func(t *testing.T) {
			out, err := adapterCommand(t, clientProgram(t, c.tool, c.name), clientScript(t, c), c.name, url).Output()
			if err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			var got struct {
				Tools           int
				Audience, Scope string
			}
			if err := json.Unmarshal(out, &got); err != nil || got.Tools == 0 || got.Audience != audience || got.Scope != "mcp:use" {
				t.Errorf("got %s, %v", out, err)
			}
		})
	}
	// A request without a token left a record.
	response, err := http.Post(url, "application/json", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`))
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if records := readFile(t, log); response.StatusCode != http.StatusUnauthorized || !strings.Contains(records, `"http_token"`) {
		t.Errorf("status %d; the audit log is\n%s", response.StatusCode, records)
	}
}

// startProvider starts an OpenID provider, and returns its issuer.
func startProvider(t *testing.T) string {
	t.Helper()
	provider := library{tool: "node", adapter: "provider.mjs"}
	cmd := exec.Command(clientProgram(t, "node", ""), clientScript(t, provider))
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
