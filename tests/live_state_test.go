//go:build unix

package tests

import (
	"bufio"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// liveStateConfig has one tool that is withheld, and a limit that a call can exceed.
const liveStateConfig = `[audit]
file = "AUDIT"
LIVE
[[plugins]]
path = "PLUGINS/misbehave"
deny_tools = ["misbehave_panic"]
approve_tools = ["misbehave_ok"]
[[plugins]]
path = "PLUGINS/hello"
limits = { input = "1KiB" }
`

// liveServers is an installation with a server on stdio and another over HTTP, and the pages.
type liveServers struct {
	stdio, http *server
	config      string
	pages       *uiPages
}

func serveLiveState(t *testing.T, line string) *liveServers {
	t.Helper()
	state, err := os.MkdirTemp("", "s") // whose path leaves room for the name of a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(state) })
	dir, env := newDir(t, nil), environment(t, "XDG_STATE_HOME="+state)
	plugins := copyPlugins(t, "hello", "misbehave")
	config := filepath.Join(dir, "bulkhead.toml")
	putFile(t, config, strings.NewReplacer("AUDIT", filepath.Join(dir, "audit.jsonl"), "LIVE", line, "PLUGINS", plugins).Replace(liveStateConfig))
	command := func(args ...string) *exec.Cmd {
		cmd := exec.Command(built.program(t), append(args, "--config", config)...)
		cmd.Dir, cmd.Env = dir, env
		return cmd
	}
	l := &liveServers{config: config, stdio: startServer(t, command("serve")), http: startServer(t, command("serve", "--http", "127.0.0.1:0"))}
	l.stdio.ask(initializeLine)
	httpURL(t, l.http)
	var link string
	l.pages, link = startUI(t, dir, env, "--config", config)
	if status, body := l.pages.open(link); status != http.StatusOK {
		t.Fatalf("the link is answered with %d: %s", status, body)
	}
	return l
}

// waitFor returns the page Live as soon as it has all of these texts.
func (l *liveServers) waitFor(t *testing.T, want ...string) string {
	t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		status, body := l.pages.get(l.pages.base + "/live")
		if status == http.StatusOK && containsAll(body, want...) {
			return body
		}
		if time.Now().After(end) {
			t.Fatalf("the page (%d) lacks one of %q:\n%s", status, want, body)
		}
	}
}

func TestLivePageShowsServersOnStdioAndHTTP(t *testing.T) {
	t.Parallel()
	l := serveLiveState(t, "live = true")
	stdio, overHTTP := fmt.Sprintf("Server %d, stdio", l.stdio.cmd.Process.Pid), fmt.Sprintf("Server %d, http", l.http.cmd.Process.Pid)
	l.waitFor(t, stdio, overHTTP, l.config)

	// A stream that is open gets what happens later.
	stream, err := l.pages.client.Get(l.pages.base + "/live/events")
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Body.Close()
	events := bufio.NewScanner(stream.Body)
	l.stdio.startCall("misbehave_sleep", `{"ms":15000}`)
	for seen := false; !seen; {
		if !events.Scan() {
			t.Fatalf("the stream ended without the call: %v", events.Err())
		}
		seen = strings.Contains(events.Text(), "misbehave_sleep") && strings.Contains(events.Text(), ">running<")
	}
	l.waitFor(t, "misbehave: misbehave_sleep", ">running<")

	// A refusal has the line that decides and the command that explains it; so does a limit.
	startCall(t, http.DefaultClient, httpURL(t, l.http), "misbehave_panic", `{}`, "").Body.Close()
	startCall(t, http.DefaultClient, httpURL(t, l.http), "hello_greet", fmt.Sprintf(`{"name":%q}`, strings.Repeat("x", 2000)), "").Body.Close()
	body := l.waitFor(t, "<code>bulkhead policy misbehave <span class=\"flag\">--tool</span> misbehave_panic <span class=\"flag\">--config</span> ", "input_too_large", "<code>limits.input</code>")
	for _, want := range []string{"bulkhead.toml:6</a>: <code>deny_tools</code>", "bulkhead.toml:10</a>: <code>limits.input</code>"} {
		if !strings.Contains(body, want) {
			t.Errorf("the page lacks %s:\n%s", want, body)
		}
	}
	if strings.Contains(body, strings.Repeat("x", 100)) {
		t.Error("the page has arguments of a call")
	}

	l.testQuestion(t)

	// A server that is killed is no longer shown.
	l.http.kill()
	if body := l.waitFor(t, stdio); strings.Contains(body, overHTTP) || strings.Contains(body, "Warning") {
		t.Errorf("the killed server is shown:\n%s", body)
	}
}

// testQuestion has a question that waits until the call is made again with the answer.
func (l *liveServers) testQuestion(t *testing.T) {
	t.Helper()
	call := func(more string) string {
		message := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"misbehave_ok","arguments":{},"_meta":{"io.modelcontextprotocol/protocolVersion":"` + modernVersion +
			`","io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}` + more + `}}`
		_, body := postHTTP(t, httpURL(t, l.http), message, "MCP-Protocol-Version", modernVersion, "Mcp-Method", "tools/call", "Mcp-Name", "misbehave_ok")
		return body
	}
	asked := regexp.MustCompile(`"requestState":"([^"]+)"`).FindStringSubmatch(call(""))
	if asked == nil {
		t.Fatal("the call does not ask for approval")
	}
	l.waitFor(t, ">misbehave: misbehave_ok</th>", ">approval of the call</td>")
	if body := call(`,"requestState":"` + asked[1] + `","inputResponses":{"bulkhead_approval":{"action":"decline"}}`); !strings.Contains(body, "approval_declined") && !strings.Contains(body, "declined") {
		t.Fatalf("got %s", body)
	}
	if _, body := l.pages.get(l.pages.base + "/live"); strings.Contains(body, ">approval of the call</td>") || !strings.Contains(body, "approval_declined") {
		t.Errorf("after the answer the question waits: %s", body)
	}
}

// TestLiveStateIsOffByDefaultAndChangesByReload has no socket until the config has live = true, and none after that was removed.
func TestLiveStateIsOffByDefaultAndChangesByReload(t *testing.T) {
	t.Parallel()
	l := serveLiveState(t, "")
	body := l.waitFor(t, "No running server offers its state", "<pre>live = true</pre>")
	if strings.Contains(body, "Server ") {
		t.Errorf("a server is shown: %s", body)
	}
	off, err := os.ReadFile(l.config)
	if err != nil {
		t.Fatal(err)
	}
	putFile(t, l.config, strings.Replace(string(off), "\n\n", "\nlive = true\n", 1))
	l.waitFor(t, ", stdio", ", http")
	putFile(t, l.config, string(off))
	l.waitFor(t, "No running server offers its state")
}
