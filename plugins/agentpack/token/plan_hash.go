package token

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/bulkhead-mcp/bulkhead/sdk/digest"
)

// PlanHash returns the SHA-256, in hexadecimal, of a plan and of the arguments for which the plan was computed. The
// argument data is the payload of deploy without the token. Plans that differ in any value have different hashes.
func PlanHash(binding Binding, data any) (string, error) {
	raw, err := json.Marshal(data)
	if err != nil {
		return "", err
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var plain any
	if err := decoder.Decode(&plain); err != nil {
		return "", err
	}
	text, err := appendCanonical(nil, map[string]any{
		"data": plain,
		"binding": map[string]any{
			"machine": orNull(binding.Machine), "profile": orNull(binding.Profile),
			"repo": orNull(binding.Repo), "target": orNull(binding.Target),
		},
	})
	if err != nil {
		return "", err
	}
	return digest.Hex(text), nil
}

func orNull(text string) any {
	if text == "" {
		return nil
	}
	return text
}

// appendCanonical appends the canonical JSON of a decoded JSON value to out: without white space, with keys in byte
// order, and with only mandatory escapes in strings.
func appendCanonical(out []byte, value any) ([]byte, error) {
	switch value := value.(type) {
	case nil:
		return append(out, "null"...), nil
	case bool:
		return fmt.Appendf(out, "%t", value), nil
	case json.Number:
		return append(out, value...), nil
	case string:
		return appendString(out, value), nil
	case []any:
		out = append(out, '[')
		for i, item := range value {
			if i > 0 {
				out = append(out, ',')
			}
			var err error
			if out, err = appendCanonical(out, item); err != nil {
				return nil, err
			}
		}
		return append(out, ']'), nil
	case map[string]any:
		out = append(out, '{')
		for i, key := range slices.Sorted(maps.Keys(value)) {
			if i > 0 {
				out = append(out, ',')
			}
			out = append(appendString(out, key), ':')
			var err error
			if out, err = appendCanonical(out, value[key]); err != nil {
				return nil, err
			}
		}
		return append(out, '}'), nil
	}
	return nil, fmt.Errorf("a %T is not a JSON value", value)
}

// short maps each character that has a two-character escape in JSON to that escape.
var short = map[rune]string{'\b': `\b`, '\t': `\t`, '\n': `\n`, '\f': `\f`, '\r': `\r`, '"': `\"`, '\\': `\\`}

func appendString(out []byte, text string) []byte {
	out = append(out, '"')
	for _, r := range text {
		switch escaped, ok := short[r]; {
		case ok:
			out = append(out, escaped...)
		case r < ' ':
			out = fmt.Appendf(out, `\u%04x`, r)
		default:
			out = append(out, string(r)...)
		}
	}
	return append(out, '"')
}
