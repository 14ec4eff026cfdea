// Package tools connects the plugin to MCP: its tool and its prompt, both called fetch. Register adds their handlers.
package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/bulkhead-mcp/bulkhead/plugins/fetch/page"
	"github.com/bulkhead-mcp/bulkhead/sdk"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
	"github.com/bulkhead-mcp/bulkhead/sdk/fetch"
)

const name = "fetch"

// metaOutside is the key in the _meta of a result whose text was written by others. Its value is the URL that was asked for.
const metaOutside = "bulkhead/outside_content"

// Register adds the handlers to p.
func Register(p *sdk.Plugin) {
	sdk.HandleTool(p, name, callTool)
	p.HandlePrompts(sdk.Prompts{
		List: func(context.Context) ([]sdk.Prompt, error) { return []sdk.Prompt{prompt}, nil },
		Get:  getPrompt,
	})
}

func callTool(ctx context.Context, raw json.RawMessage) (*sdk.ToolResult, error) {
	a, err := parseArguments(raw)
	if err != nil {
		return sdk.ErrorText("Error executing tool fetch: " + err.Error()), nil
	}
	url := a.url.String()
	var result *sdk.ToolResult
	if loaded, err := loader.LoadAutonomously(ctx, a.url, a.raw); err != nil {
		result = sdk.ErrorText("Error executing tool fetch: " + err.Error())
	} else {
		result = sdk.Text(fmt.Sprintf("%sContents of %s:\n%s", loaded.Prefix, url, section(loaded.Text, a.start, a.length)))
	}
	result.Meta = map[string]any{metaOutside: url}
	return result, nil
}

var loader = page.Loader{Get: func(ctx context.Context, r page.Request) (*page.Response, error) {
	response, err := fetch.Do(ctx, fetch.Request{URL: r.URL, NoRedirects: r.Step, Header: fetch.Header{"User-Agent": {r.Agent}, "Accept": {"*/*"}}})
	if host := (*sdk.HostError)(nil); errors.As(err, &host) {
		return nil, &page.Failure{Refused: host.Code != abi.HostFailed, Reason: strings.TrimPrefix(strings.TrimPrefix(host.Message, "http: "), "http/fetch: ")}
	}
	if err != nil {
		return nil, err
	}
	return &page.Response{
		Status: response.Status, ContentType: strings.Join(response.Header.Values("Content-Type"), ", "), Location: response.Header.Values("Location"), Body: response.Body,
	}, nil
}}

// section returns a part of a text, and says how to get the next one.
func section(text string, start, length int) string {
	total := utf8.RuneCountInString(text)
	if start >= total {
		return "<error>No more content available.</error>"
	}
	part := page.Cut(text, start, length)
	if next := start + length; next < total {
		part += fmt.Sprintf("\n\n<error>Content truncated. Call the fetch tool with a start_index of %d to get more content.</error>", next)
	}
	return part
}

var prompt = sdk.Prompt{
	Name: name, Description: "Read a web page, as Markdown where it is HTML",
	Arguments: []sdk.PromptArgument{{Name: "url", Description: "The address of the page", Required: true}},
}

func getPrompt(ctx context.Context, asked string, arguments map[string]string) (*sdk.PromptResult, error) {
	url, given := arguments["url"]
	switch {
	case asked != name:
		return nil, &sdk.Error{Code: abi.CodeInvalidParams, Message: "Unknown prompt: " + asked}
	case !given:
		return nil, &sdk.Error{Code: abi.CodeInvalidParams, Message: "URL is required"}
	}
	loaded, err := loader.Load(ctx, url)
	text := loaded.Prefix + loaded.Text
	if err != nil {
		text = err.Error() // shown to the user, who asked for the page
	}
	return &sdk.PromptResult{
		Description: prompt.Description, Messages: []sdk.PromptMessage{{Role: "user", Content: sdk.TextContent{Text: text}}},
		Meta: map[string]any{metaOutside: url},
	}, nil
}
