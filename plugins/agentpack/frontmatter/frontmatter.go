// Package frontmatter reads the YAML between two lines of dashes at the top of a Markdown file.
package frontmatter

import (
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/yamldoc"
)

// maxSize is the most that the YAML may be, in bytes.
const maxSize = 256 << 10

// dashes are the line before the YAML and the one behind it.
const dashes = "---"

// Parse returns the values by their keys. A text without front matter is an error.
func Parse(text []byte) (map[string]yamldoc.Value, error) {
	if !utf8.Valid(text) {
		return nil, errors.New("it is not UTF-8 text")
	}
	yaml, err := cut(string(text))
	if err != nil {
		return nil, err
	}
	document, err := yamldoc.Parse([]byte(yaml))
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
	values := make(map[string]yamldoc.Value, len(fields))
	for _, field := range fields {
		values[field.Key] = field.Value
	}
	return values, nil
}

// cut returns what stands between the lines of dashes.
func cut(text string) (string, error) {
	first, rest, _ := strings.Cut(text, "\n")
	if strings.TrimSuffix(first, "\r") != dashes {
		return "", errors.New("it does not begin with front matter: the first line has to be " + dashes)
	}
	at := 0
	for line := range strings.Lines(rest) {
		if strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r") == dashes {
			return rest[:at], nil
		}
		if at += len(line); at > maxSize {
			return "", errors.New("its front matter is too large")
		}
	}
	return "", errors.New("its front matter does not end: there is no second line " + dashes)
}
