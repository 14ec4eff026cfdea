package item

import (
	"encoding/base64"
	"slices"
	"strings"
	"unicode/utf8"
)

// Limits of an item's content, in bytes. MaxJSON limits text in its encoded form, so that a response can return every
// stored text.
const (
	maxPrompt   = 1 << 20
	maxResource = 4 << 20
	MaxJSON     = 7 << 20 // as a JSON string; a response has at most 8 MiB
)

const (
	// DefaultMIMEType is the MIME type of a resource if none was given.
	DefaultMIMEType = "text/plain"
	maxMIMEType     = 255 // characters
)

// ParseMIMEType validates a MIME type and returns it without surrounding white space.
func ParseMIMEType(sent string) (string, error) {
	kept := strings.TrimSpace(sent)
	if utf8.RuneCountInString(kept) > maxMIMEType {
		return "", Refuse("Resource MIME type exceeds maximum length of %d characters", maxMIMEType)
	}
	if kept == "" {
		return DefaultMIMEType, nil
	}
	return kept, nil
}

// textTypes are the textual MIME types outside of text/.
var textTypes = []string{
	"application/json", "application/xml", "application/yaml", "application/x-yaml", "application/toml",
	"application/sql", "application/javascript", "application/typescript", "application/graphql",
	"application/x-sh", "application/x-ndjson", "application/rtf",
}

// IsText reports whether content of a MIME type is sent as text. Other content is sent as base64.
func IsText(mimeType string) bool {
	essence, _, _ := strings.Cut(mimeType, ";")
	essence = strings.ToLower(strings.TrimSpace(essence))
	if strings.HasPrefix(essence, "text/") || slices.Contains(textTypes, essence) {
		return true
	}
	return slices.ContainsFunc([]string{"+json", "+xml", "+yaml"}, func(suffix string) bool {
		return strings.HasSuffix(essence, suffix)
	})
}

// Content is the content of an item.
type Content struct {
	Bytes  []byte
	Binary bool
}

// PromptContent returns a prompt's text as content.
func PromptContent(text string) (Content, error) {
	return textContent(Prompt, text, maxPrompt, "1 MiB")
}

// ResourceContent decodes the content argument of a resource: text or base64, depending on the MIME type.
func ResourceContent(mimeType, sent string) (Content, error) {
	if IsText(mimeType) {
		return TextResource(sent)
	}
	return BinaryResource(mimeType, sent)
}

// TextResource returns a resource's text as content.
func TextResource(text string) (Content, error) {
	return textContent(Resource, text, maxResource, "4 MiB")
}

func textContent(kind Kind, text string, most int, mostText string) (Content, error) {
	switch {
	case text == "":
		return Content{}, EmptyContent(kind)
	case len(text) > most:
		return Content{}, Refuse("%s content exceeds maximum size of %s", kind, mostText)
	case len(text) > (MaxJSON-2)/maxEscape && JSONLen(text) > MaxJSON:
		return Content{}, Refuse("%s content exceeds maximum size of %d MiB as a JSON string", kind, MaxJSON>>20)
	}
	return Content{Bytes: []byte(text)}, nil
}

// BinaryResource decodes a resource's bytes: standard base64, with or without padding and line breaks.
func BinaryResource(mimeType, sent string) (Content, error) {
	if sent == "" {
		return Content{}, EmptyContent(Resource)
	}
	decoded, err := base64.StdEncoding.DecodeString(sent)
	if err != nil {
		decoded, err = base64.RawStdEncoding.DecodeString(sent)
	}
	switch {
	case err != nil:
		return Content{}, Refuse("Resource content is not valid base64 for MIME type '%s'", Show(mimeType))
	case len(decoded) == 0: // the argument consists of line breaks
		return Content{}, EmptyContent(Resource)
	case len(decoded) > maxResource:
		return Content{}, Refuse("Resource content exceeds maximum size of 4 MiB")
	}
	return Content{Bytes: decoded, Binary: true}, nil
}

// EmptyContent returns the refusal of empty content.
func EmptyContent(kind Kind) error { return Refuse("%s content cannot be empty", kind) }

// maxEscape is the length of the longest escape of a byte, \u0000.
const maxEscape = 6

// JSONLen returns the length of text as a JSON string in bytes, including quotation marks.
func JSONLen(text string) int {
	n := len(text) + 2
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"', c == '\\', c == '\n', c == '\r', c == '\t', c == '\b', c == '\f':
			n++ // \n
		case c < ' ':
			n += 5 // \u0000
		case c == 0xe2 && (strings.HasPrefix(text[i:], "\u2028") || strings.HasPrefix(text[i:], "\u2029")):
			n += 3 // \u2028
		}
	}
	return n
}
