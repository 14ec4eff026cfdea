package tools

import (
	"context"
	"errors"

	"github.com/bulkhead-mcp/bulkhead/plugins/mcpkg/catalog"
	"github.com/bulkhead-mcp/bulkhead/plugins/mcpkg/item"
	"github.com/bulkhead-mcp/bulkhead/sdk"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

func listPrompts(context.Context) ([]sdk.Prompt, error) {
	return list(item.Prompt, func(it item.Item) sdk.Prompt {
		return sdk.Prompt{Name: it.Name, Description: it.Description}
	})
}

func listResources(context.Context) ([]sdk.Resource, error) {
	return list(item.Resource, func(it item.Item) sdk.Resource {
		return sdk.Resource{URI: it.URI, Name: it.Name, Description: it.Description, MIMEType: it.MIMEType}
	})
}

func list[T any](kind item.Kind, entry func(item.Item) T) ([]T, error) {
	c, err := open()
	if err != nil {
		return nil, protocolError(err)
	}
	items, err := c.List(kind)
	if err != nil {
		return nil, protocolError(err)
	}
	entries := make([]T, len(items))
	for i, it := range items {
		entries[i] = entry(it)
	}
	return entries, nil
}

// getPrompt ignores the arguments of the request, because prompts of this plugin take no arguments.
func getPrompt(_ context.Context, name string, _ map[string]string) (*sdk.PromptResult, error) {
	c, err := open()
	if err != nil {
		return nil, protocolError(err)
	}
	prompt, err := c.Prompt(name)
	if err != nil {
		return nil, protocolError(err)
	}
	text := sdk.TextContent{Text: string(prompt.Content.Bytes)}
	return &sdk.PromptResult{
		Description: prompt.Description,
		Messages:    []sdk.PromptMessage{{Role: "user", Content: text}},
	}, nil
}

func readResource(_ context.Context, uri string) ([]sdk.ResourceContents, error) {
	c, err := open()
	if err != nil {
		return nil, protocolError(err)
	}
	resource, err := c.Resource(uri)
	if err != nil {
		return nil, protocolError(err)
	}
	contents := sdk.ResourceContents{URI: resource.URI, MIMEType: resource.MIMEType}
	if resource.Content.Binary {
		contents.Blob = resource.Content.Bytes
	} else {
		contents.Text = string(resource.Content.Bytes)
	}
	return []sdk.ResourceContents{contents}, nil
}

// protocolError returns the JSON-RPC error that the contract prescribes: -32602 for a prompt or resource that does not
// exist, and -32603 for any other error.
func protocolError(err error) error {
	code := abi.CodeInternal
	if absent := (*catalog.NotFoundError)(nil); errors.As(err, &absent) {
		code = abi.CodeInvalidParams
	}
	return &sdk.Error{Code: code, Message: err.Error()}
}
