package schema

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

// Models send "3" for 3 and "yes" for true. The host does not coerce such arguments: the caller would not learn that the value was
// changed, and "007" may be intended. Instead, the error shows which value to write, so that the model can correct its next call. A
// correction is shown only if the schema at the value's location accepts the corrected value.

const (
	maxCorrected  = 80       // most bytes of a value that a failure shows; a longer value is only described
	maxCorrection = 64 << 10 // most bytes of a string that is parsed as JSON, and of an encoded value
	maxParsed     = 4 << 10  // most values in a string that is parsed as JSON
)

// wrongType describes the failure that the type of v is none of n.types.
func (c *evaluation) wrongType(n *node, v any, at *location) string {
	got := typeOf(v)
	what := fmt.Sprintf("must be %s, not %s", strings.Join(n.types.names(), " or "), got.names()[0])
	if !c.corrects {
		return what
	}
	write := c.correction(n, v, at)
	if text, ok := v.(string); ok && write == "" || got == typeArray || got == typeObject || got == typeNull || len(text) > maxCorrected {
		return what + write // the value is not shown: it is an array, an object, null, a long string or a string without a correction
	}
	return what + " " + encoded(v) + write
}

// correction states what to write in place of v; empty if it finds no valid value.
func (c *evaluation) correction(n *node, v any, at *location) string {
	for _, other := range c.candidates(n, v) {
		if !c.apply(n, other, at, nil, nil) {
			continue
		}
		text := encoded(other)
		switch {
		case len(text) <= maxCorrected:
			return ": write " + text
		case isArrayOf(other, v):
			return ": write an array with this item"
		case typeOf(v) == typeString:
			return fmt.Sprintf(": write the %s itself, not a string that contains it", typeOf(other).names()[0])
		case typeOf(v) == typeArray:
			return ": write the item itself, not in an array"
		}
		return ": write it as a string"
	}
	if text, ok := v.(string); (v == nil || ok && isNothing(text)) && at.isOptional() {
		return ": leave it out"
	}
	return ""
}

// candidates returns values that the caller may have meant by v, the most likely one first.
func (c *evaluation) candidates(n *node, v any) []any {
	var out []any
	switch v := v.(type) {
	case string:
		out = c.candidatesOfString(n, v)
	case json.Number:
		if n.types&typeBoolean != 0 && (v == "0" || v == "1") {
			out = append(out, v == "1")
		}
		out = append(out, string(v))
	case bool:
		out = append(out, fmt.Sprint(v))
	case []any:
		if len(v) == 1 {
			out = append(out, v[0])
		}
	case map[string]any:
		if text := encoded(v); n.types&typeString != 0 && text != "" {
			out = append(out, text)
		}
	}
	if n.types&typeArray != 0 {
		out = append(out, []any{v})
	}
	return slices.DeleteFunc(out, func(other any) bool { return encoded(other) == "" })
}

func (c *evaluation) candidatesOfString(n *node, text string) []any {
	if len(text) > maxCorrection {
		return nil
	}
	c.charge(len(text)) // parsing costs in proportion to the length
	text = strings.TrimSpace(text)
	var out []any
	if other, err := parsed(text); err == nil {
		if number, ok := other.(json.Number); ok && n.types&typeNumber == 0 && isInteger(number) {
			other = json.Number(rational(number).Num().String()) // an integer written with a fraction, such as 3.0, becomes 3
		}
		if _, isString := other.(string); !isString {
			out = append(out, other)
		}
	}
	if n.types&typeBoolean != 0 {
		switch strings.ToLower(text) {
		case "true", "yes", "y", "on", "t", "1":
			out = append(out, true)
		case "false", "no", "n", "off", "f", "0":
			out = append(out, false)
		}
	}
	if n.types&typeNull != 0 && isNothing(text) {
		out = append(out, nil)
	}
	return out
}

// integer matches an integer. Unlike JSON, it allows a plus sign and leading zeros.
var integer = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(?:\+|(-))?0*([0-9]+)$`) })

// parsed parses text as a JSON value, or as an integer that may have a plus sign or leading zeros.
func parsed(text string) (any, error) {
	text = integer().ReplaceAllString(text, "$1$2")
	if err := rawjson.Bound([]byte(text), maxParsed, maxDepth); err != nil {
		return nil, err
	}
	return decode(json.RawMessage(text))
}

// isArrayOf reports whether list is an array whose only item is v.
func isArrayOf(list, v any) bool {
	items, ok := list.([]any)
	return ok && len(items) == 1 && equal(items[0], v)
}

// isNothing reports whether a string stands for an absent value, as "null" does.
func isNothing(text string) bool {
	switch strings.ToLower(strings.TrimSpace(text)) {
	case "", "null", "none", "nil", "undefined":
		return true
	}
	return false
}

// encoded encodes a decoded value as JSON; empty if the result has more than maxCorrection bytes.
func encoded(v any) string {
	if sizeOf(v, maxCorrection) < 0 {
		return ""
	}
	text, err := rawjson.Marshal(v)
	if err != nil || len(text) > maxCorrection {
		return ""
	}
	return string(text)
}

// sizeOf returns budget minus the size of v. Each value counts at least one, as does each byte of a string. A negative result means
// that the size exceeds the budget.
func sizeOf(v any, budget int) int {
	budget--
	switch v := v.(type) {
	case string:
		budget -= len(v)
	case json.Number:
		budget -= len(v)
	case []any:
		for _, item := range v {
			if budget = sizeOf(item, budget); budget < 0 {
				break
			}
		}
	case map[string]any:
		for name, value := range v {
			if budget = sizeOf(value, budget-len(name)); budget < 0 {
				break
			}
		}
	}
	return budget
}
