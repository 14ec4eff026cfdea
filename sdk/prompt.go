package sdk

import "context"

// Prompts answers prompts/list and prompts/get; both functions are required. List returns all prompts:
// the host cuts pages. Get answers a name that does not exist with an *Error of abi.CodeInvalidParams.
type Prompts struct {
	List func(ctx context.Context) ([]Prompt, error)
	Get  func(ctx context.Context, name string, arguments map[string]string) (*PromptResult, error)
}

// Prompt is an item of prompts/list.
type Prompt struct {
	Name        string           `json:"name"`
	Title       string           `json:"title,omitempty"`
	Description string           `json:"description,omitempty"`
	Arguments   []PromptArgument `json:"arguments,omitempty"`
}

// PromptArgument is a value that a prompt takes.
type PromptArgument struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	Required    bool   `json:"required,omitempty"`
}

// PromptResult answers prompts/get.
type PromptResult struct {
	Description string          `json:"description,omitempty"`
	Messages    []PromptMessage `json:"messages"`
}

// PromptMessage is one message of a prompt; Role is "user" or "assistant".
type PromptMessage struct {
	Role    string  `json:"role"`
	Content Content `json:"content"`
}

// CompleteFunc answers completion/complete: values for what a person has begun to type.
type CompleteFunc func(ctx context.Context, request CompleteRequest) (*Completion, error)

// CompleteRequest is the parameters of completion/complete.
type CompleteRequest struct {
	Ref struct {
		Type string `json:"type"`           // "ref/prompt" or "ref/resource"
		Name string `json:"name,omitempty"` // of the prompt
		URI  string `json:"uri,omitempty"`  // template of the resource
	} `json:"ref"`
	Argument struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	} `json:"argument"`
	Context struct {
		Arguments map[string]string `json:"arguments,omitempty"`
	} `json:"context"`
}

// Completion is at most 100 values; Total counts those that were left out as well, if known.
type Completion struct {
	Values  []string `json:"values"`
	Total   int      `json:"total,omitempty"`
	HasMore bool     `json:"hasMore,omitempty"`
}
