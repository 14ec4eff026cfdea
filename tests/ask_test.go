//go:build unix

//lint:file-ignore SA1019 sampling is deprecated, but clients and servers still have it

package tests

import (
	"bufio"
	"context"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// transportsTo returns the transports to servers that serve starts, with the arguments that it adds to those of a server.
func transportsTo(serve func(t *testing.T, more ...string) *exec.Cmd) map[string]func(*testing.T) mcp.Transport {
	return map[string]func(*testing.T) mcp.Transport{
		"stdio": func(t *testing.T) mcp.Transport { return &mcp.CommandTransport{Command: serve(t)} },
		"http": func(t *testing.T) mcp.Transport {
			return &mcp.StreamableClientTransport{Endpoint: serveHTTP(t, serve(t, "--http", "127.0.0.1:0"))}
		},
	}
}

// TestClientsAreAsked has the client of the official Go SDK call the tool of examples/ask, which asks its user and its model,
// over both transports and in both eras.
func TestClientsAreAsked(t *testing.T) {
	t.Parallel()
	dir := newDir(t, map[string]string{"bulkhead.toml": "[[plugins]]\npath = \"" + filepath.Join(builtPlugins(t, "../examples/ask"), "ask") + "\"\n"})
	serve := func(t *testing.T, more ...string) *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), built.program(t), append([]string{"serve", "--config", filepath.Join(dir, "bulkhead.toml")}, more...)...)
		cmd.Dir, cmd.Env = dir, environment(t)
		return cmd
	}
	run := func(t *testing.T, want string, args ...string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), built.program(t), append(args, "--config", filepath.Join(dir, "bulkhead.toml"))...)
		cmd.Dir, cmd.Env = dir, environment(t)
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), want) {
			t.Errorf("bulkhead %s: %v, %s; want %q", strings.Join(args, " "), err, out, want)
		}
	}
	t.Run("command line", func(t *testing.T) {
		call := []string{"call", "ask_invite", "--arg", "occasion=tea"}
		run(t, "Dear Ada, you are invited: tea.", append(call, "--answer", `guest={"action":"accept","content":{"name":"Ada"}}`)...)
		run(t, "Come!", append(call, "--answer", `guest={"action":"accept","content":{"name":"Ada"}}`, "--answer", `text={"role":"assistant","model":"m","content":{"type":"text","text":"Come!"}}`)...)
		run(t, "No guest is invited.", call...)
		run(t, "pass --answer guest=JSON", call...)
		run(t, "sampling", "policy", "ask")
	})
	for _, version := range []string{"2025-06-18", "2025-11-25", "2026-07-28"} {
		for name, transport := range transportsTo(serve) {
			t.Run(name+" "+version, func(t *testing.T) {
				for _, c := range []struct {
					name   string
					answer *mcp.ElicitResult
					models bool
					want   string
				}{
					{"accepts", &mcp.ElicitResult{Action: "accept", Content: map[string]any{"name": "Ada", "tone": "formal"}}, true, "Come to tea, Ada!"},
					{"has no model", &mcp.ElicitResult{Action: "accept", Content: map[string]any{"name": "Ada"}}, false, "Dear Ada, you are invited: tea."},
					{"declines", &mcp.ElicitResult{Action: "decline"}, true, "No guest is invited."},
				} {
					o := &mcp.ClientOptions{ElicitationHandler: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
						if r.Params.Message != "Whom do you invite?" {
							t.Errorf("asked %q", r.Params.Message)
						}
						return c.answer, nil
					}}
					if c.models {
						o.CreateMessageHandler = func(context.Context, *mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
							return &mcp.CreateMessageResult{Role: "assistant", Model: "m", Content: &mcp.TextContent{Text: "Come to tea, Ada!"}}, nil
						}
					}
					session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, o).Connect(t.Context(), transport(t), &mcp.ClientSessionOptions{ProtocolVersion: version})
					if err != nil {
						t.Fatal(err)
					}
					result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "ask_invite", Arguments: map[string]any{"occasion": "tea"}})
					if err != nil || len(result.Content) != 1 || result.Content[0].(*mcp.TextContent).Text != c.want {
						t.Errorf("a client that %s: got %+v, %v; want %q", c.name, result, err, c.want)
					}
					_ = session.Close()
				}
			})
		}
	}
}

// serveHTTP starts a server until the end of the test, and returns its URL.
func serveHTTP(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	log, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	lines := bufio.NewScanner(log)
	for lines.Scan() {
		if _, url, found := strings.Cut(lines.Text(), "url="); found {
			go func() {
				for lines.Scan() {
				}
			}()
			return strings.Trim(strings.Fields(url)[0], `"`)
		}
	}
	t.Fatal("the server did not report its URL")
	return ""
}
