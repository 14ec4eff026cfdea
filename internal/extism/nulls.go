package extism

import (
	"bytes"
	"slices"

	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

// opaque lists the members whose values the plugin defines: a null in them can have a meaning, so it is kept.
var opaque = []string{"structuredContent", "_meta", "inputSchema", "outputSchema"}

// withoutNulls returns valid JSON without the members whose value is null. Serializers of typed languages write a missing optional member
// as null, which MCP does not allow. It makes one pass and does not recurse.
func withoutNulls(text []byte) []byte {
	if !bytes.Contains(text, []byte("null")) {
		return text
	}
	f := nullFilter{in: text, out: make([]byte, 0, len(text))}
	for f.space(); f.pos < len(f.in); f.space() {
		f.step()
	}
	return f.out
}

// nullFilter copies JSON from in to out. open is the stack of containers around pos.
type nullFilter struct {
	in, out []byte
	pos     int
	open    []container
}

type container struct {
	object bool
	filled bool // whether out has an element of the container
}

// step copies the end of a container, an element or a member. If the value is a container, step copies only the beginning of it.
func (f *nullFilter) step() {
	switch c := f.in[f.pos]; {
	case c == ',':
		f.pos++
	case c == '}' || c == ']':
		f.open = f.open[:len(f.open)-1]
		f.copy(f.pos + 1)
	case len(f.open) == 0 || !f.open[len(f.open)-1].object:
		f.separate()
		f.value(false)
	default:
		f.member()
	}
}

func (f *nullFilter) member() {
	end := stringEnd(f.in, f.pos)
	key := f.in[f.pos:end]
	value := end
	for f.in[value] != ':' {
		value++
	}
	value++
	for isSpace(f.in[value]) {
		value++
	}
	if f.in[value] == 'n' {
		f.pos = value + len("null")
		return
	}
	f.separate()
	f.out = append(append(f.out, key...), ':')
	f.pos = value
	name, _ := rawjson.Unquote(key)
	f.value(slices.Contains(opaque, name))
}

// value copies a value; only its first byte if it is a container, unless whole is set.
func (f *nullFilter) value(whole bool) {
	switch c := f.in[f.pos]; {
	case c == '"':
		f.copy(stringEnd(f.in, f.pos))
	case c != '{' && c != '[':
		end := f.pos
		for end < len(f.in) && !isSpace(f.in[end]) && f.in[end] != ',' && f.in[end] != '}' && f.in[end] != ']' {
			end++
		}
		f.copy(end)
	case whole:
		f.copy(f.containerEnd())
	default:
		f.open = append(f.open, container{object: c == '{'})
		f.copy(f.pos + 1)
	}
}

// containerEnd returns the index after the container at pos.
func (f *nullFilter) containerEnd() int {
	depth := 0
	for i := f.pos; ; {
		switch f.in[i] {
		case '"':
			i = stringEnd(f.in, i)
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
		i++
	}
}

// separate writes the comma before an element.
func (f *nullFilter) separate() {
	if len(f.open) == 0 {
		return
	}
	top := &f.open[len(f.open)-1]
	if top.filled {
		f.out = append(f.out, ',')
	}
	top.filled = true
}

func (f *nullFilter) copy(end int) {
	f.out = append(f.out, f.in[f.pos:end]...)
	f.pos = end
}

func (f *nullFilter) space() {
	for f.pos < len(f.in) && isSpace(f.in[f.pos]) {
		f.pos++
	}
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

// stringEnd returns the index after the string at index i of valid JSON.
func stringEnd(text []byte, i int) int {
	for i++; text[i] != '"'; i++ {
		if text[i] == '\\' {
			i++
		}
	}
	return i + 1
}
