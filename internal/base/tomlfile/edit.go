package tomlfile

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/pelletier/go-toml/v2/unstable"

	"github.com/bulkhead-mcp/bulkhead/internal/base/textedit"
	"github.com/bulkhead-mcp/bulkhead/internal/base/visible"
)

// Edit parses data, and returns the content of what edit makes of it.
func Edit(data []byte, edit func(*Doc) (*Doc, error)) ([]byte, error) {
	d, ps := Parse("the file", data)
	if d == nil {
		return nil, ps.Err()
	}
	d, err := edit(d)
	if err != nil {
		return nil, err
	}
	return d.data, nil
}

// SetString sets key in table (a dotted key, "" for the top level) to value and preserves all other bytes: it replaces the
// existing value, or adds the key after the last key of the table, or adds the table at the end. It is an error if the
// existing value is not a string, or table is not a table.
func (d *Doc) SetString(table, key, value string) (*Doc, error) {
	return d.set(table, key, value, quote(value))
}

// SetStrings is SetString for an array of strings.
func (d *Doc) SetStrings(table, key string, values []string) (*Doc, error) {
	items, quoted := make([]any, len(values)), make([]string, len(values))
	for i, value := range values {
		items[i], quoted[i] = value, quote(value)
	}
	return d.set(table, key, items, "["+strings.Join(quoted, ", ")+"]")
}

// set sets key in table to value, whose TOML is text.
func (d *Doc) set(table, key string, value any, text string) (*Doc, error) {
	if !utf8.ValidString(text) || key == "" {
		return nil, errors.New("the key is empty or the value is not UTF-8")
	}
	path := []string{}
	if table != "" {
		path = strings.Split(table, ".")
	}
	f := finder{data: d.data, table: path, full: append(slices.Clone(path), key)}
	f.walk(d.data)
	if f.sealed && f.value.Length == 0 && f.inline == 0 {
		// TOML forbids a header that adds to an inline table, but the decoder that verifies the result accepts it.
		return nil, fmt.Errorf("%s cannot be set, because it is in an inline table: rewrite that table with a [header]", strings.Join(f.full, "."))
	}
	edited, err := d.parseEdited(f.edit(d.data, path, key, text))
	if err == nil {
		err = edited.checkSet(d.clone(), path, key, value)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", strings.Join(f.full, "."), err)
	}
	return edited, nil
}

// clone returns a copy of what the file decodes to.
func (d *Doc) clone() map[string]any { return clone(d.values).(map[string]any) }

func clone(value any) any {
	switch v := value.(type) {
	case map[string]any:
		copied := make(map[string]any, len(v))
		for key, member := range v {
			copied[key] = clone(member)
		}
		return copied
	case []map[string]any:
		copied := make([]map[string]any, len(v))
		for i, item := range v {
			copied[i] = clone(item).(map[string]any)
		}
		return copied
	case []any:
		copied := make([]any, len(v))
		for i, item := range v {
			copied[i] = clone(item)
		}
		return copied
	}
	return value
}

// parseEdited parses the edited content of d. The caller checks what it decodes to, so that no edit relies on its own search.
func (d *Doc) parseEdited(data []byte) (*Doc, error) {
	edited, ps := Parse("the edited file", data)
	if edited == nil {
		return nil, ps.Err()
	}
	edited.file = d.file
	return edited, nil
}

// finder locates a key in a valid TOML file, or the position to insert it.
type finder struct {
	data        []byte
	table, full []string

	value  unstable.Range // range of the key's value; Length 0: the key was not found
	inline int            // offset after the { of the table if it is inline; otherwise 0
	empty  bool           // the inline table is empty
	sealed bool           // a parent of table is an inline table, to which no header can add
	after  int            // an offset in the line after which the key can be inserted
	dotted int            // number of parts of table that precede the key in that line; -1: no such line
}

func (f *finder) walk(data []byte) {
	f.dotted = -1
	var p unstable.Parser
	p.Reset(data)
	here, inArray := []string{}, false
	var arrays [][]string
	for p.NextExpression() {
		e := p.Expression()
		if e.Kind == unstable.KeyValue {
			if !inArray {
				f.keyValue(here, e)
			}
			continue
		}
		var end int
		here, end = keyPath(e.Key(), nil)
		if e.Kind == unstable.ArrayTable {
			arrays = append(arrays, here)
		}
		inArray = slices.ContainsFunc(arrays, func(a []string) bool { return hasPrefix(here, a) })
		if !inArray && slices.Equal(here, f.table) {
			f.after, f.dotted = end, 0
		}
	}
}

func (f *finder) keyValue(here []string, e *unstable.Node) {
	path, keyEnd := keyPath(e.Key(), here)
	end := int(e.Raw.Offset + e.Raw.Length)
	switch v := e.Value(); {
	case slices.Equal(path, f.full):
		f.value = valueRange(f.data, e, keyEnd)
	case v.Kind == unstable.InlineTable && hasPrefix(f.table, path):
		f.sealed = true
		f.inlineTable(path, v)
	case slices.Equal(here, f.table):
		f.after, f.dotted = end, 0
	case len(here) < len(f.table) && hasPrefix(f.table, here) && hasPrefix(path, f.table):
		f.after, f.dotted = end, len(f.table)-len(here)
	}
}

