package yaml11

import (
	"strings"
	"unicode/utf8"
)

// EachItem calls do with each item of a list that is the only value of a document, below key, such as the index of a
// registry. It keeps one item in memory at a time: a Value is valid only until do returns; strings stay valid.
//
// It returns false, possibly after some items, if the document has another form, an item cannot be parsed without the
// others, or do returns false. Otherwise it finds what Parse finds.
func EachItem(data []byte, key string, do func(Value) bool) bool {
	text := string(data)
	begin := len(key) + len(":\n")
	if !strings.HasPrefix(text, key+":\n") || begin == len(text) || !utf8.Valid(data) {
		return false
	}
	b := &block{}
	for begin < len(text) {
		end := begin + itemLength(text[begin:])
		if end == begin {
			return false
		}
		item, ok := b.loneItem(data[begin:end], text[begin:end])
		if !ok {
			item, ok = parseItem(key, text[begin:end])
		}
		if !ok || !do(item) {
			return false
		}
		begin = end
	}
	return true
}

// itemLength returns the length of the item at the start of a text; 0 if there is none. An item ends before the next
// line that is not indented. If that is inside of a quoted scalar, the item cannot be parsed.
func itemLength(text string) int {
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

// loneItem parses an item in the simple style.
func (b *block) loneItem(data []byte, text string) (Value, bool) {
	b.reset(data, text)
	if b.indent != 0 || !isItem(b.content) {
		return Value{}, false
	}
	n := b.item(0)
	return Value{node: n, root: n}, b.done()
}

// parseItem parses an item in any style.
func parseItem(key, text string) (Value, bool) {
	document, err := Parse([]byte(key+":\n"+text), len(key)+2+len(text))
	if err != nil {
		return Value{}, false
	}
	items := document.Root().Field(key).Items()
	if len(items) != 1 {
		return Value{}, false
	}
	return items[0], true
}
