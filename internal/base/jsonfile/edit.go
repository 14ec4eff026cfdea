package jsonfile

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/bulkhead-mcp/bulkhead/internal/base/textedit"
)

// Object is a value to write, with its members in order.
type Object []Member

// Member is a member of an Object. Its value is a string, a []string or an Object.
type Member struct {
	Name  string
	Value any
}

// Set sets the member at path, whose last element is its name, to value and preserves all other bytes of data: it replaces the
// existing value, or adds the member after the last one of its object, in the style of the file. Missing objects are created.
func Set(data []byte, path []string, value any) ([]byte, error) {
	if Blank(data) {
		data = append(bytes.Clone(data[:len(data)-len(bytes.TrimPrefix(data, byteOrderMark))]), "{}\n"...)
	}
	d, err := parse(data)
	if err != nil {
		return nil, err
	}
	before, err := d.decode()
	if err != nil {
		return nil, err
	}
	in := &d.root
	for i, name := range path {
		object, err := d.object(in, path[:i])
		if err != nil {
			return nil, err
		}
		at, err := d.find(object, name)
		if err != nil {
			return nil, err
		}
		if at < 0 {
			d.insert(in, object, name, nest(path[i+1:], value))
			break
		}
		m := &object.Members[at]
		if i == len(path)-1 {
			text := d.render(value, d.indentAt(m.Name.StartOffset), d.multiline(in.StartOffset, in.EndOffset))
			d.splice(m.Value.StartOffset, m.Value.EndOffset, text)
			break
		}
		in = &m.Value
	}
	want := before
	for _, name := range path[:len(path)-1] {
		next, ok := want[name].(map[string]any)
		if !ok {
			next = map[string]any{}
			want[name] = next
		}
		want = next
	}
	want[path[len(path)-1]] = plain(value)
	return d.verified(before)
}

// Copy sets the member at path, as Set does, to the bytes that it has in from, with its comments.
func Copy(data, from []byte, path []string) ([]byte, error) {
	d, err := parse(from)
	if err != nil {
		return nil, err
	}
	pointer := ""
	for _, name := range path {
		pointer += "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
	}
	v := d.root.Find(pointer)
	if v == nil {
		return nil, fmt.Errorf("there is no %q", strings.Join(path, "."))
	}
	return Set(data, path, raw(d.data[v.StartOffset:v.EndOffset]))
}

// raw is a value as it is in a file.
type raw string

// Remove removes the member at path with its line breaks and comma. All other bytes of data are preserved, comments included.
func Remove(data []byte, path []string) ([]byte, error) {
	d, err := parse(data)
	if err != nil {
		return nil, err
	}
	want, err := d.decode()
	if err != nil {
		return nil, err
	}
	in, values := &d.root, want
	for i, name := range path {
		object, err := d.object(in, path[:i])
		if err != nil {
			return nil, err
		}
		at, err := d.find(object, name)
		if err != nil {
			return nil, err
		}
		if at < 0 {
			return nil, fmt.Errorf("there is no %q", strings.Join(path[:i+1], "."))
		}
		if i == len(path)-1 {
			delete(values, name)
			d.cut(in, object, at)
			break
		}
		in = &object.Members[at].Value
		values, _ = values[name].(map[string]any)
	}
	return d.verified(want)
}

// verified returns the edited bytes if they decode to want.
func (d *document) verified(want map[string]any) ([]byte, error) {
	edited := append(bytes.Clone(d.mark), d.data...)
	got, err := Decode(edited)
	if err != nil || !reflect.DeepEqual(want, got) {
		return nil, errors.New("the file cannot be edited without changing other values: edit it by hand")
	}
	return edited, nil
}

// nest wraps value in objects with one member each.
func nest(path []string, value any) any {
	for _, name := range slices.Backward(path) {
		value = Object{{name, value}}
	}
	return value
}

// plain returns value in the form that decoding its encoding would return.
func plain(value any) any {
	switch v := value.(type) {
	case raw:
		values, _ := Decode([]byte(`{"": ` + string(v) + "\n}")) // it is from a file that could be parsed
		return values[""]
	case Object:
		object := map[string]any{}
		for _, m := range v {
			object[m.Name] = plain(m.Value)
		}
		return object
	case []string:
		list := make([]any, len(v))
		for i, s := range v {
			list[i] = s
		}
		return list
	}
	return value
}

// insert adds a member at the end of an object.
func (d *document) insert(in *hujson.Value, object *hujson.Object, name string, value any) {
	open, end := in.StartOffset, in.EndOffset-1
	label := string(hujson.String(name)) + ": "
	n := len(object.Members)
	if n == 0 {
		d.insertFirst(open, end, label, value)
		return
	}
	last := &object.Members[n-1]
	comma, line := d.tail(last.Value.EndOffset, end)
	trailing := ""
	if comma >= 0 {
		trailing = ","
	}
	if !d.startsLine(last.Name.StartOffset) {
		at := last.Value.EndOffset
		if comma >= 0 {
			d.splice(comma+1, comma+1, " "+label+d.render(value, "", false)+",")
			return
		}
		d.splice(at, at, ", "+label+d.render(value, "", false))
		return
	}
	indent := d.indentAt(last.Name.StartOffset)
	d.splice(line, line, d.newline()+indent+label+d.render(value, indent, true)+trailing)
	if comma < 0 {
		d.splice(last.Value.EndOffset, last.Value.EndOffset, ",")
	}
}

