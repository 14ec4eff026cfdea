package item

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

const maxName = 255 // maximum length in characters

// CheckName validates a name. The error begins with the word in the argument "what", such as "Prompt" or "Project".
func CheckName(what, name string) error {
	switch {
	case name == "":
		return Refuse("%s name cannot be empty", what)
	case utf8.RuneCountInString(name) > maxName:
		return Refuse("%s name exceeds maximum length of %d characters", what, maxName)
	case strings.ContainsFunc(name, notInNames):
		return Refuse("%s name '%s' contains invalid characters. Allowed: a-z, A-Z, 0-9, -, _, .", what, Show(name))
	}
	return nil
}

func notInNames(r rune) bool {
	switch {
	case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-', r == '_', r == '.':
		return false
	}
	return true
}

const maxURI = 2048 // maximum length in characters

// CheckURI validates the URI of a resource. The plugin treats the URI as an opaque label, and never opens the file or
// page at that URI.
func CheckURI(uri string) error {
	switch {
	case uri == "":
		return Refuse("Resource URI cannot be empty")
	case utf8.RuneCountInString(uri) > maxURI:
		return Refuse("Resource URI exceeds maximum length of %d characters", maxURI)
	case !hasScheme(uri) || strings.ContainsFunc(uri, notInURIs):
		return Refuse("Resource URI '%s' is invalid", Show(uri))
	}
	return nil
}

func notInURIs(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) || r == utf8.RuneError }

// hasScheme reports whether uri begins with a scheme as RFC 3986 defines schemes.
func hasScheme(uri string) bool {
	scheme, _, found := strings.Cut(uri, ":")
	if !found || scheme == "" {
		return false
	}
	for i, r := range scheme {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		if !letter && (i == 0 || !strings.ContainsRune("0123456789+-.", r)) {
			return false
		}
	}
	return true
}

const maxDescription = 4096 // maximum length in characters

// CheckDescription validates the description of an item. The description "" means that the item has none.
func CheckDescription(kind Kind, description string) error {
	if utf8.RuneCountInString(description) > maxDescription {
		return Refuse("%s description exceeds maximum length of %d characters", kind, maxDescription)
	}
	return nil
}

const maxShown = 300 // maximum length in characters

// Show returns a name in the form for messages: Show truncates a long name and replaces control characters.
func Show(name string) string {
	var shown strings.Builder
	count := 0
	for _, r := range name {
		if count == maxShown {
			shown.WriteRune('…')
			break
		}
		if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' {
			r = '?'
		}
		shown.WriteRune(r)
		count++
	}
	return shown.String()
}
