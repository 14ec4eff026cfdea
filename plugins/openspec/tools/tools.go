// Package tools connects package project to MCP tools, resources and prompts. It decodes arguments, finds the project,
// and encodes results. Register adds the handlers to a plugin.
package tools

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"

	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/check"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/project"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/steps"
	"github.com/bulkhead-mcp/bulkhead/sdk"
)

// Register adds all handlers to the plugin p.
func Register(p *sdk.Plugin) {
	sdk.HandleTool(p, "openspec_list", reading(list))
	sdk.HandleTool(p, "openspec_list_changes", reading(func(p *project.Project, in listArguments) (any, error) {
		in.Type = ""
		return list(p, in)
	}))
	sdk.HandleTool(p, "openspec_show", reading(show))
	sdk.HandleTool(p, "openspec_validate", reading(check.Run))
	sdk.HandleTool(p, "openspec_status", reading(steps.StatusOf))
	sdk.HandleTool(p, "openspec_instructions", reading(steps.InstructionsFor))
	sdk.HandleTool(p, "openspec_archive", writing(archive))
	sdk.HandleTool(p, "openspec_init", writing(initialize))
	sdk.HandleTool(p, "openspec_create_change", writing(create))
	p.HandleResources(resources())
	p.HandlePrompts(promptHandlers())
	p.HandleComplete(complete)
}

// reading returns the handler of a tool that changes no files.
func reading[In, Out any](call func(*project.Project, In) (Out, error)) func(context.Context, In) (*sdk.ToolResult, error) {
	return func(_ context.Context, in In) (*sdk.ToolResult, error) {
		p, err := openToRead()
		if err != nil {
			return nil, err
		}
		return answer(call(p, in))
	}
}

// writing returns the handler of a tool that changes the project. The handler notifies clients of changed resources.
func writing[In any](call func(*project.Project, In) (any, []string, error)) func(context.Context, In) (*sdk.ToolResult, error) {
	return func(_ context.Context, in In) (*sdk.ToolResult, error) {
		p, err := openToWrite()
		if err != nil {
			return nil, err
		}
		result, changed, err := call(p, in)
		if err == nil {
			announce(changed)
		}
		return answer(result, err)
	}
}

// answer returns a result as JSON text and as structured content. It returns a *project.Failure in the same form, so
// that the model gets the code and the remedy.
func answer(result any, err error) (*sdk.ToolResult, error) {
	failure := (*project.Failure)(nil)
	if errors.As(err, &failure) {
		result = failure
	} else if err != nil {
		return nil, err
	}
	if text, ok := result.(markdownText); ok {
		return sdk.Text(string(text)), nil
	}
	compact, text, err := encode(result)
	if err != nil {
		return nil, err
	}
	return &sdk.ToolResult{
		Content:           []sdk.Content{sdk.TextContent{Text: text}},
		StructuredContent: compact,
		IsError:           failure != nil,
	}, nil
}

// markdownText is a result in Markdown, which the function answer does not encode as JSON.
type markdownText string

// encode returns value as compact JSON and as JSON with an indentation of two spaces, both without HTML escapes.
func encode(value any) (compact json.RawMessage, text string, err error) {
	compact, err = rawjson.Marshal(value)
	if err != nil {
		return nil, "", err
	}
	return compact, indent(compact), nil
}
