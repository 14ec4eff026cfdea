package yaml11

import (
	"strings"
	"unicode/utf8"
)

// Row is a mapping in a list.
type Row struct {
	Text   string  // how it is written, with its dash and the end of its last line
	Fields []Field // nil where Parse has to read the row
}

// Field is a key with its value: a scalar, or a list of texts, which may be empty.
type Field struct {
	Key   string
	Kind  Kind
	Text  string   // of a scalar, without quotes
	Items []string // of a list
}

// Rows goes through a document whose only key has a list of mappings, each of which begins with a dash at the margin:
// a registry's index, as the system's own programs write it. In their plain style it takes a fraction of Parse's time,
// and finds the same.
//
// It returns false, maybe after some rows, where the document is of another form, or row returns false. What a row
// without fields means, Parse knows of its text below the key; that finds what it would find in the whole document, or an
// error. The fields are only there until row returns.
func Rows(data []byte, key string, row func(Row) bool) bool {
	text := string(data)
	begin := len(key) + len(":\n")
	if !strings.HasPrefix(text, key+":\n") || begin == len(text) || !utf8.Valid(data) {
		return false
	}
	r := rows{lines: &lines{}}
	for begin < len(text) {
		end := begin + rowEnd(text[begin:])
		if end == begin || !row(r.read(data[begin:end], text[begin:end])) {
			return false
		}
		begin = end
	}
	return true
}

// rowEnd returns where the row ends that begins a text; 0 if none does.
func rowEnd(text string) int {
	if !isItem(text) {
		return 0
	}
	for end := 0; ; {
		line := strings.IndexByte(text[end:], '\n')
		if line < 0 {
			return 0
		}
		if end += line + 1; end == len(text) || text[end] != ' ' && text[end] != '\n' {
			return end
		}
	}
}

type rows struct {
	*lines
	fields []Field
	items  []string // of lists
}

// read reads a row. A text in quotes that goes on in what looks like another row has no end in this one.
func (r *rows) read(data []byte, text string) Row {
	r.reset(data, text)
	if !isItem(r.content) {
		return Row{Text: text}
	}
	r.enter()
	r.fields = r.fields[:0]
	for r.indent == 2 && !isItem(r.content) {
		if !r.field() {
			return Row{Text: text}
		}
	}
	if !r.done() || len(r.fields) == 0 {
		return Row{Text: text}
	}
	return Row{text, r.fields}
}

// field reads a key with its value.
func (r *rows) field() bool {
	key, rest, ok := readKey(r.content)
	if !ok {
		return false
	}
	r.advance()
	f := Field{Key: key, Kind: Null, Items: []string{}}
	switch {
	case inBrackets(rest):
		if f.Items, ok = words(rest); !ok {
			return false
		}
		f.Kind = List
	case rest != "":
		f.Kind, f.Text = r.scalar(rest, 2)
	case isItem(r.content) && r.indent >= 2:
		f.Kind, f.Items = List, r.list(r.indent)
	}
	r.fields = append(r.fields, f)
	return !r.unsure
}

// list reads a list of texts.
func (r *rows) list(indent int) []string {
	begin := len(r.items)
	for r.indent == indent && isItem(r.content) {
		content := r.content[2:]
		if _, _, isKey := readKey(content); isKey || !plainItem(content) {
			r.unsure = true
			return nil
		}
		r.advance()
		kind, text := r.scalar(content, indent)
		if kind != Text {
			r.unsure = true
			return nil
		}
		r.items = append(r.items, text)
	}
	return r.items[begin:len(r.items):len(r.items)]
}
