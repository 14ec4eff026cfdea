package sdk

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// Form asks the user to fill in a form. A form must not ask for a secret, such as a password: use a Link for that.
type Form struct {
	Message string // tells the user the purpose of the form
	// Schema is the JSON Schema of the form's content: an object whose properties are strings, numbers, integers, booleans or choices. It is a
	// json.RawMessage, or a value that is encoded as JSON.
	Schema any
}

func (f Form) request() (string, any) {
	return abi.MethodElicit, struct {
		Mode    string `json:"mode"`
		Message string `json:"message"`
		Schema  any    `json:"requestedSchema"`
	}{"form", f.Message, f.Schema}
}

// Link asks the user to open a URL, for example to enter a secret there. The URL must contain nothing that identifies or authenticates the
// user. The answer states whether the user agreed to open the URL, not whether the user has done anything there.
type Link struct {
	Message string
	URL     string
}

func (l Link) request() (string, any) {
	return abi.MethodElicit, struct {
		Mode    string `json:"mode"`
		Message string `json:"message"`
		URL     string `json:"url"`
	}{"url", l.Message, l.URL}
}

// Values of FormAnswer.Action.
const (
	Accept  = abi.ActionAccept
	Decline = abi.ActionDecline // the user declined
	Cancel  = abi.ActionCancel  // the user made no decision
)

// FormAnswer is the answer to a Form or a Link.
type FormAnswer struct {
	Action string `json:"action"` // the user's action: Accept, Decline or Cancel
	// Content has the values of the form's fields. A client may send it without validating it against the schema.
	Content json.RawMessage `json:"content,omitempty"`
}

// Accepted reports whether the user accepted.
func (a *FormAnswer) Accepted() bool { return a.Action == Accept }

// Decode decodes the content into a pointer in the way of json.Unmarshal.
func (a *FormAnswer) Decode(into any) error {
	if len(a.Content) == 0 {
		return errors.New("the answer has no content")
	}
	return json.Unmarshal(a.Content, into)
}

// Elicit asks the user to fill in a form. Ask explains how the handler is run again:
//
//	answer, err := sdk.Elicit(ctx, "name", sdk.Form{Message: "What is your name?", Schema: nameSchema})
//	if err != nil {
//		return nil, err // at first sdk.ErrAsking
//	}
//	if !answer.Accepted() {
//		return sdk.Text("As you like."), nil
//	}
func Elicit(ctx context.Context, id string, form Form) (*FormAnswer, error) {
	answers, err := Ask(ctx, map[string]Question{id: form})
	if err != nil {
		return nil, err
	}
	return answers.Form(id)
}

// OpenURL asks the user to open a URL. Ask explains how the handler is run again.
func OpenURL(ctx context.Context, id string, link Link) (*FormAnswer, error) {
	answers, err := Ask(ctx, map[string]Question{id: link})
	if err != nil {
		return nil, err
	}
	return answers.Form(id)
}

// Sampling asks the client's model for a message. MCP has deprecated this.
type Sampling struct {
	Messages     []PromptMessage `json:"messages"`
	MaxTokens    int             `json:"maxTokens"`
	SystemPrompt string          `json:"systemPrompt,omitempty"`
	Temperature  *float64        `json:"temperature,omitempty"`
	Stop         []string        `json:"stopSequences,omitempty"`
	// Preferences, Tools and ToolChoice are encoded as JSON. MCP calls them modelPreferences, tools and toolChoice.
	Preferences any `json:"modelPreferences,omitempty"`
	Tools       any `json:"tools,omitempty"`
	ToolChoice  any `json:"toolChoice,omitempty"`
}

func (s Sampling) request() (string, any) {
	if s.Messages == nil {
		s.Messages = []PromptMessage{}
	}
	return abi.MethodSample, s
}

// SamplingAnswer is a message of the client's model.
type SamplingAnswer struct {
	Role       string          `json:"role"`
	Content    json.RawMessage `json:"content"` // one item of content, or an array of items
	Model      string          `json:"model"`
	StopReason string          `json:"stopReason,omitempty"`
}

// Text returns the text items of the content, joined by newlines.
func (a *SamplingAnswer) Text() string {
	type item struct{ Type, Text string }
	var items []item
	if json.Unmarshal(a.Content, &items) != nil {
		items = make([]item, 1)
		if json.Unmarshal(a.Content, &items[0]) != nil {
			return ""
		}
	}
	text := ""
	for _, i := range items {
		if i.Type != "text" {
			continue
		}
		if text != "" {
			text += "\n"
		}
		text += i.Text
	}
	return text
}

// Sample asks the client's model for a message. Ask explains how the handler is run again. If the user rejects, the error is a *ClientError.
func Sample(ctx context.Context, id string, sampling Sampling) (*SamplingAnswer, error) {
	answers, err := Ask(ctx, map[string]Question{id: sampling})
	if err != nil {
		return nil, err
	}
	return answers.Sampling(id)
}

// RootsQuestion asks for the directories in which the client works. MCP has deprecated this.
type RootsQuestion struct{}

func (RootsQuestion) request() (string, any) { return abi.MethodListRoots, struct{}{} }

// Root is a directory in which the client works. It is not a grant: the plugin can open the directory only if the host permits that.
type Root struct {
	URI  string `json:"uri"` // URI of the directory: file://…
	Name string `json:"name,omitempty"`
}

// ListRoots asks for the directories in which the client works. Ask explains how the handler is run again.
func ListRoots(ctx context.Context, id string) ([]Root, error) {
	answers, err := Ask(ctx, map[string]Question{id: RootsQuestion{}})
	if err != nil {
		return nil, err
	}
	return answers.Roots(id)
}
