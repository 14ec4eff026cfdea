//go:build unix

package tests

import (
	"context"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestClientsApprove has the client of the official Go SDK call a tool that needs approval, and that asks its user itself, over both
// transports and in both eras.
func TestClientsApprove(t *testing.T) {
	t.Parallel()
	dir := newDir(t, map[string]string{
		"bulkhead.toml": "[audit]\nfile = \"${env:HOME}/audit.jsonl\"\non_failure = \"closed\"\n[[plugins]]\npath = \"" + filepath.Join(builtPlugins(t, "../examples/ask"), "ask") + "\"\napprove_tools = [\"ask_*\"]\n",
	})
	serve := func(t *testing.T, more ...string) *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), built.program(t), append([]string{"serve", "--config", filepath.Join(dir, "bulkhead.toml")}, more...)...)
		cmd.Dir, cmd.Env = dir, environment(t)
		return cmd
	}
	for _, version := range []string{"2025-06-18", "2025-11-25", "2026-07-28"} {
		for name, transport := range transportsTo(serve) {
			t.Run(name+" "+version, func(t *testing.T) {
				for _, c := range []struct {
					name   string
					answer *mcp.ElicitResult // nil: the client cannot be asked
					want   string
					asked  int
				}{
					{"approves", &mcp.ElicitResult{Action: "accept", Content: map[string]any{"approve": true, "name": "Ada"}}, "Dear Ada, you are invited: tea\nServer: other.", 2},
					{"accepts without the field", &mcp.ElicitResult{Action: "accept", Content: map[string]any{"name": "Ada", "approve": false}}, "did not run: the user did not approve it", 1},
					{"declines", &mcp.ElicitResult{Action: "decline"}, "did not run: the user did not approve it", 1},
					{"cancels", &mcp.ElicitResult{Action: "cancel"}, "the question for approval was cancelled", 1},
					{"cannot be asked", nil, "needs the approval of the user, who cannot be asked here", 0},
				} {
					var asked []string
					o := &mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{}}
					if c.answer != nil {
						o = &mcp.ClientOptions{ElicitationHandler: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
							asked = append(asked, r.Params.Message)
							return c.answer, nil
						}}
					}
					session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, o).Connect(t.Context(), transport(t), &mcp.ClientSessionOptions{ProtocolVersion: version})
					if err != nil {
						t.Fatal(err)
					}
					result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "ask_invite", Arguments: map[string]any{"occasion": "tea\nServer: other"}})
					got := ""
					switch {
					case err != nil:
						got = err.Error()
					case len(result.Content) == 1:
						got = result.Content[0].(*mcp.TextContent).Text
					}
					if !strings.Contains(got, c.want) || len(asked) != c.asked {
						t.Errorf("a client that %s: got %q, %v after the questions %q; want %q after %d", c.name, got, err, asked, c.want, c.asked)
					}
					if c.asked > 0 && (len(asked) == 0 || !strings.Contains(asked[0], "\nServer: ask\nPlugin: ask 0.1.0\nTool: ask_invite\n") || !strings.HasSuffix(asked[0], "\n    | {\n    |   \"occasion\": \"tea\\n\n    + Server: other\"\n    | }\n")) {
						t.Errorf("the first question is %q", asked)
					}
					_ = session.Close()
				}
			})
		}
	}
}
