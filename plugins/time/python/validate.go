package python

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

// Strings returns the values of the required string arguments with these names. raw has the arguments of a call of the
// tool called tool, and is nil if there are none. The error describes all problems in the words of pydantic, the library
// with which the reference server validates.
func Strings(tool string, raw []byte, names ...string) ([]string, error) {
	if rawjson.Kind(raw) != '{' {
		raw = []byte("{}")
	}
	values, problems := make([]string, len(names)), []string(nil)
	for i, name := range names {
		value := rawjson.Member(raw, name)
		text, ok := rawjson.Unquote(value)
		switch {
		case ok:
			values[i] = text
		case value == nil:
			problems = append(problems, problem(name, "Field required", "missing", raw))
		default:
			problems = append(problems, problem(name, "Input should be a valid string", "string_type", value))
		}
	}
	if len(problems) == 0 {
		return values, nil
	}
	plural := ""
	if len(problems) > 1 {
		plural = "s"
	}
	return nil, fmt.Errorf("%d validation error%s for %sArguments\n%s", len(problems), plural, tool, strings.Join(problems, "\n"))
}

func problem(name, what, kind string, input []byte) string {
	return fmt.Sprintf("%s\n  %s [type=%s, input_value=%s, input_type=%s]\n    For further information visit https://errors.pydantic.dev/2.14/v/%[3]s",
		name, what, kind, shorten(Repr(input)), Type(input))
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
