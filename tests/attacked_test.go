//go:build unix

package tests

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// attackedEndpoints is a server over HTTP, with the clients ann and bob, whose plugin "answers" returns what a client of it chooses.
type attackedEndpoints struct {
	attackedServer
	dir, url string
	env      []string
	tokens   map[string]string // by client
}

// serveAttackedHTTP serves two projects, at /mcp and /mcp/two. server is added to the table [server], and more follows the other tables.
func serveAttackedHTTP(t *testing.T, server, more string) *attackedEndpoints {
	t.Helper()
	a := &attackedEndpoints{dir: newDir(t, nil), env: environment(t), tokens: map[string]string{}}
	a.project, a.log = filepath.Join(a.dir, "one"), filepath.Join(a.dir, "audit.jsonl")
	for _, project := range []string{"one", "two"} {
		putFile(t, filepath.Join(a.dir, project, "a.txt"), project)
	}
	a.configure(t, server, more)
	for _, name := range []string{"ann", "bob"} {
		out, err := a.command(t, "token", "new", name).Output()
		if err != nil {
			t.Fatal(err)
		}
		a.tokens[name] = strings.TrimSpace(string(out))
	}
	a.start(t)
	return a
}

func (a *attackedEndpoints) config() string { return filepath.Join(a.dir, "bulkhead.toml") }

func (a *attackedEndpoints) configure(t *testing.T, server, more string) {
	t.Helper()
	replace(t, a.config(), fmt.Sprintf("[server]\nname = 'x'\n%s\n[http]\ntokens = true\n[audit]\nfile = %q\narguments = 'none'\n[[projects]]\nname = 'two'\npath = %q\n%s\n[[plugins]]\npath = %q\n",
		server, a.log, filepath.Join(a.dir, "two"), more, filepath.Join(builtPlugins(t, "testdata/guests/answers"), "answers")))
}

func (a *attackedEndpoints) command(t *testing.T, args ...string) *exec.Cmd {
	cmd := exec.Command(built.program(t), append(args, "--config", a.config())...)
	cmd.Dir, cmd.Env = a.project, a.env
	return cmd
}

func (a *attackedEndpoints) start(t *testing.T) {
	t.Helper()
	a.server = startServer(t, a.command(t, "serve", "--project", a.project, "--http", "127.0.0.1:0"))
	a.url = httpURL(t, a.server)
}

// headers returns those of a request of a client.
func (a *attackedEndpoints) headers(by, method string, params members) []string {
	headers := []string{"Authorization", "Bearer " + a.tokens[by], "MCP-Protocol-Version", modernVersion, "Mcp-Method", method}
	for _, key := range []string{"name", "taskId", "uri"} {
		if name, ok := params[key].(string); ok && !strings.HasPrefix(method, "skills/") {
			headers = append(headers, "Mcp-Name", name)
		}
	}
	return headers
}

// messageOf returns a request of a client that supports tasks and questions.
func messageOf(t testing.TB, method string, params members) string {
	t.Helper()
	params["_meta"] = json.RawMessage("{" + strings.TrimPrefix(taskMeta, `"_meta":{`))
	return jsonOf(t, members{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
}

// request makes a request at the endpoint of a project, "" or "/two", and returns the response.
func (a *attackedEndpoints) request(by, project, method string, params members) string {
	a.t.Helper()
	r, body := postHTTP(a.t, a.url+project, messageOf(a.t, method, params), a.headers(by, method, params)...)
	if r.StatusCode == http.StatusUnauthorized {
		return r.Status
	}
	if _, event, ok := strings.Cut(body, "data: {"); ok { // of a stream
		body, _, _ = strings.Cut("{"+event, "\n")
	}
	return body
}

// call calls a tool of the server's own project.
func (a *attackedEndpoints) call(by, tool string, arguments members) string {
	a.t.Helper()
	return a.request(by, "", "tools/call", members{"name": tool, "arguments": arguments})
}
