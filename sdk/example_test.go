package sdk_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/sdk"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// show prints the response of a plugin to a request, as a host would get it. Tests of a plugin use package sdktest instead.
func show(p *sdk.Plugin, method, params string) {
	fmt.Println(string(p.Dispatch([]byte(`{"method":"` + method + `","params":` + params + `}`))))
}

// The arguments are decoded into a struct.
func ExampleHandleTool() {
	type person struct {
		Name string `json:"name" jsonschema:"Whom to greet" schema:"minLength=1"`
	}
	p := sdk.New()
	sdk.HandleTool(p, "notes_greet", func(_ context.Context, who person) (*sdk.ToolResult, error) {
		return sdk.Text("Hello, " + who.Name), nil
	})
	show(p, abi.MethodToolsCall, `{"name":"notes_greet","arguments":{"name":"Ada"}}`)
	// Output: {"result":{"content":[{"type":"text","text":"Hello, Ada"}]}}
}

// The handler gets the bytes that the client sent.
func ExampleHandleTool_raw() {
	p := sdk.New()
	sdk.HandleTool(p, "notes_echo", func(_ context.Context, arguments json.RawMessage) (*sdk.ToolResult, error) {
		return sdk.Text(string(arguments)), nil
	})
	show(p, abi.MethodToolsCall, `{"name":"notes_echo","arguments":{"id":12345678901234567890}}`)
	// Output: {"result":{"content":[{"type":"text","text":"{\"id\":12345678901234567890}"}]}}
}

// The handler returns a struct, which becomes structured content.
func ExampleHandleStructuredTool() {
	type text struct {
		Text string `json:"text"`
	}
	type counts struct {
		Words int `json:"words"`
		Bytes int `json:"bytes"`
	}
	p := sdk.New()
	sdk.HandleStructuredTool(p, "notes_count", func(_ context.Context, in text) (counts, error) {
		return counts{Words: len(strings.Fields(in.Text)), Bytes: len(in.Text)}, nil
	})
	show(p, abi.MethodToolsCall, `{"name":"notes_count","arguments":{"text":"tea and cake"}}`)
	// Output: {"result":{"content":[{"type":"text","text":"{\"words\":3,\"bytes\":12}"}],"structuredContent":{"words":3,"bytes":12}}}
}

// A prompt has arguments, and returns messages for the model.
func ExamplePlugin_HandlePrompts() {
	p := sdk.New()
	p.HandlePrompts(sdk.Prompts{
		List: func(context.Context) ([]sdk.Prompt, error) {
			return []sdk.Prompt{{Name: "notes_digest", Arguments: []sdk.PromptArgument{{Name: "topic", Required: true}}}}, nil
		},
		Get: func(_ context.Context, name string, arguments map[string]string) (*sdk.PromptResult, error) {
			if name != "notes_digest" {
				return nil, &sdk.Error{Code: abi.CodeInvalidParams, Message: "there is no prompt " + name}
			}
			return &sdk.PromptResult{Messages: []sdk.PromptMessage{{Role: "user", Content: sdk.TextContent{Text: "Summarize the notes on " + arguments["topic"]}}}}, nil
		},
	})
	show(p, abi.MethodPromptsGet, `{"name":"notes_digest","arguments":{"topic":"tea"}}`)
	show(p, abi.MethodPromptsGet, `{"name":"other"}`)
	// Output:
	// {"result":{"messages":[{"role":"user","content":{"type":"text","text":"Summarize the notes on tea"}}]}}
	// {"error":{"code":-32602,"message":"there is no prompt other"}}
}

// Resources are listed, described by templates, and read by their URIs.
func ExamplePlugin_HandleResources() {
	p := sdk.New()
	p.HandleResources(sdk.Resources{
		List: func(context.Context) ([]sdk.Resource, error) {
			return []sdk.Resource{{URI: "notes://manual", Name: "manual", MIMEType: "text/plain"}}, nil
		},
		Templates: func(context.Context) ([]sdk.ResourceTemplate, error) {
			return []sdk.ResourceTemplate{{URITemplate: "notes://note/{id}", Name: "note"}}, nil
		},
		Read: func(_ context.Context, uri string) ([]sdk.ResourceContents, error) {
			id, found := strings.CutPrefix(uri, "notes://note/")
			if !found {
				return nil, &sdk.Error{Code: abi.CodeResourceNotFound, Message: "there is no resource " + uri}
			}
			return []sdk.ResourceContents{{URI: uri, MIMEType: "text/plain", Text: "note " + id}}, nil
		},
	})
	show(p, abi.MethodResourcesTemplatesList, `{}`)
	show(p, abi.MethodResourcesRead, `{"uri":"notes://note/n7"}`)
	// Output:
	// {"result":{"resourceTemplates":[{"uriTemplate":"notes://note/{id}","name":"note"}]}}
	// {"result":{"contents":[{"uri":"notes://note/n7","mimeType":"text/plain","text":"note n7"}]}}
}

// Completion returns the values that begin with what the user has typed.
func ExamplePlugin_HandleComplete() {
	p := sdk.New()
	p.HandleComplete(func(_ context.Context, request sdk.CompleteRequest) (*sdk.Completion, error) {
		c := &sdk.Completion{Values: []string{}}
		for _, topic := range []string{"tea", "tents", "trees"} {
			if strings.HasPrefix(topic, request.Argument.Value) {
				c.Values = append(c.Values, topic)
			}
		}
		return c, nil
	})
	show(p, abi.MethodComplete, `{"ref":{"type":"ref/prompt","name":"notes_digest"},"argument":{"name":"topic","value":"te"}}`)
	// Output: {"result":{"completion":{"values":["tea","tents"]}}}
}

// Errors that a model can react to are results; a request that is invalid in itself fails.
func ExampleErrorText() {
	p := sdk.New()
	sdk.HandleTool(p, "notes_read", func(_ context.Context, in struct{ ID string }) (*sdk.ToolResult, error) {
		if in.ID == "" {
			return nil, &sdk.Error{Code: abi.CodeInvalidParams, Message: "ID is missing"}
		}
		return sdk.ErrorText("there is no note " + in.ID + ": search for it first"), nil
	})
	show(p, abi.MethodToolsCall, `{"name":"notes_read","arguments":{"ID":"n9"}}`)
	show(p, abi.MethodToolsCall, `{"name":"notes_read"}`)
	// Output:
	// {"result":{"content":[{"type":"text","text":"there is no note n9: search for it first"}],"isError":true}}
	// {"error":{"code":-32602,"message":"ID is missing"}}
}

// A module serves its plugin from an init function.
func ExampleServe() {
	p := sdk.New() // in init of package main, with func main() {} beside it
	sdk.HandleTool(p, "notes_hello", func(context.Context, struct{}) (*sdk.ToolResult, error) { return sdk.Text("Hello"), nil })
	sdk.Serve(p)
	// Output:
}
