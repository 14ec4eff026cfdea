package tools

import "github.com/bulkhead-mcp/bulkhead/sdk/rawjson"

// indent returns compact JSON in the form that json.Indent produces with two spaces. The JSON must be valid.
// json.Indent is not used, because it validates the JSON, which took more time than anything else in a call that
// returns a long list.
func indent(compact []byte) string {
	out := make([]byte, 0, len(compact)*3/2)
	depth := 0
	newline := func() {
		out = append(out, '\n')
		for range depth {
			out = append(out, "  "...)
		}
	}
	for i := 0; i < len(compact); i++ {
		c := compact[i]
		switch c {
		case '"':
			end := rawjson.ValueEnd(compact, i)
			out = append(out, compact[i:end]...)
			i = end - 1
		case '{', '[':
			out = append(out, c)
			if next := compact[i+1]; next == '}' || next == ']' {
				out = append(out, next)
				i++
				continue
			}
			depth++
			newline()
		case '}', ']':
			depth--
			newline()
			out = append(out, c)
		case ',':
			out = append(out, c)
			newline()
		case ':':
			out = append(out, ": "...)
		default:
			out = append(out, c)
		}
	}
	return string(out)
}
