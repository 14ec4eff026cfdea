package python

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

// Strings returns the values of the required string arguments with these names. raw has the arguments of a call of the tool called tool,
// and is nil if there are none. The error describes all problems.
func Strings(tool string, raw []byte, names ...string) ([]string, error) {
	if rawjson.Kind(raw) != '{' {
		raw = []byte("{}")
	}
	var problems Problems
	values := make([]string, len(names))
	for i, name := range names {
		value := rawjson.Member(raw, name)
		text, ok := rawjson.Unquote(value)
		switch {
		case ok:
			values[i] = text
		case value == nil:
			problems.Add(name, "Field required", "missing", raw)
		default:
			problems.Add(name, "Input should be a valid string", "string_type", value)
		}
	}
	if err := problems.Err(tool); err != nil {
		return nil, err
	}
	return values, nil
}

// Problems are what is wrong with the arguments of a call. The zero value has none.
type Problems struct{ texts []string }

// Add adds a problem with the argument called name: its description, its type in pydantic, and the value, which must be valid JSON.
func (p *Problems) Add(name, description, kind string, value []byte) {
	p.texts = append(p.texts, fmt.Sprintf("%s\n  %s [type=%s, input_value=%s, input_type=%s]\n    For further information visit https://errors.pydantic.dev/2.14/v/%[3]s",
		name, description, kind, shorten(Repr(value)), Type(value)))
}

// Err returns the error of a call of the tool called tool; nil if there is no problem.
func (p *Problems) Err(tool string) error {
	plural := "s"
	switch len(p.texts) {
	case 0:
		return nil
	case 1:
		plural = ""
	}
	return fmt.Errorf("%d validation error%s for %sArguments\n%s", len(p.texts), plural, tool, strings.Join(p.texts, "\n"))
}

// shorten cuts the middle out of a text of more than 50 bytes.
func shorten(text string) string {
	if len(text) <= 50 {
		return text
	}
	start, end := 25, len(text)-24
	for !utf8.RuneStart(text[start]) {
		start--
	}
	for !utf8.RuneStart(text[end]) {
		end++
	}
	return text[:start] + "..." + text[end:]
}
