//go:build unix

package tests

import (
	"context"
	"fmt"
	"os/exec"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// goSDK is an mcpClient of the official Go SDK.
type goSDK struct{ *mcp.ClientSession }

func connectGoSDK(t *testing.T, cmd *exec.Cmd, version string, progress chan<- string) mcpClient {
	t.Helper()
	c := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
			progress <- fmt.Sprintf("%v/%v", r.Params.Progress, r.Params.Total)
		},
	})
	session, err := c.Connect(t.Context(), &mcp.CommandTransport{Command: cmd}, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() })
	if result := session.InitializeResult(); result.Capabilities.Tools == nil {
		t.Errorf("capabilities: %+v", result.Capabilities)
	}
	return goSDK{session}
}

func (c goSDK) server() (name, version string) {
	result := c.InitializeResult()
	return result.ServerInfo.Name, result.ProtocolVersion
}

func (c goSDK) ping(ctx context.Context) error { return c.Ping(ctx, nil) }
func (c goSDK) close() error                   { return c.Close() }

func (c goSDK) tools(ctx context.Context) ([]string, error) {
	result, err := c.ListTools(ctx, nil)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, tool := range result.Tools {
		names = append(names, tool.Name)
	}
	return names, nil
}

func (c goSDK) call(ctx context.Context, tool string, arguments map[string]any) (string, bool, error) {
	params := &mcp.CallToolParams{Name: tool, Meta: mcp.Meta{"progressToken": tool}}
	if arguments != nil {
		params.Arguments = arguments
	}
	result, err := c.CallTool(ctx, params)
	if err != nil {
		return "", false, err
	}
	text, ok := result.Content[0].(*mcp.TextContent)
	if !ok || len(result.Content) != 1 {
		return "", false, fmt.Errorf("content %+v", result.Content)
	}
	return text.Text, result.IsError, nil
}
