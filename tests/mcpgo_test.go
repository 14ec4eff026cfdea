//go:build unix

//lint:file-ignore SA1019 older protocol versions are tested on purpose

package tests

import (
	"context"
	"fmt"
	"io"
	"os/exec"
	"testing"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
)

// mcpGo is an mcpClient of mcp-go.
type mcpGo struct {
	*client.Client
	name string
}

func connectMCPGo(t *testing.T, cmd *exec.Cmd, version string, progress chan<- string) mcpClient {
	t.Helper()
	stdio := transport.NewStdioWithOptions(cmd.Path, cmd.Env, cmd.Args[1:],
		transport.WithCommandFunc(func(context.Context, string, []string, []string) (*exec.Cmd, error) { return cmd, nil }),
		transport.WithCommandStderrWriter(io.Discard))
	if err := stdio.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	var options []client.ClientOption
	if version != "" {
		options = append(options, client.WithProtocolVersion(version))
	}
	c := client.NewClient(stdio, options...)
	t.Cleanup(func() { _ = c.Close() })
	if err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	c.OnNotification(func(n mcp.JSONRPCNotification) {
		if n.Method == "notifications/progress" {
			progress <- fmt.Sprintf("%v/%v", n.Params.AdditionalFields["progress"], n.Params.AdditionalFields["total"])
		}
	})
	var request mcp.InitializeRequest
	request.Params.ProtocolVersion = version
	request.Params.ClientInfo = mcp.Implementation{Name: "test", Version: "1"}
	result, err := c.Initialize(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	if result.Capabilities.Tools == nil {
		t.Errorf("capabilities: %+v", result.Capabilities)
	}
	return mcpGo{c, result.ServerInfo.Name}
}

func (c mcpGo) server() (name, version string) { return c.name, c.ProtocolVersion() }
func (c mcpGo) ping(ctx context.Context) error { return c.Ping(ctx) }
func (c mcpGo) close() error                   { return c.Close() }

func (c mcpGo) tools(ctx context.Context) ([]string, error) {
	result, err := c.ListTools(ctx, mcp.ListToolsRequest{})
	if err != nil {
		return nil, err
	}
	var names []string
	for _, tool := range result.Tools {
		names = append(names, tool.Name)
	}
	return names, nil
}

func (c mcpGo) call(ctx context.Context, tool string, arguments map[string]any) (string, bool, error) {
	var request mcp.CallToolRequest
	request.Params.Name = tool
	if arguments != nil {
		request.Params.Arguments = arguments
	}
	request.Params.Meta = &mcp.Meta{ProgressToken: tool}
	result, err := c.CallTool(ctx, request)
	if err != nil {
		return "", false, err
	}
	text, ok := result.Content[0].(mcp.TextContent)
	if !ok || len(result.Content) != 1 {
		return "", false, fmt.Errorf("content %+v", result.Content)
	}
	return text.Text, result.IsError, nil
}