// insertFirst adds a member to an object without members, whose braces are at the offsets open and end.
func (d *document) insertFirst(open, end int, label string, value any) {
	outer := d.indentAt(open)
	indent := outer + d.unit()
	member := indent + label + d.render(value, indent, true)
	if blank(d.data[open+1 : end]) {
		d.splice(open+1, end, d.newline()+member+d.newline()+outer)
		return
	}
	if line := textedit.LineStart(d.data, end); line > open && blank(d.data[line:end]) {
		d.splice(line, line, member+d.newline())
		return
	}
	d.splice(end, end, d.newline()+member+d.newline()+outer)
}

// tail scans the text from the end of the last value of an object (start) to its closing brace (end). It returns the
// offset of the comma after the value (-1 if there is none), and the end of the line that contains the comma, or else the value.
func (d *document) tail(start, end int) (comma, line int) {
	comma, line = -1, -1
	for i := start; i < end; {
		switch d.data[i] {
		case '/':
			i = skipComment(d.data, i)
			continue
		case ',':
			comma, line = i, -1
		case '\n':
			if line < 0 {
				line = i
			}
		}
		i++
	}
	if line < 0 {
		return comma, end
	}
	if d.data[line-1] == '\r' {
		line--
	}
	return comma, line
}

// cut removes a member of an object.
func (d *document) cut(in *hujson.Value, object *hujson.Object, at int) {
	m := &object.Members[at]
	start, end := m.Name.StartOffset, m.Value.EndOffset
	next := in.EndOffset - 1
	if at+1 < len(object.Members) {
		next = object.Members[at+1].Name.StartOffset
	}
	comma, _ := d.tail(end, next)
	if comma >= 0 && blank(d.data[end:comma]) {
		end, comma = comma+1, -1
	}
	previous := -1 // offset of the comma before the last member
	if at > 0 && at == len(object.Members)-1 && comma < 0 && end == m.Value.EndOffset {
		previous, _ = d.tail(object.Members[at-1].Value.EndOffset, start)
	}
	if comma >= 0 { // the comma follows a comment, which is preserved
		d.splice(comma, comma+1, "")
	}
	switch {
	case d.startsLine(start) && blank(restOfLine(d.data, end)):
		start, end = textedit.LineStart(d.data, start), textedit.LineEnd(d.data, end)
	case previous >= 0 && blank(d.data[previous+1:start]):
		start, previous = previous, -1
	default:
		for end < len(d.data) && d.data[end] == ' ' && start > 0 && d.data[start-1] == ' ' {
			end++
		}
	}
	d.splice(start, end, "")
	if previous >= 0 {
		d.splice(previous, previous+1, "")
	}
	// Remove the line breaks between the braces of an object that is now empty.
	if len(object.Members) == 1 {
		if last := bytes.IndexByte(d.data[in.StartOffset:], '}'); last > 0 && blank(d.data[in.StartOffset+1:in.StartOffset+last]) {
			d.splice(in.StartOffset+1, in.StartOffset+last, "")
		}
	}
}

// render returns value as JSON; the lines after the first have the indentation indent.
func (d *document) render(value any, indent string, lines bool) string {
	switch v := value.(type) {
	case raw:
		return string(v)
	case []string:
		items := make([]string, len(v))
		for i, s := range v {
			items[i] = string(hujson.String(s))
		}
		return "[" + strings.Join(items, ", ") + "]"
	case Object:
		inner := indent + d.unit()
		members := make([]string, len(v))
		for i, m := range v {
			members[i] = string(hujson.String(m.Name)) + ": " + d.render(m.Value, inner, lines)
		}
		if !lines {
			return "{" + strings.Join(members, ", ") + "}"
		}
		nl := d.newline()
		return "{" + nl + inner + strings.Join(members, ","+nl+inner) + nl + indent + "}"
	}
	return string(hujson.String(value.(string)))
}

// unit returns the indentation of the first member of the file.
func (d *document) unit() string {
	if object := d.root.Value.(*hujson.Object); len(object.Members) > 0 && d.startsLine(object.Members[0].Name.StartOffset) {
		if indent := d.indentAt(object.Members[0].Name.StartOffset); indent != "" {
			return indent
		}
	}
	return "  "
}

func (d *document) newline() string { return textedit.Newline(d.data) }

func (d *document) multiline(start, end int) bool {
	return bytes.IndexByte(d.data[start:end], '\n') >= 0
}

// startsLine reports whether only white space precedes offset in its line.
func (d *document) startsLine(offset int) bool {
	start := textedit.LineStart(d.data, offset)
	return start > 0 && blank(d.data[start:offset])
}

// indentAt returns the white space at the beginning of the line that contains offset.
func (d *document) indentAt(offset int) string {
	line := d.data[textedit.LineStart(d.data, offset):offset]
	return string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
}

func (d *document) splice(start, end int, with string) {
	d.data = textedit.Splice(d.data, start, end, with)
}

func restOfLine(data []byte, offset int) []byte { return data[offset:textedit.LineEnd(data, offset)] }

func blank(text []byte) bool { return len(bytes.TrimSpace(text)) == 0 }
