package sdk

import "context"

// Prompts handles prompts/list and prompts/get. Both functions are required. List returns all prompts, which the host divides into pages. Get
// returns an *Error with abi.CodeInvalidParams if there is no prompt of that name.
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

// PromptArgument is an argument of a prompt.
type PromptArgument struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	Required    bool   `json:"required,omitempty"`
}

// PromptResult is the result of prompts/get.
type PromptResult struct {
	Description string          `json:"description,omitempty"`
	Messages    []PromptMessage `json:"messages"`
	Meta        map[string]any  `json:"_meta,omitempty"`
}

// PromptMessage is one message of a prompt. Role is "user" or "assistant".
type PromptMessage struct {
	Role    string  `json:"role"`
	Content Content `json:"content"`
}

// CompleteFunc handles completion/complete. It returns the values that begin with what the user has typed.
type CompleteFunc func(ctx context.Context, request CompleteRequest) (*Completion, error)

// CompleteRequest has the parameters of completion/complete.
type CompleteRequest struct {
	Ref struct {
		Type string `json:"type"`           // kind of the reference: "ref/prompt" or "ref/resource"
		Name string `json:"name,omitempty"` // for ref/prompt: the name of the prompt
		URI  string `json:"uri,omitempty"`  // for ref/resource: the URI template of the resource
	} `json:"ref"`
	Argument struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	} `json:"argument"`
	Context struct {
		Arguments map[string]string `json:"arguments,omitempty"`
	} `json:"context"`
}

// Completion has at most 100 values. Total is the number of all matching values, including those that are left out; 0 if it is unknown.
type Completion struct {
	Values  []string `json:"values"`
	Total   int      `json:"total,omitempty"`
	HasMore bool     `json:"hasMore,omitempty"`
}
