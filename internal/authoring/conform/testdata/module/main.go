// The module of the Go SDK for the conformance kit.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/sdk"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

func init() {
	p := sdk.New()
	sdk.HandleTool(p, "echo", func(_ context.Context, in struct{ Text string }) (*sdk.ToolResult, error) {
		return sdk.Text(in.Text), nil
	})
	sdk.HandleTool(p, "fail", func(_ context.Context, in struct{ Message string }) (*sdk.ToolResult, error) {
		return nil, errors.New(in.Message)
	})
	sdk.HandleTool(p, "error", func(_ context.Context, in sdk.Error) (*sdk.ToolResult, error) { return nil, &in })
	sdk.HandleTool(p, "progress", progress)
	sdk.HandleTool(p, "log", func(_ context.Context, in struct {
		Level sdk.Level
		Text  string
	}) (*sdk.ToolResult, error) {
		sdk.Log(in.Level, "%s", in.Text)
		return sdk.Text("done"), nil
	})
	sdk.HandleTool(p, "print", func(_ context.Context, in struct{ Text string }) (*sdk.ToolResult, error) {
		fmt.Print(in.Text)
		return sdk.Text("done"), nil
	})
	sdk.HandleTool(p, "read_file", func(_ context.Context, in struct{ Path string }) (*sdk.ToolResult, error) {
		content, err := os.ReadFile(in.Path)
		return sdk.Text(string(content)), err
	})
	sdk.HandleTool(p, "operate", operate)
	calls := 0
	sdk.HandleTool(p, "count", func(context.Context, struct{}) (*sdk.ToolResult, error) {
		calls++
		return sdk.Text(fmt.Sprint(calls)), nil
	})
	sdk.HandleTool(p, "ask", ask)
	sdk.HandleTool(p, "spin", func(context.Context, struct{}) (*sdk.ToolResult, error) {
		for {
		}
	})
	sdk.HandleTool(p, "crash", func(context.Context, struct{}) (*sdk.ToolResult, error) { return sdk.Text(*(*string)(nil)), nil })
	p.HandlePrompts(sdk.Prompts{List: listPrompts, Get: getPrompt})
	p.HandleResources(sdk.Resources{List: listResources, Templates: listTemplates, Read: readResource})
	p.HandleComplete(complete)
	sdk.Serve(p)
}

func main() {}

func progress(ctx context.Context, in struct{ Steps int }) (*sdk.ToolResult, error) {
	for i := range in.Steps {
		if err := sdk.Progress(ctx, float64(i+1), float64(in.Steps), fmt.Sprintf("step %d", i+1)); err != nil {
			return nil, err
		}
	}
	return sdk.Text("done"), nil
}

func operate(_ context.Context, in struct {
	Op     string
	Params json.RawMessage
}) (*sdk.ToolResult, error) {
	var result json.RawMessage
	err := sdk.HostCall(in.Op, in.Params, &result)
	if refused := (*sdk.HostError)(nil); errors.As(err, &refused) {
		return nil, errors.New(refused.Code)
	}
	return sdk.Text(string(result)), err
}

func ask(ctx context.Context, in struct{ Message string }) (*sdk.ToolResult, error) {
	sdk.SetState(ctx, "asked")
	schema := json.RawMessage(`{"type": "object", "properties": {"name": {"type": "string"}}}`)
	answer, err := sdk.Elicit(ctx, "name", sdk.Form{Message: in.Message, Schema: schema})
	if err != nil {
		return nil, err
	}
	var content struct{ Name string }
	if !answer.Accepted() {
		return sdk.Text(sdk.State(ctx) + ": " + answer.Action), nil
	}
	err = answer.Decode(&content)
	return sdk.Text(sdk.State(ctx) + ": " + content.Name), err
}

func listPrompts(context.Context) ([]sdk.Prompt, error) {
	return []sdk.Prompt{{Name: "conform_prompt", Description: "Says a text", Arguments: []sdk.PromptArgument{{Name: "text", Required: true}}}}, nil
}

func getPrompt(_ context.Context, name string, arguments map[string]string) (*sdk.PromptResult, error) {
	if name != "conform_prompt" {
		return nil, &sdk.Error{Code: abi.CodeInvalidParams, Message: "there is no such prompt"}
	}
	return &sdk.PromptResult{Messages: []sdk.PromptMessage{{Role: "user", Content: sdk.TextContent{Text: arguments["text"]}}}}, nil
}

func listResources(context.Context) ([]sdk.Resource, error) {
	return []sdk.Resource{{URI: "conform:text", Name: "text", MIMEType: "text/plain"}, {URI: "conform:bytes", Name: "bytes"}}, nil
}

func listTemplates(context.Context) ([]sdk.ResourceTemplate, error) {
	return []sdk.ResourceTemplate{{URITemplate: "conform:{name}", Name: "by name"}}, nil
}

func readResource(_ context.Context, uri string) ([]sdk.ResourceContents, error) {
	switch uri {
	case "conform:text":
		return []sdk.ResourceContents{{URI: uri, MIMEType: "text/plain", Text: "größer"}}, nil
	case "conform:bytes":
		return []sdk.ResourceContents{{URI: uri, Blob: []byte{0, 1, 0xfe, 0xff}}}, nil
	}
	return nil, &sdk.Error{Code: abi.CodeResourceNotFound, Message: "there is no such resource"}
}

func complete(_ context.Context, request sdk.CompleteRequest) (*sdk.Completion, error) {
	found := sdk.Completion{Values: []string{}}
	for _, value := range []string{"alpha", "beta", "büro"} {
		if strings.HasPrefix(value, request.Argument.Value) {
			found.Values = append(found.Values, value)
		}
	}
	return &found, nil
}
