//go:build unix

package tests

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// replicas are servers over HTTP that share a file of keys for the state of questions, and named tokens.
type replicas struct {
	t      *testing.T
	dir    string
	env    []string
	tokens map[string]string
}

func newReplicas(t *testing.T) *replicas {
	r := &replicas{t: t, dir: newDir(t, nil), env: environment(t), tokens: map[string]string{}}
	r.config("asks", r.keys(), "")
	r.config("approves", r.keys(), "approve_tools = [\"ask_*\"]\n")
	for _, name := range []string{"ann", "bob"} {
		out, err := r.command("token", "new", name, "--config", filepath.Join(r.dir, "asks.toml")).Output()
		if err != nil {
			t.Fatal(err)
		}
		r.tokens[name] = strings.TrimSpace(string(out))
	}
	return r
}

func (r *replicas) keys() string { return filepath.Join(r.dir, "keys") }

func (r *replicas) config(name, keys, plugin string) {
	putFile(r.t, filepath.Join(r.dir, name+".toml"), fmt.Sprintf("[http]\ntokens = true\nstate_keys = %q\n[[plugins]]\npath = %q\n%s", keys, filepath.Join(builtPlugins(r.t, "../examples/ask"), "ask"), plugin))
}

func (r *replicas) command(args ...string) *exec.Cmd {
	cmd := programCommand(r.t, args...)
	cmd.Env = r.env
	return cmd
}

// putKeys replaces the file of keys as programs do that write atomically.
func (r *replicas) putKeys(keys ...string) {
	r.t.Helper()
	next := r.keys() + ".next"
	if err := os.WriteFile(next, []byte(strings.Join(keys, "\n")+"\n"), 0o600); err != nil {
		r.t.Fatal(err)
	}
	if err := os.Rename(next, r.keys()); err != nil {
		r.t.Fatal(err)
	}
}

func (r *replicas) serve(config string) string {
	r.t.Helper()
	return serveHTTP(r.t, r.command("serve", "--config", filepath.Join(r.dir, config+".toml"), "--http", "127.0.0.1:0"))
}

