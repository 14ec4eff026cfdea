// Package item has the types of prompts and resources, and validates their fields. Package store stores them.
//
// Errors are sentences for the client that sent a field, such as "Prompt name cannot be empty".
package item

import "fmt"

// Refusal is the reason why an argument is refused, as a sentence for the client.
type Refusal string

func (r Refusal) Error() string { return string(r) }

// Refuse returns a Refusal, formatted as by fmt.Sprintf.
func Refuse(format string, arguments ...any) error { return Refusal(fmt.Sprintf(format, arguments...)) }

// Kind is the kind of an item. Its value is capitalized, because messages begin with it.
type Kind string

// The kinds of items.
const (
	Prompt   Kind = "Prompt"
	Resource Kind = "Resource"
)

// Word returns the kind for use within a sentence.
func (k Kind) Word() string {
	if k == Prompt {
		return "prompt"
	}
	return "resource"
}

// Item is a prompt or resource without its content.
type Item struct {
	Kind        Kind
	Name        string // unique within its kind
	Description string // "" for none
	URI         string // a resource's URI; unique and opaque
	MIMEType    string // a resource's MIME type
	Binary      bool   // the content is bytes, not text
}

// Draft is an item with its content, to be stored.
type Draft struct {
	Item
	Content Content
}

// NewPrompt checks the fields of a prompt.
func NewPrompt(name, text, description string) (Draft, error) {
	if err := CheckName(string(Prompt), name); err != nil {
		return Draft{}, err
	}
	content, err := PromptContent(text)
	if err != nil {
		return Draft{}, err
	}
	if err := CheckDescription(Prompt, description); err != nil {
		return Draft{}, err
	}
	return Draft{Item{Kind: Prompt, Name: name, Description: description}, content}, nil
}

// NewResource checks the fields of a resource. The MIME type "" means DefaultMIMEType. NewResource calls read with the
// normalized MIME type to get the content.
func NewResource(name, uri, mimeType, description string, read func(mimeType string) (Content, error)) (Draft, error) {
	if err := CheckName(string(Resource), name); err != nil {
		return Draft{}, err
	}
	if err := CheckURI(uri); err != nil {
		return Draft{}, err
	}
	kept, err := ParseMIMEType(mimeType)
	if err != nil {
		return Draft{}, err
	}
	content, err := read(kept)
	if err != nil {
		return Draft{}, err
	}
	if err := CheckDescription(Resource, description); err != nil {
		return Draft{}, err
	}
	it := Item{Kind: Resource, Name: name, Description: description, URI: uri, MIMEType: kept, Binary: content.Binary}
	return Draft{it, content}, nil
}
