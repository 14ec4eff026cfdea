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
	end := rawjson.ValueEnd(f.in, f.pos)
	key := f.in[f.pos:end]
	f.pos = end
	f.space()
	f.pos++ // the colon
	f.space()
	if f.in[f.pos] == 'n' {
		f.pos += len("null")
		return
	}
	f.separate()
	f.out = append(append(f.out, key...), ':')
	name, _ := rawjson.Unquote(key)
	f.value(slices.Contains(opaque, name))
}

// value copies a value; only its first byte if it is a container, unless whole is set.
func (f *nullFilter) value(whole bool) {
	if c := f.in[f.pos]; (c == '{' || c == '[') && !whole {
		f.open = append(f.open, container{object: c == '{'})
		f.copy(f.pos + 1)
		return
	}
	f.copy(rawjson.ValueEnd(f.in, f.pos))
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
	for f.pos < len(f.in) && bytes.IndexByte([]byte(" \t\n\r"), f.in[f.pos]) >= 0 {
		f.pos++
	}
}
