package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/sdk"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// prompt is a prompt with the function that fills it in.
type prompt struct {
	sdk.Prompt
	get func(ctx context.Context, arguments map[string]string) ([]sdk.PromptMessage, error)
}

var prompts = []prompt{
	{sdk.Prompt{Name: "test_simple_prompt", Title: "Simple", Description: "A prompt without arguments"},
		func(context.Context, map[string]string) ([]sdk.PromptMessage, error) {
			return says(sdk.TextContent{Text: "This is a simple prompt for testing."}), nil
		}},
	{sdk.Prompt{Name: "test_prompt_with_arguments", Title: "With arguments", Description: "A prompt with two required arguments", Arguments: []sdk.PromptArgument{
		{Name: "arg1", Description: "The first argument", Required: true},
		{Name: "arg2", Description: "The second argument", Required: true},
	}}, func(_ context.Context, arguments map[string]string) ([]sdk.PromptMessage, error) {
		return says(sdk.TextContent{Text: fmt.Sprintf("Prompt with arguments: arg1='%s', arg2='%s'", arguments["arg1"], arguments["arg2"])}), nil
	}},
	{sdk.Prompt{Name: "test_prompt_with_embedded_resource", Title: "With a resource", Description: "A prompt with an embedded resource", Arguments: []sdk.PromptArgument{
		{Name: "resourceUri", Description: "The URI of the resource", Required: true},
	}}, func(_ context.Context, arguments map[string]string) ([]sdk.PromptMessage, error) {
		return says(sdk.EmbeddedResource{Resource: sdk.ResourceContents{
			URI: arguments["resourceUri"], MIMEType: "text/plain", Text: "Embedded resource content for testing.",
		}}, sdk.TextContent{Text: "Please process the embedded resource above."}), nil
	}},
	{sdk.Prompt{Name: "test_prompt_with_image", Title: "With an image", Description: "A prompt with an image"},
		func(context.Context, map[string]string) ([]sdk.PromptMessage, error) {
			return says(sdk.ImageContent{Data: image, MIMEType: "image/png"}, sdk.TextContent{Text: "Please analyze the image above."}), nil
		}},
	{sdk.Prompt{Name: "test_input_required_result_prompt", Title: "With a question", Description: "A prompt that asks the user for its context"}, fillIn},
}

// says returns one message of the user for each content.
func says(contents ...sdk.Content) []sdk.PromptMessage {
	var messages []sdk.PromptMessage
	for _, content := range contents {
		messages = append(messages, sdk.PromptMessage{Role: "user", Content: content})
	}
	return messages
}

func listPrompts(context.Context) ([]sdk.Prompt, error) {
	var list []sdk.Prompt
	for _, p := range prompts {
		list = append(list, p.Prompt)
	}
	return list, nil
}

func getPrompt(ctx context.Context, name string, arguments map[string]string) (*sdk.PromptResult, error) {
	at := slices.IndexFunc(prompts, func(p prompt) bool { return p.Name == name })
	if at < 0 {
		return nil, &sdk.Error{Code: abi.CodeInvalidParams, Message: fmt.Sprintf("unknown prompt: %s", name)}
	}
	for _, argument := range prompts[at].Arguments {
		if _, ok := arguments[argument.Name]; argument.Required && !ok {
			return nil, &sdk.Error{Code: abi.CodeInvalidParams, Message: fmt.Sprintf("prompt %s: the argument %s is required", name, argument.Name)}
		}
	}
	messages, err := prompts[at].get(ctx, arguments)
	if err != nil {
		return nil, err
	}
	return &sdk.PromptResult{Description: prompts[at].Description, Messages: messages}, nil
}

// complete suggests cities for the arguments of test_prompt_with_arguments, and ids for the resource template.
func complete(_ context.Context, request sdk.CompleteRequest) (*sdk.Completion, error) {
	var values []string
	switch {
	case request.Ref.Name == "test_prompt_with_arguments":
		values = []string{"paris", "park", "party", "test"}
	case request.Ref.URI == template:
		values = []string{"123", "124", "456"}
	}
	values = slices.DeleteFunc(values, func(value string) bool { return !strings.HasPrefix(value, request.Argument.Value) })
	if values == nil {
		values = []string{}
	}
	return &sdk.Completion{Values: values, Total: len(values)}, nil
}
