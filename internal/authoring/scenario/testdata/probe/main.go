// Probe is the plugin of the tests of package scenario.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/bulkhead-mcp/bulkhead/sdk"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

func init() {
	p := sdk.New()
	sdk.HandleTool(p, "write", write)
	sdk.HandleTool(p, "read", func(_ context.Context, in struct{ Path string }) (*sdk.ToolResult, error) {
		content, err := os.ReadFile(in.Path)
		return sdk.Text(string(content)), err
	})
	sdk.HandleTool(p, "env", func(_ context.Context, in struct{ Name string }) (*sdk.ToolResult, error) {
		return sdk.Text(os.Getenv(in.Name)), nil
	})
	sdk.HandleTool(p, "operate", operate)
	sdk.HandleTool(p, "ask", ask)
	sdk.HandleTool(p, "error", func(_ context.Context, in sdk.Error) (*sdk.ToolResult, error) { return nil, &in })
	sdk.HandleTool(p, "count", count)
	p.HandlePrompts(sdk.Prompts{
		List: func(context.Context) ([]sdk.Prompt, error) { return []sdk.Prompt{{Name: "probe_prompt"}}, nil },
		Get: func(_ context.Context, _ string, arguments map[string]string) (*sdk.PromptResult, error) {
			return &sdk.PromptResult{Messages: []sdk.PromptMessage{{Role: "user", Content: sdk.TextContent{Text: "Say " + arguments["text"]}}}}, nil
		},
	})
	p.HandleResources(sdk.Resources{
		List: func(context.Context) ([]sdk.Resource, error) {
			return []sdk.Resource{{URI: "probe:a", Name: "a"}, {URI: "probe:b", Name: "b"}}, nil
		},
		Read: func(_ context.Context, uri string) ([]sdk.ResourceContents, error) {
			if uri == "probe:bytes" {
				return []sdk.ResourceContents{{URI: uri, Blob: []byte{0, 0xff}}}, nil
			}
			return []sdk.ResourceContents{{URI: uri, Text: "the text of " + uri}}, nil
		},
	})
	p.HandleComplete(func(context.Context, sdk.CompleteRequest) (*sdk.Completion, error) {
		return &sdk.Completion{Values: []string{"alpha", "beta"}}, nil
	})
	sdk.Serve(p)
}

func main() {}

func write(_ context.Context, in struct{ Path, Text string }) (*sdk.ToolResult, error) {
	if in.Text == "" {
		return sdk.Text("removed " + in.Path), os.Remove(in.Path)
	}
	if err := os.MkdirAll(filepath.Dir(in.Path), 0o755); err != nil {
		return nil, err
	}
	sdk.Log(sdk.LevelWarn, "wrote %d bytes", len(in.Text))
	return sdk.Text("wrote " + in.Path), os.WriteFile(in.Path, []byte(in.Text), 0o644)
}

func operate(_ context.Context, in struct {
	Op     string
	Params json.RawMessage
}) (*sdk.ToolResult, error) {
	err := sdk.HostCall(in.Op, in.Params, nil)
	if refused := (*sdk.HostError)(nil); errors.As(err, &refused) {
		return nil, errors.New(refused.Code)
	}
	return sdk.Text("done"), err
}

func ask(ctx context.Context, in struct{ Message string }) (*sdk.ToolResult, error) {
	answer, err := sdk.Elicit(ctx, "name", sdk.Form{Message: in.Message, Schema: json.RawMessage(`{"type": "object", "properties": {"name": {"type": "string"}}}`)})
	if err != nil {
		return nil, err
	}
	if !answer.Accepted() {
		return sdk.Text(answer.Action), nil
	}
	var content struct{ Name string }
	err = answer.Decode(&content)
	return sdk.Text("Hello, " + content.Name), err
}

func count(ctx context.Context, in struct{ Text string }) (*sdk.ToolResult, error) {
	if in.Text == "" {
		return nil, &sdk.Error{Code: abi.CodeInvalidParams, Message: "the text is empty"}
	}
	if err := sdk.Progress(ctx, 1, 2, "half"); err != nil {
		return nil, err
	}
	result := sdk.Text(fmt.Sprintf("%d bytes", len(in.Text)))
	result.StructuredContent = map[string]any{"bytes": len(in.Text), "last": nil, "share": 0.5}
	return result, nil
}
