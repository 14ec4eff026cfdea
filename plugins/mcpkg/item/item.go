// Package item defines the types of prompts and resources, and validates their fields. Package store stores prompts and
// resources.
//
// The errors of package item are sentences for the client that sent a field, such as "Prompt name cannot be empty".
package item

import "fmt"

// Refusal is an error about an argument. Its text is a sentence for the client.
type Refusal string

func (r Refusal) Error() string { return string(r) }

// Refuse returns a Refusal with a text that fmt.Sprintf formats.
func Refuse(format string, arguments ...any) error { return Refusal(fmt.Sprintf(format, arguments...)) }

// Kind is the kind of an item. The value is capitalized, because messages begin with the kind.
type Kind string

const (
	Prompt   Kind = "Prompt"
	Resource Kind = "Resource"
)

// Word returns the lower-case name of the kind, for use within a sentence.
func (k Kind) Word() string {
	if k == Prompt {
		return "prompt"
	}
	return "resource"
}

// Item is a prompt or resource without its content.
type Item struct {
	Kind        Kind
	Name        string // a name that no other item of the same kind has
	Description string // "" if the item has no description
	URI         string // the URI of a resource, which no other resource has; the plugin never interprets the URI
	MIMEType    string // the MIME type of a resource
	Binary      bool   // the content is binary data, not text
}

// Draft is an item with its content, before the item is stored.
type Draft struct {
	Item
	Content Content
}

// NewPrompt validates the fields of a prompt and returns the prompt as a draft.
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

// NewResource validates the fields of a resource and returns the resource as a draft. The MIME type "" means
// DefaultMIMEType. NewResource calls read with the normalized MIME type to get the content.
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
