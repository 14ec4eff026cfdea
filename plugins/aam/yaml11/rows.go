package yaml11

// Row is a mapping in a list.
type Row struct {
	Text   string // how it is written, with its dash and the end of its last line
	Fields []Field
}

// Field is a key with its value: a scalar, or a list of texts, which may be empty.
type Field struct {
	Key   string
	Kind  Kind
	Text  string   // of a scalar, without quotes
	Items []string // of a list
}

// Rows goes through a document whose only key has a list of mappings, which is what a registry's index is, in the
// plain style of the system's own programs. It takes a fraction of Parse's time, and finds the same. It returns false,
// maybe after some rows, where there is anything else in the document, or row returns false: Parse knows more. The
// fields are only there until row returns.
func Rows(data []byte, key string, row func(Row) bool) bool {
	r := rows{lines: newLines(data)}
	if r.indent != 0 || r.content != key+":" {
		return false
	}
	if r.advance(); !isItem(r.content) {
		return false
	}
	for r.indent == 0 && isItem(r.content) {
		begin := r.begin
		r.enter()
		r.fields = r.fields[:0]
		for r.indent == 2 && !isItem(r.content) {
			if !r.field() {
				return false
			}
		}
		if len(r.fields) == 0 || !row(Row{r.text[begin:r.begin], r.fields}) {
			return false
		}
	}
	return r.done()
}

type rows struct {
	*lines
	fields []Field
	items  []string // of lists
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
	case rest != "" && rest[0] == '[' && rest != "[]":
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
		if content[0] == ' ' || isItem(content) || content == "-" {
			r.unsure = true
			return nil
		}
		if _, _, isKey := readKey(content); isKey {
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
