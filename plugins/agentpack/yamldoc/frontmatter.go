package yamldoc

import (
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/bulkhead-mcp/bulkhead/sdk/frontmatter"
)

// maxFrontMatter is the maximum size of front matter, in bytes.
const maxFrontMatter = 256 << 10

// ParseFrontMatter returns the values of the front matter in text; the keys are the keys of the front matter. It
// returns an error if text has no front matter.
func ParseFrontMatter(text []byte) (map[string]Value, error) {
	if !utf8.Valid(text) {
		return nil, errors.New("the text is not UTF-8")
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
		return nil, errors.New("the front matter must be a map, not " + document.Describe())
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

// extractFrontMatter returns the YAML between the first two lines "---".
func extractFrontMatter(text string) (string, error) {
	head, _, err := frontmatter.Cut(text)
	switch {
	case errors.Is(err, frontmatter.ErrAbsent):
		return "", errors.New("the file does not begin with front matter: the first line must be ---")
	case len(head) > maxFrontMatter, err != nil && len(text) > maxFrontMatter:
		return "", fmt.Errorf("the front matter has more than %d KiB", maxFrontMatter>>10)
	case err != nil:
		return "", errors.New("the front matter is not terminated: a second line --- is missing")
	}
	return head, nil
}
