package sdk

import "context"

// Prompts handles prompts/list and prompts/get; both functions are required. List returns all prompts: the host paginates.
// Get returns an *Error with abi.CodeInvalidParams for a name that does not exist.
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
}

// PromptMessage is one message of a prompt; Role is "user" or "assistant".
type PromptMessage struct {
	Role    string  `json:"role"`
	Content Content `json:"content"`
}

// CompleteFunc handles completion/complete: it returns values that begin with what the user has typed.
type CompleteFunc func(ctx context.Context, request CompleteRequest) (*Completion, error)

// CompleteRequest has the parameters of completion/complete.
type CompleteRequest struct {
	Ref struct {
		Type string `json:"type"`           // "ref/prompt" or "ref/resource"
		Name string `json:"name,omitempty"` // for ref/prompt: the prompt's name
		URI  string `json:"uri,omitempty"`  // for ref/resource: the resource's URI template
	} `json:"ref"`
	Argument struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	} `json:"argument"`
	Context struct {
		Arguments map[string]string `json:"arguments,omitempty"`
	} `json:"context"`
}

// Completion has at most 100 values. Total is the number of all matching values, also of those that are omitted; 0 if
// unknown.
type Completion struct {
	Values  []string `json:"values"`
	Total   int      `json:"total,omitempty"`
	HasMore bool     `json:"hasMore,omitempty"`
}
