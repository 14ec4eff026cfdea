// Package frontmatter reads the YAML between two lines of dashes at the top of a Markdown file.
package yamldoc

import (
	"errors"
	"strings"
	"unicode/utf8"
)

// maxSize is the most that the YAML may be, in bytes.
const maxFrontMatter = 256 << 10

// dashes are the line before the YAML and the one behind it.
const delimiter = "---"

// Parse returns the values by their keys. A text without front matter is an error.
func ParseFrontMatter(text []byte) (map[string]Value, error) {
	if !utf8.Valid(text) {
		return nil, errors.New("it is not UTF-8 text")
	}
	yaml, err := extractFrontMatter(string(text))
	if err != nil {
		return nil, err
	}
	document, err := Parse([]byte(yaml))
	if err != nil {
		return nil, err
	}
	if !document.IsMap() {
		return nil, errors.New("its front matter is not a map but " + document.Describe())
	}
	fields, err := document.Fields()
	if err != nil {
		return nil, err
	}
	values := make(map[string]Value, len(fields))
	for _, field := range fields {
		values[field.Key] = field.Value
	}
	return values, nil
}

// cut returns what stands between the lines of dashes.
func extractFrontMatter(text string) (string, error) {
	first, rest, _ := strings.Cut(text, "\n")
	if strings.TrimSuffix(first, "\r") != delimiter {
		return "", errors.New("it does not begin with front matter: the first line has to be " + delimiter)
	}
	at := 0
	for line := range strings.Lines(rest) {
		if strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r") == delimiter {
			return rest[:at], nil
		}
		if at += len(line); at > maxFrontMatter {
			return "", errors.New("its front matter is too large")
		}
	}
	return "", errors.New("its front matter does not end: there is no second line " + delimiter)
}