// inviteMessage calls the tool of examples/ask, with further parameters.
const inviteMessage = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ask_invite","arguments":{"occasion":"tea"},%s"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}}}`

// call calls the tool of examples/ask. more are further parameters.
func (r *replicas) call(url, user, more string) string {
	r.t.Helper()
	_, body := postHTTP(r.t, url, fmt.Sprintf(inviteMessage, more),
		"Authorization", "Bearer "+r.tokens[user], "MCP-Protocol-Version", modernVersion, "Mcp-Method", "tools/call", "Mcp-Name", "ask_invite")
	return body
}

// question returns the state of the question that a call asks.
func (r *replicas) question(url, user string) string {
	r.t.Helper()
	return r.stateIn(r.call(url, user, ""))
}

func (r *replicas) stateIn(body string) string {
	r.t.Helper()
	var m struct {
		Result struct{ RequestState string }
	}
	if err := json.Unmarshal([]byte(body), &m); err != nil || m.Result.RequestState == "" {
		r.t.Fatalf("no question: %s, %v", body, err)
	}
	return m.Result.RequestState
}

// answered returns the parameters that answer a question.
func answered(state, id, content string) string {
	return fmt.Sprintf(`"requestState":%q,"inputResponses":{%q:{"action":"accept","content":%s}},`, state, id, content)
}

const (
	aKey      = "the-first-key-that-the-servers-share"
	anotherOf = "the-second-key-that-the-servers-share"
	invited   = "Dear Ada, you are invited: tea."
	notValid  = "it is not valid for this request"
)

func guest(state string) string { return answered(state, "guest", `{"name":"Ada"}`) }

// TestQuestionIsAnsweredAtAnotherServer has two servers with a shared key answer each other's questions, for the same principal only, while
// the key is replaced.
func TestQuestionIsAnsweredAtAnotherServer(t *testing.T) {
	t.Parallel()
	r := newReplicas(t)
	r.putKeys(aKey)
	one, two := r.serve("asks"), r.serve("asks")
	state := r.question(one, "ann")
	for name, c := range map[string]struct{ url, user, want string }{
		"another server":    {two, "ann", invited},
		"the same server":   {one, "ann", invited},
		"another principal": {two, "bob", notValid},
	} {
		if got := r.call(c.url, c.user, guest(state)); !strings.Contains(got, c.want) {
			t.Errorf("%s: got %s", name, got)
		}
	}

	r.putKeys(anotherOf, aKey)
	var next string
	waitFor(t, "the new key", func() bool { // the first server knows it, and another one with only that key does too
		next = r.question(one, "ann")
		return strings.Contains(r.call(two, "ann", guest(next)), invited) && strings.Contains(r.call(one, "ann", guest(r.question(two, "ann"))), invited)
	})
	if got := r.call(two, "ann", guest(state)); !strings.Contains(got, invited) {
		t.Errorf("a state with the former key: got %s", got)
	}
	r.putKeys(anotherOf)
	waitFor(t, "the end of the former key", func() bool {
		return strings.Contains(r.call(one, "ann", guest(state)), notValid) && strings.Contains(r.call(two, "ann", guest(state)), notValid)
	})
	r.putKeys("short")
	if got := r.call(two, "ann", guest(r.question(one, "ann"))); !strings.Contains(got, invited) {
		t.Errorf("with a file that is not valid any more: got %s", got)
	}
}

// TestApprovalCountsAtTheServerThatAsked checks that servers with a shared key accept an approval once: only the one that asked knows whether it was used.
func TestApprovalCountsAtTheServerThatAsked(t *testing.T) {
	t.Parallel()
	r := newReplicas(t)
	r.putKeys(aKey)
	one, two := r.serve("approves"), r.serve("approves")
	approved := answered(r.question(one, "ann"), "bulkhead_approval", `{"approve":true}`)
	if got := r.call(two, "ann", approved); !strings.Contains(got, notValid) {
		t.Errorf("at another server: got %s", got)
	}
	asked := r.call(one, "ann", approved)
	if got := r.call(one, "ann", approved); !strings.Contains(got, "approval_replayed") {
		t.Errorf("again: got %s", got)
	}
	further := guest(r.stateIn(asked)) // the approval goes on to the next round
	if got := r.call(two, "ann", further); !strings.Contains(got, notValid) {
		t.Errorf("the next round at another server: got %s", got)
	}
	if got := r.call(one, "ann", further); !strings.Contains(got, invited) {
		t.Errorf("the next round: got %s", got)
	}
	if got := r.call(one, "ann", further); !strings.Contains(got, "approval_replayed") {
		t.Errorf("the next round again: got %s", got)
	}
}

func TestStateKeysAreChecked(t *testing.T) {
	t.Parallel()
	r := newReplicas(t)
	for name, c := range map[string]struct {
		content, want string
		mode          os.FileMode
	}{
		"very short":       {aKey + "\nno-key-but-a-secret", "keys:2: this is no key: it has fewer than 32 characters", 0o600},
		"short":            {aKey + "\nno-key-but-a-secret-of-25", "keys:2: this is no key: it has fewer than 32 characters", 0o600},
		"a space":          {aKey + " " + aKey, "keys:1: this is no key: it has characters other than visible ASCII", 0o600},
		"none":             {"\n", "has 0 keys", 0o600},
		"many":             {strings.Repeat(aKey+"\n", 9), "has 9 keys", 0o600},
		"others can write": {aKey, "can be written by others", 0o666},
	} {
		t.Run(name, func(t *testing.T) {
			r.putKeys(c.content)
			if err := os.Chmod(r.keys(), c.mode); err != nil {
				t.Fatal(err)
			}
			cmd := r.command("serve", "--config", filepath.Join(r.dir, "asks.toml"), "--http", "127.0.0.1:0")
			out, err := cmd.CombinedOutput()
			if err == nil || cmd.ProcessState.ExitCode() != 2 || !strings.Contains(string(out), "http.state_keys") || !strings.Contains(string(out), c.want) || strings.Contains(string(out), aKey) || strings.Contains(string(out), "but-a-secret") {
				t.Errorf("got %v: %s", err, out)
			}
		})
	}
}