// valueRange returns the range of the value of a key, which ends at keyEnd. The parser reports none for arrays.
func valueRange(data []byte, e *unstable.Node, keyEnd int) unstable.Range {
	if v := e.Value(); v.Kind != unstable.Array {
		return v.Raw
	}
	start := uint32(keyEnd + bytes.IndexByte(data[keyEnd:], '['))
	return unstable.Range{Offset: start, Length: e.Raw.Offset + e.Raw.Length - start}
}

func (f *finder) inlineTable(path []string, v *unstable.Node) {
	found := slices.Equal(path, f.table)
	if found {
		f.inline, f.empty = int(v.Raw.Offset+v.Raw.Length), true
	}
	for it := v.Children(); it.Next(); {
		f.empty = f.empty && !found
		child := it.Node()
		inner, _ := keyPath(child.Key(), path)
		switch w := child.Value(); {
		case slices.Equal(inner, f.full):
			f.value = w.Raw
		case w.Kind == unstable.InlineTable && hasPrefix(f.table, inner):
			f.inlineTable(inner, w)
		}
	}
}

func (f *finder) edit(data []byte, table []string, key, quoted string) []byte {
	pair := dotted("", key) + " = " + quoted
	switch {
	case f.value.Length > 0:
		start := int(f.value.Offset)
		return textedit.Splice(data, start, start+int(f.value.Length), quoted)
	case f.inline > 0:
		if !f.empty {
			pair += ","
		}
		return textedit.Splice(data, f.inline, f.inline, " "+pair)
	case f.dotted >= 0:
		prefix := ""
		for _, part := range table[len(table)-f.dotted:] {
			prefix += dotted("", part) + "."
		}
		return addLine(data, f.after, prefix+pair)
	case len(table) == 0:
		return textedit.Splice(data, 0, 0, pair+textedit.Newline(data))
	}
	heading := ""
	for _, part := range table {
		heading = dotted(heading, part)
	}
	return appendLines(data, "["+heading+"]\n"+pair+"\n")
}

// appendLines adds lines at the end of data, after an empty line.
func appendLines(data []byte, lines string) []byte {
	switch {
	case bytes.HasSuffix(data, []byte("\n")):
		lines = "\n" + lines
	case len(data) > 0:
		lines = "\n\n" + lines
	}
	return textedit.Splice(data, len(data), len(data), strings.ReplaceAll(lines, "\n", textedit.Newline(data)))
}

// checkSet checks that d differs from the values before only in the value of key. It changes before.
func (d *Doc) checkSet(before map[string]any, table []string, key string, value any) error {
	in := before
	for _, part := range table {
		next, ok := in[part].(map[string]any)
		if !ok {
			if in[part] != nil {
				return fmt.Errorf("%s exists, but is not a table", Quote(part))
			}
			next = map[string]any{}
			in[part] = next
		}
		in = next
	}
	if old, ok := in[key]; ok && reflect.TypeOf(old) != reflect.TypeOf(value) {
		return fmt.Errorf("the existing value is not %s", kindName(value))
	}
	in[key] = value
	if !reflect.DeepEqual(before, d.values) {
		return errors.New("cannot be set without changing other values: edit the file by hand")
	}
	return nil
}

func kindName(value any) string {
	if _, ok := value.(string); ok {
		return "a string"
	}
	return "an array"
}

func keyPath(key unstable.Iterator, prefix []string) ([]string, int) {
	path, end := slices.Clone(prefix), 0
	for key.Next() {
		k := key.Node()
		path = append(path, string(k.Data))
		end = int(k.Raw.Offset + k.Raw.Length)
	}
	return path, end
}

func hasPrefix(path, prefix []string) bool {
	return len(path) >= len(prefix) && slices.Equal(path[:len(prefix)], prefix)
}

// addLine inserts line after the line that contains offset, with the same indentation.
func addLine(data []byte, offset int, line string) []byte {
	above, nl := data[textedit.LineStart(data, offset):], textedit.Newline(data)
	indent := above[:len(above)-len(bytes.TrimLeft(above, " \t"))]
	line, end := string(indent)+line+nl, textedit.LineEnd(data, offset)
	if data[end-1] != '\n' {
		line = nl + line
	}
	return textedit.Splice(data, end, end, line)
}

// Text encodes s as a TOML string. If s is not UTF-8 the result is not valid TOML.
func Text(s string) string { return quote(s) }

// Key encodes a part of a dotted key, quoted only if necessary.
func Key(part string) string { return dotted("", part) }

// quote encodes s as a TOML basic string and escapes all invisible code points.
func quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case visible.Rune(r):
			// Copy the bytes, not the rune: invalid UTF-8 must be preserved, so that the parser refuses it.
			_, n := utf8.DecodeRuneInString(s[i:])
			b.WriteString(s[i : i+n])
		case r > 0xffff:
			fmt.Fprintf(&b, `\U%08X`, r)
		default:
			fmt.Fprintf(&b, `\u%04X`, r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// dotted appends part to a dotted key, quoted if necessary.
func dotted(path, part string) string {
	if part == "" || strings.ContainsFunc(part, func(c rune) bool { return !bare(c) }) {
		part = quote(part)
	}
	if path == "" {
		return part
	}
	return path + "." + part
}
