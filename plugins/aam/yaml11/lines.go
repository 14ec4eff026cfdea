package yaml11

import (
	"bytes"
	"encoding/binary"
	"strings"
	"unicode"
	"unicode/utf8"
)

// lines scans a document in the simple style that the aam program writes: block mappings and lists, lists of words
// between brackets on one line, plain and quoted scalars, and comments on separate lines. At any other syntax, lines
// sets unsure, and the library must parse the document. Otherwise the result equals that of the library.
//
// The reason for this parser is that an index of a registry can have megabytes, for which the library takes seconds in
// a module.
type lines struct {
	text    string
	begin   int    // offset of the current line
	end     int    // offset of the end of the current line
	number  int    // number of the current line, from 1
	indent  int    // indentation of the current line; -1 after the last line
	content string // text after the indentation; not empty
	gap     bool   // empty lines or comments precede the current line
	unsure  bool
}

// reset moves to the first line of a document. Text equals string(data).
func (l *lines) reset(data []byte, text string) {
	*l = lines{indent: -1, unsure: true}
	if bytes.HasSuffix(data, []byte("\n")) && plainBytes(data) {
		*l = lines{text: text, end: -1}
		l.advance()
	}
}

// done reports whether all lines were parsed and are in the simple style.
func (l *lines) done() bool { return l.indent < 0 && !l.unsure }

// advance moves to the next line that is neither empty nor a comment.
func (l *lines) advance() {
	for l.gap = false; ; l.gap = true {
		l.begin, l.indent, l.content = l.end+1, -1, ""
		if l.number++; l.begin == len(l.text) {
			return
		}
		l.end = l.begin + strings.IndexByte(l.text[l.begin:], '\n')
		start := l.begin
		for l.text[start] == ' ' {
			start++
		}
		if content := l.text[start:l.end]; content != "" && content[0] != '#' {
			l.indent, l.content = start-l.begin, content
			break
		}
	}
	if l.content[0] == '%' || l.content[len(l.content)-1] == ' ' ||
		l.indent == 0 && (strings.HasPrefix(l.content, "---") || strings.HasPrefix(l.content, "...")) {
		l.indent, l.content, l.unsure = -1, "", true
	}
}

// skipDash removes the dash of an item and the space after it from the content of the line.
func (l *lines) skipDash() {
	l.indent, l.content = l.indent+2, l.content[2:]
}

func isItem(text string) bool { return strings.HasPrefix(text, "- ") }

// joiner is the zero-width joiner of emoji sequences, which unicode.IsPrint excludes.
const joiner = '\u200d'

// isPlainItem reports whether exactly one space follows the dash of an item, and the item is not a nested list.
func isPlainItem(text string) bool { return text[0] != ' ' && text != "-" && !isItem(text) }

// plainBytes reports whether a document consists of printable characters and newlines.
func plainBytes(data []byte) bool {
	for at := 0; at < len(data); {
		if len(data)-at >= 8 && plainWord(binary.LittleEndian.Uint64(data[at:])) {
			at += 8
			continue
		}
		c, size := utf8.DecodeRune(data[at:])
		if c != '\n' && c != joiner && !unicode.IsPrint(c) || c == utf8.RuneError && size == 1 {
			return false
		}
		at += size
	}
	return true
}

// plainWord reports whether all eight bytes of w are printable ASCII characters or newlines. In a module this is
// several times faster than a loop over bytes.
func plainWord(w uint64) bool {
	const (
		each = 0x0101010101010101
		top  = 0x80 * each
	)
	if w&top != 0 || (w+each)&top != 0 { // above ASCII, or DEL
		return false
	}
	control := ^(w + (0x80-' ')*each) & top
	newline := ^((w ^ '\n'*each) + 0x7f*each) & top
	return control == newline
}

// readKey splits a line into its key and the rest; false if the line has no key, or if the key is not a string.
func readKey(text string) (key, rest string, ok bool) {
	end := 0
	if isQuote(text[0]) {
		if key, end, ok = quoted(text); !ok {
			return "", "", false
		}
	} else {
		for end < len(text) && wordByte(text[end]) {
			end++
		}
		if end == 0 || text[0] < 'A' { // a digit, a dot or a hyphen
			return "", "", false
		}
		if key = text[:end]; plainKind(key) != Text {
			return "", "", false
		}
	}
	if end > 128 || end == len(text) || text[end] != ':' {
		return "", "", false
	}
	if rest = text[end+1:]; rest == "" {
		return key, "", true
	}
	if len(rest) < 2 || rest[0] != ' ' || rest[1] == ' ' {
		return "", "", false
	}
	return key, rest[1:], true
}

func wordByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '-' || c == '.'
}

func isQuote(c byte) bool { return c == '\'' || c == '"' }

// quoted returns the value of the quoted scalar at the start of a text, and the offset of the scalar's end.
func quoted(text string) (value string, end int, ok bool) {
	if text[0] == '"' {
		value, _, ok = strings.Cut(text[1:], `"`)
		return value, len(value) + 2, ok && strings.IndexByte(value, '\\') < 0
	}
	end = closing(text[1:])
	if end < 0 {
		return "", 0, false
	}
	return unquoted(text[1 : end+1]), end + 2, true
}

// closing returns the offset of the closing single quote; -1 if there is none.
func closing(text string) int {
	for from := 0; ; from += 2 {
		quote := strings.IndexByte(text[from:], '\'')
		if quote < 0 {
			return -1
		}
		if from += quote; !strings.HasPrefix(text[from+1:], "'") {
			return from
		}
	}
}

func unquoted(text string) string {
	if strings.IndexByte(text, '\'') < 0 {
		return text
	}
	return strings.ReplaceAll(text, "''", "'")
}

// scalar parses a value that begins with text at the end of the line before the current line, and may continue on the
// following lines. Empty collections count as scalars.
func (l *lines) scalar(text string, indent int) (Kind, string) {
	switch {
	case text == "[]":
		return List, ""
	case text == "{}":
		return Mapping, ""
	case text[0] == '\'':
		return l.quoted(text, indent)
	case text[0] == '"':
		if value, end, ok := quoted(text); ok && end == len(text) {
			return Text, value
		}
		return l.giveUp()
	}
	if !plainStart(text) || !plainText(text) {
		return l.giveUp()
	}
	if l.indent > indent {
		whole := []byte(text)
		for ; l.indent > indent; l.advance() {
			if l.gap || !plainText(l.content) {
				return l.giveUp()
			}
			whole = append(append(whole, ' '), l.content...)
		}
		text = string(whole)
	}
	kind := plainKind(text)
	if text == "=" || text == "<<" || kind == Time && !realTime(text) {
		return l.giveUp()
	}
	return kind, text
}

func (l *lines) quoted(text string, indent int) (Kind, string) {
	text = text[1:]
	end := closing(text)
	if end < 0 {
		whole := []byte(text)
		for ; end < 0 && l.indent > indent && !l.gap; l.advance() {
			whole = append(whole, ' ')
			if end = closing(l.content); end >= 0 {
				end += len(whole)
			}
			whole = append(whole, l.content...)
		}
		text = string(whole)
	}
	if end < 0 || end != len(text)-1 {
		return l.giveUp()
	}
	return Text, unquoted(text[:end])
}

func (l *lines) giveUp() (Kind, string) {
	l.unsure = true
	return Absent, ""
}

// words parses a list of strings between brackets on one line; false for any other text.
func words(text string) ([]string, bool) {
	inner, ok := strings.CutSuffix(text[1:], "]")
	if text[0] != '[' || !ok || inner == "" {
		return nil, false
	}
	list := strings.Split(inner, ", ")
	for i, word := range list {
		switch {
		case word == "":
			return nil, false
		case isQuote(word[0]):
			value, end, ok := quoted(word)
			if !ok || end != len(word) {
				return nil, false
			}
			list[i] = value
		case !plainStart(word) || strings.IndexFunc(word, func(c rune) bool { return c >= utf8.RuneSelf || !wordByte(byte(c)) }) >= 0 || plainKind(word) != Text:
			return nil, false
		}
	}
	return list, true
}

// plainStart reports whether a plain scalar may begin with the first character of text.
func plainStart(text string) bool {
	c := text[0]
	return wordByte(c) && c != '-' && c != '.' || strings.IndexByte("^~/+($=<", c) >= 0 || c >= utf8.RuneSelf
}

// plainText reports whether a plain scalar contains neither the end of a key nor the start of a comment.
func plainText(text string) bool {
	for rest := text; ; {
		mark := strings.IndexByte(rest, '#')
		if mark < 0 {
			break
		}
		if mark > 0 && rest[mark-1] == ' ' {
			return false
		}
		rest = rest[mark+1:]
	}
	for {
		colon := strings.IndexByte(text, ':')
		if colon < 0 {
			return true
		}
		if text = text[colon+1:]; text == "" || text[0] == ' ' {
			return false
		}
	}
}
