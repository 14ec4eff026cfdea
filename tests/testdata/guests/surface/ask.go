package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/sdk"
)

var question = sdk.Form{Message: "Which tea?", Schema: json.RawMessage(`{
	"type": "object",
	"required": ["kind"],
	"properties": {
		"kind": {"type": "string", "enum": ["black", "green"]},
		"cups": {"type": "integer", "minimum": 1, "maximum": 9, "default": 1},
		"milk": {"type": "boolean", "default": false},
		"note": {"type": "string", "maxLength": 80}
	}
}`)}

var prompt = sdk.Sampling{MaxTokens: 50, Messages: []sdk.PromptMessage{{Role: "user", Content: sdk.TextContent{Text: "Praise tea"}}}}

// describe returns the action of an answer, and the content if there is one.
func describe(a *sdk.FormAnswer) string {
	if len(a.Content) == 0 {
		return a.Action
	}
	var content struct {
		Kind, Note string
		Cups       int
		Milk       bool
	}
	if err := a.Decode(&content); err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%s %+v", a.Action, content)
}

func form(ctx context.Context, _ none) (*sdk.ToolResult, error) {
	answer, err := sdk.Elicit(ctx, "tea", question)
	if err != nil {
		return nil, err
	}
	return sdk.Text(describe(answer)), nil
}

func link(ctx context.Context, _ none) (*sdk.ToolResult, error) {
	answer, err := sdk.OpenURL(ctx, "shop", sdk.Link{Message: "Pay for the tea", URL: "https://tea.example/pay"})
	if err != nil {
		return nil, err
	}
	return sdk.Text(answer.Action), nil
}

func sample(ctx context.Context, _ none) (*sdk.ToolResult, error) {
	answer, err := sdk.Sample(ctx, "praise", prompt)
	if refused := (*sdk.ClientError)(nil); errors.As(err, &refused) {
		return sdk.Text("refused"), nil
	}
	if err != nil {
		return nil, err
	}
	return sdk.Text(answer.Role + ": " + answer.Text()), nil
}

func roots(ctx context.Context, _ none) (*sdk.ToolResult, error) {
	roots, err := sdk.ListRoots(ctx, "roots")
	if err != nil {
		return nil, err
	}
	return sdk.Text(uris(roots)), nil
}

func uris(roots []sdk.Root) string {
	var uris []string
	for _, root := range roots {
		uris = append(uris, root.URI)
	}
	return strings.Join(uris, " ")
}

func askInRounds(ctx context.Context, _ none) (*sdk.ToolResult, error) {
	answers, err := sdk.Ask(ctx, map[string]sdk.Question{"tea": question, "roots": sdk.RootsQuestion{}})
	if err != nil {
		sdk.SetState(ctx, "asked")
		return nil, err
	}
	tea, err := answers.Form("tea")
	if err != nil {
		return nil, err
	}
	where, err := answers.Roots("roots")
	if err != nil {
		return nil, err
	}
	state := sdk.State(ctx)
	praise, err := sdk.Sample(ctx, "praise", prompt)
	if err != nil {
		sdk.SetState(ctx, state+" twice")
		return nil, err
	}
	return sdk.Text(strings.Join([]string{state, tea.Action, uris(where), praise.Text()}, ", ")), nil
}
