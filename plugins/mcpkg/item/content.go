package item

import (
	"encoding/base64"
	"slices"
	"strings"
	"unicode/utf8"
)

// Limits of the content of an item, in bytes. MaxJSON limits the length of a text as a JSON string, so that one
// response can hold any stored text.
const (
	maxPrompt   = 1 << 20
	maxResource = 4 << 20
	MaxJSON     = 7 << 20 // maximum length of a text as a JSON string; a response has at most 8 MiB
)

const (
	// DefaultMIMEType is the MIME type of a resource that a client creates without a MIME type.
	DefaultMIMEType = "text/plain"
	maxMIMEType     = 255 // maximum length in characters
)

// ParseMIMEType validates a MIME type and returns the MIME type without surrounding white space.
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

// textTypes are the MIME types of text that do not begin with "text/".
var textTypes = []string{
	"application/json", "application/xml", "application/yaml", "application/x-yaml", "application/toml",
	"application/sql", "application/javascript", "application/typescript", "application/graphql",
	"application/x-sh", "application/x-ndjson", "application/rtf",
}

// IsText reports whether content of a MIME type is sent as text. Content of any other MIME type is sent as base64.
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

type Content struct {
	Bytes  []byte
	Binary bool
}

// PromptContent returns a prompt's text as content.
func PromptContent(text string) (Content, error) {
	return textContent(Prompt, text, maxPrompt, "1 MiB")
}

// ResourceContent decodes the content argument of a resource, which is text or base64, depending on the MIME type.
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

// BinaryResource decodes the content of a binary resource, which is standard base64 with or without padding and line
// breaks.
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
	case len(decoded) == 0: // the base64 text consists only of line breaks
		return Content{}, EmptyContent(Resource)
	case len(decoded) > maxResource:
		return Content{}, Refuse("Resource content exceeds maximum size of 4 MiB")
	}
	return Content{Bytes: decoded, Binary: true}, nil
}

// EmptyContent returns the error for empty content.
func EmptyContent(kind Kind) error { return Refuse("%s content cannot be empty", kind) }

// maxEscape is the length in bytes of \u0000, the longest JSON escape of a one-byte character.
const maxEscape = 6

// JSONLen returns the length in bytes of text as a JSON string, including the quotation marks.
func JSONLen(text string) int {
	n := len(text) + 2
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"', c == '\\', c == '\n', c == '\r', c == '\t', c == '\b', c == '\f':
			n++ // the escape \n has 2 bytes instead of 1
		case c < ' ':
			n += 5 // the escape \u0000 has 6 bytes instead of 1
		case c == 0xe2 && (strings.HasPrefix(text[i:], "\u2028") || strings.HasPrefix(text[i:], "\u2029")):
			n += 3 // the escape \u2028 has 6 bytes instead of 3
		}
	}
	return n
}
