// Package item has what a prompt and a resource are, and the rules for their fields. It stores nothing:
// package store does.
//
// Errors are texts for whoever sent a field. They begin with what is wrong ("Prompt name cannot be empty").
package item

import "fmt"

// Refusal is why something that was sent is not taken, as a sentence for who sent it.
type Refusal string

func (r Refusal) Error() string { return string(r) }

// Refuse returns a Refusal, formatted as by fmt.Sprintf.
func Refuse(format string, arguments ...any) error { return Refusal(fmt.Sprintf(format, arguments...)) }

// Kind tells prompts from resources. Its text is the word for one at the beginning of a sentence.
type Kind string

// The kinds of items.
const (
	Prompt   Kind = "Prompt"
	Resource Kind = "Resource"
)

// Word returns the kind as it stands within a sentence.
func (k Kind) Word() string {
	if k == Prompt {
		return "prompt"
	}
	return "resource"
}

// Item is what is known of a prompt or resource without its content.
type Item struct {
	Kind        Kind
	Name        string // unique among those of its kind
	Description string // "" for none
	URI         string // of a resource; unique, and opaque
	MIMEType    string // of a resource
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

// NewResource checks the fields of a resource; a MIME type "" stands for DefaultMIMEType. Its content is what
// read returns, which is given the MIME type as it is kept.
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
