package tools

import (
	"context"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/address"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/project"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/prompts"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/view"
	"github.com/bulkhead-mcp/bulkhead/sdk"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// maxValues is the maximum number of values that MCP allows in one completion.
const maxValues = 100

func promptHandlers() sdk.Prompts {
	return sdk.Prompts{List: listPrompts, Get: getPrompt}
}

func listPrompts(context.Context) ([]sdk.Prompt, error) {
	var all []sdk.Prompt
	for _, one := range prompts.All() {
		all = append(all, sdk.Prompt{
			Name:        one.Name,
			Title:       one.Title,
			Description: one.Description,
			Arguments:   []sdk.PromptArgument{{Name: one.Argument.Name, Description: one.Argument.Description}},
		})
	}
	return all, nil
}

func getPrompt(_ context.Context, name string, arguments map[string]string) (*sdk.PromptResult, error) {
	text, description, err := prompts.Get(name, arguments)
	if err != nil {
		return nil, &sdk.Error{Code: abi.CodeInvalidParams, Message: err.Error()}
	}
	return &sdk.PromptResult{
		Description: description,
		Messages:    []sdk.PromptMessage{{Role: "user", Content: sdk.TextContent{Text: text}}},
	}, nil
}

// complete returns the ids that begin with the prefix that the user has typed.
func complete(_ context.Context, request sdk.CompleteRequest) (*sdk.Completion, error) {
	p, err := openToRead()
	if err != nil {
		return nil, err
	}
	ids, err := candidates(p, request)
	if err != nil {
		return nil, err
	}
	completion := &sdk.Completion{Values: []string{}}
	for _, id := range ids {
		if !strings.HasPrefix(id, request.Argument.Value) {
			continue
		}
		completion.Total++
		if len(completion.Values) < maxValues {
			completion.Values = append(completion.Values, id)
		}
	}
	completion.HasMore = completion.Total > len(completion.Values)
	return completion, nil
}

// candidates returns the possible values of an argument of a prompt, or of a variable of a template.
func candidates(p *project.Project, request sdk.CompleteRequest) ([]string, error) {
	argument := request.Argument.Name
	if request.Ref.Type == "ref/prompt" {
		if argument == "change" {
			return view.ChangeIDs(p)
		}
		return nil, nil
	}
	collection, _, _ := strings.Cut(strings.TrimPrefix(request.Ref.URI, address.Prefix), "/")
	in := address.Collection(collection)
	switch {
	case in == address.Specs && argument == "id":
		return view.SpecIDs(p)
	case in == address.Changes && argument == "id":
		return view.ChangeIDs(p)
	case in == address.Archive && argument == "name":
		return view.ArchivedNames(p)
	case in == address.Changes && argument == "capability":
		return capabilities(p, in, request.Context.Arguments["id"])
	case in == address.Archive && argument == "capability":
		return capabilities(p, in, request.Context.Arguments["name"])
	}
	return nil, nil
}

// capabilities returns the ids of the capabilities for which a change has deltas. If the change is not known yet, it
// returns the ids of all main specs.
func capabilities(p *project.Project, in address.Collection, name string) ([]string, error) {
	if name == "" {
		return view.SpecIDs(p)
	}
	return view.DeltaIDs(p, in, name)
}
