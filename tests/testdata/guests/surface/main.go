// Surface is a plugin for the tests of client libraries: it offers tools, prompts, resources, completion, log messages and
// notifications of changes and questions to the client, each in the smallest form.
package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/bulkhead-mcp/bulkhead/sdk"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

func init() {
	p := sdk.New()
	sdk.HandleTool(p, "surface_echo", func(_ context.Context, a struct{ Text string }) (*sdk.ToolResult, error) {
		return sdk.Text(a.Text), nil
	})
	sdk.HandleTool(p, "surface_add", add)
	sdk.HandleTool(p, "surface_contents", contents)
	sdk.HandleTool(p, "surface_steps", progress)
	sdk.HandleTool(p, "surface_hold", hold)
	sdk.HandleTool(p, "surface_log", logMessages)
	sdk.HandleTool(p, "surface_fail", func(context.Context, none) (*sdk.ToolResult, error) { return sdk.ErrorText("out of tea"), nil })
	sdk.HandleTool(p, "surface_touch", touch)
	sdk.HandleTool(p, "surface_header", func(_ context.Context, a struct{ Region string }) (*sdk.ToolResult, error) {
		return sdk.Text(a.Region), nil
	})
	sdk.HandleTool(p, "surface_form", form)
	sdk.HandleTool(p, "surface_link", link)
	sdk.HandleTool(p, "surface_sample", sample)
	sdk.HandleTool(p, "surface_roots", roots)
	sdk.HandleTool(p, "surface_rounds", askInRounds)
	p.HandlePrompts(sdk.Prompts{List: listPrompts, Get: getPrompt})
	p.HandleResources(sdk.Resources{List: listResources, Templates: listTemplates, Read: readResource})
	p.HandleComplete(complete)
	sdk.Serve(p)
}

func main() {}

type none struct{}

func add(_ context.Context, a struct{ A, B int }) (*sdk.ToolResult, error) {
	result := sdk.Text(fmt.Sprint(a.A + a.B))
	result.StructuredContent = map[string]int{"sum": a.A + a.B}
	return result, nil
}

func contents(context.Context, none) (*sdk.ToolResult, error) {
	return &sdk.ToolResult{Content: []sdk.Content{
		sdk.TextContent{Text: "é\u2028𝄞"},
		sdk.ImageContent{Data: []byte("image"), MIMEType: "image/png"},
		sdk.AudioContent{Data: []byte("audio"), MIMEType: "audio/wav"},
		sdk.ResourceLink{Resource: sdk.Resource{URI: "surface://text", Name: "text"}},
		sdk.EmbeddedResource{Resource: sdk.ResourceContents{URI: "surface://text", MIMEType: "text/plain", Text: "a text"}},
	}}, nil
}

func progress(ctx context.Context, a struct{ Steps int }) (*sdk.ToolResult, error) {
	for i := range a.Steps {
		if err := sdk.Progress(ctx, float64(i+1), float64(a.Steps), ""); err != nil {
			return nil, err
		}
	}
	return sdk.Text("done"), nil
}

func hold(ctx context.Context, _ none) (*sdk.ToolResult, error) {
	if err := sdk.Progress(ctx, 1, 2, ""); err != nil {
		return nil, err
	}
	time.Sleep(time.Hour)
	return nil, errors.New("not cancelled")
}

func logMessages(context.Context, none) (*sdk.ToolResult, error) {
	if err := errors.Join(sdk.Message("info", "surface", "read"), sdk.Message("error", "surface", map[string]int{"lost": 1})); err != nil {
		return nil, err
	}
	return sdk.Text("logged"), nil
}

func touch(context.Context, none) (*sdk.ToolResult, error) {
	if err := errors.Join(sdk.ResourceUpdated("surface://watched"), sdk.ResourcesChanged(), sdk.PromptsChanged()); err != nil {
		return nil, err
	}
	return sdk.Text("touched"), nil
}

func listPrompts(context.Context) ([]sdk.Prompt, error) {
	return []sdk.Prompt{
		{Name: "surface_plain", Description: "A prompt without arguments"},
		{Name: "surface_topic", Title: "Topic", Arguments: []sdk.PromptArgument{{Name: "topic", Required: true}, {Name: "tone"}}},
	}, nil
}

func getPrompt(_ context.Context, name string, arguments map[string]string) (*sdk.PromptResult, error) {
	switch name {
	case "surface_plain":
		return &sdk.PromptResult{Description: "A prompt without arguments", Messages: []sdk.PromptMessage{
			{Role: "user", Content: sdk.TextContent{Text: "Hello"}},
			{Role: "assistant", Content: sdk.ImageContent{Data: []byte("image"), MIMEType: "image/png"}},
		}}, nil
	case "surface_topic":
		return &sdk.PromptResult{Messages: []sdk.PromptMessage{
			{Role: "user", Content: sdk.TextContent{Text: "Write about " + arguments["topic"]}},
			{Role: "user", Content: sdk.EmbeddedResource{Resource: sdk.ResourceContents{URI: "surface://text", Text: "a text"}}},
		}}, nil
	}
	return nil, &sdk.Error{Code: abi.CodeInvalidParams, Message: "unknown prompt: " + name}
}

func listResources(context.Context) ([]sdk.Resource, error) {
	return []sdk.Resource{
		{URI: "surface://text", Name: "text", MIMEType: "text/plain", Size: 6},
		{URI: "surface://binary", Name: "binary", MIMEType: "application/octet-stream"},
		{URI: "surface://watched", Name: "watched"},
	}, nil
}

func listTemplates(context.Context) ([]sdk.ResourceTemplate, error) {
	return []sdk.ResourceTemplate{{URITemplate: "surface://items/{id}", Name: "items", MIMEType: "text/plain"}}, nil
}

func readResource(_ context.Context, uri string) ([]sdk.ResourceContents, error) {
	switch uri {
	case "surface://text", "surface://watched":
		return []sdk.ResourceContents{{URI: uri, MIMEType: "text/plain", Text: "a text"}}, nil
	case "surface://binary":
		return []sdk.ResourceContents{{URI: uri, MIMEType: "application/octet-stream", Blob: []byte{0, 255, 16}}}, nil
	}
	if id, ok := strings.CutPrefix(uri, "surface://items/"); ok {
		return []sdk.ResourceContents{{URI: uri, MIMEType: "text/plain", Text: "item " + id}}, nil
	}
	return nil, &sdk.Error{Code: abi.CodeResourceNotFound, Message: "unknown resource: " + uri}
}

func complete(_ context.Context, request sdk.CompleteRequest) (*sdk.Completion, error) {
	words := []string{"tea", "teapot", "tree"}
	if request.Argument.Name == "tone" { // depends on the other argument
		words = []string{"dry " + request.Context.Arguments["topic"]}
	}
	var values []string
	for _, word := range words {
		if strings.HasPrefix(word, request.Argument.Value) {
			values = append(values, word)
		}
	}
	return &sdk.Completion{Values: values, Total: len(values)}, nil
}
