//go:build unix

package tests

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
)

// differential is a server with random [[clients]] tables, and the commands that explain what its clients get.
type differential struct {
	t                    *testing.T
	project, config, url string
	env                  []string
	tokens               map[string]string
}

var differentialUsers = []string{"ann", "amy", "bob"}

// some returns a random element, which may have no effect.
func some(r *rand.Rand, of ...string) string { return of[r.IntN(len(of))] }

// randomTables returns tables of which several may match a user, or none.
func randomTables(r *rand.Rand) string {
	text := fmt.Sprintf("[http]\ntokens = true\nother_clients = %q\n", some(r, "none", "all"))
	for i := range 1 + r.IntN(4) {
		text += fmt.Sprintf("[[clients]]\nname = 't%d'\nmatch = { tokens = [%s] }\n", i, some(r, "'ann'", "'a*'", "'am[xy]'", "'bob', 'ann'", "'b?b'", "'*'")) +
			some(r, "", "", "", "plugins = ['*']\n", "plugins = ['file*']\n", "plugins = ['hello']\n", "plugins = []\n") +
			some(r, "", "", "allow_tools = ['*_file', 'list_*']\n", "allow_tools = ['read_text_file', 'write_file', 'hello_*']\n", "deny_tools = ['read_media_file', 'list*']\n", "deny_tools = ['write_*']\n") +
			some(r, "", "", "read_only = true\n") +
			some(r, "", "fs = [{ path = '${project}/a', access = 'rw' }]\n", "fs = [{ path = '${project}/a', access = 'r' }, { path = '${project}/b', access = 'rw' }]\n",
				"fs = [{ path = '${project}', access = 'r' }, { path = '${project}/a/deep', access = 'rw' }]\n", "fs = [{ path = '${project}/none', access = 'rw' }]\n", "fs = []\n") +
			some(r, "", "", "deny = ['**/secret.txt']\n", "deny = ['deep']\n")
	}
	return text
}

func serveDifferential(t *testing.T, r *rand.Rand) *differential {
	t.Helper()
	plugins, dir := built.plugins(t), newDir(t, nil)
	d := &differential{t: t, project: filepath.Join(dir, "project"), config: filepath.Join(dir, "bulkhead.toml"), env: environment(t), tokens: map[string]string{}}
	for _, file := range differentialFiles {
		putFile(t, filepath.Join(d.project, file), "content")
	}
	putFile(t, d.config, fmt.Sprintf("%s[[plugins]]\npath = %q\nfs = [{ path = '${project}', access = 'rw' }]\n[[plugins]]\npath = %q\n", randomTables(r), filepath.Join(plugins, "filesystem"), filepath.Join(plugins, "hello")))
	for _, user := range differentialUsers {
		d.tokens[user] = strings.TrimSpace(d.run("token", "new", user, "--config", d.config))
	}
	serve := exec.Command(built.program(t), "serve", "--config", d.config, "--project", d.project, "--http", "127.0.0.1:0")
	serve.Dir, serve.Env = d.project, d.env
	d.url = httpURL(t, startServer(t, serve))
	return d
}

var differentialFiles = []string{"x.txt", "secret.txt", "a/x.txt", "a/secret.txt", "a/deep/x.txt", "b/x.txt", "b/deep/x.txt"}

func (d *differential) run(args ...string) string {
	d.t.Helper()
	cmd := exec.Command(built.program(d.t), args...)
	cmd.Dir, cmd.Env = d.project, d.env
	var errors strings.Builder
	cmd.Stderr = &errors
	out, err := cmd.Output()
	if err != nil {
		d.t.Fatalf("%v: %v: %s", args, err, errors.String())
	}
	return string(out)
}

func (d *differential) explain(into any, args ...string) {
	d.t.Helper()
	if err := json.Unmarshal([]byte(d.run(append(args, "--json", "--config", d.config, "--project", d.project)...)), into); err != nil {
		d.t.Fatal(err)
	}
}

// tools returns the tools that `bulkhead tools --client` names, of all tools.
func (d *differential) tools(user string) (offered, all []string) {
	var found struct {
		Plugins []struct {
			Tools []struct {
				Name    string
				Offered bool
			}
		}
	}
	d.explain(&found, "tools", "--client", user)
	for _, p := range found.Plugins {
		for _, tool := range p.Tools {
			if all = append(all, tool.Name); tool.Offered {
				offered = append(offered, tool.Name)
			}
		}
	}
	slices.Sort(offered)
	return offered, all
}

func (d *differential) call(user, tool, arguments string) (status int, body string) {
	return modernCall(d.t, d.url, tool, arguments, "Authorization", "Bearer "+d.tokens[user])
}

// listed returns the tools that the server lists, unless it does not admit the user.
func (d *differential) listed(user string) (names []string, admitted bool) {
	status, body := postHTTP(d.t, d.url, `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`,
		"Authorization", "Bearer "+d.tokens[user], "MCP-Protocol-Version", modernVersion, "Mcp-Method", "tools/list")
	if status.StatusCode == http.StatusForbidden {
		return nil, false
	}
	var answer struct {
		Result struct{ Tools []struct{ Name string } }
	}
	if err := json.Unmarshal([]byte(body), &answer); err != nil || status.StatusCode != http.StatusOK {
		d.t.Fatal(status.StatusCode, err, body)
	}
	for _, tool := range answer.Result.Tools {
		names = append(names, tool.Name)
	}
	slices.Sort(names)
	return names, true
}

// TestPolicyOfClientIsWhatTheServerGrants compares what `policy --client` and `tools --client` say with what a server with the same random
// tables lists, calls, reads and writes for that client.
func TestPolicyOfClientIsWhatTheServerGrants(t *testing.T) {
	for seed := range testenv.Count(1, 4, 40) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(uint64(seed), 31))
			d := serveDifferential(t, r)
			for _, user := range differentialUsers {
				d.compare(r, user)
			}
			if t.Failed() {
				t.Log(readFile(t, d.config))
			}
		})
	}
}

func (d *differential) compare(r *rand.Rand, user string) {
	t := d.t
	offered, all := d.tools(user)
	listed, admitted := d.listed(user)
	if !slices.Equal(offered, listed) {
		t.Errorf("%s: `tools --client` says %v, and the server lists %v (admitted: %t)", user, offered, listed, admitted)
	}
	if !admitted {
		if status, body := d.call(user, "hello_greet", `{"name":"Ann"}`); status != http.StatusForbidden {
			t.Errorf("%s is not admitted, and calls a tool: %d %s", user, status, body)
		}
		return
	}
	for _, tool := range all {
		status, body := d.call(user, tool, `{"unknown":1}`) // refused by the schema, or as an unknown tool
		if known := !strings.Contains(body, "nknown tool"); known != slices.Contains(listed, tool) {
			t.Errorf("%s: %s is listed: %t, and its call is answered by %d %s", user, tool, !known, status, body)
		}
	}
	var why struct{ Answers []struct{ Allowed bool } }
	tool := all[r.IntN(len(all))]
	d.explain(&why, "policy", "--client", user, "--tool", tool)
	if len(why.Answers) != 1 || why.Answers[0].Allowed != slices.Contains(listed, tool) {
		t.Errorf("%s: `policy --tool %s` answers %+v, and the server lists %v", user, tool, why.Answers, listed)
	}
	for range 3 {
		d.comparePath(user, listed, filepath.Join(d.project, differentialFiles[r.IntN(len(differentialFiles))]))
	}
}

// comparePath reads and writes a file by those tools that the client may call.
func (d *differential) comparePath(user string, listed []string, path string) {
	var why struct {
		Answers []struct {
			Access  string
			Allowed bool
			Why     string
		}
	}
	d.explain(&why, "policy", "filesystem", "--client", user, "--path", path)
	for _, answer := range why.Answers {
		tool, arguments := "read_text_file", fmt.Sprintf(`{"path":%q}`, path)
		if answer.Access == "write" {
			tool, arguments = "write_file", fmt.Sprintf(`{"path":%q,"content":"content"}`, path)
		}
		if !slices.Contains(listed, tool) {
			continue
		}
		status, body := d.call(user, tool, arguments)
		if done := status == http.StatusOK && !strings.Contains(body, `"isError":true`) && !strings.Contains(body, `"error":`); done != answer.Allowed {
			d.t.Errorf("%s: `policy` says that %s %s is allowed: %t (%s), and the server answers %d %s", user, answer.Access, path, answer.Allowed, answer.Why, status, body)
		}
	}
}
