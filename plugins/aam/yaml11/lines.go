package yaml11

import (
	"bytes"
	"encoding/binary"
	"strings"
	"unicode"
	"unicode/utf8"
)

// lines scans a document in the simple style that the aam program and most people write. This style has block mappings
// and lists, lists and mappings of scalars on one line between brackets, plain and quoted scalars, and comments. At any
// other syntax, lines sets unsure, and the library must parse the document. Otherwise the result equals that of the
// library.
//
// The reason for this parser is that the index of a registry can have megabytes. In a WebAssembly module, the library
// takes seconds for such an index.
type lines struct {
	text    string
	begin   int    // offset at which the current line begins
	end     int    // offset at which the current line ends
	number  int    // number of the current line, from 1
	indent  int    // indentation of the current line; -1 after the last line
	content string // text of the current line after the indentation; not empty
	gap     bool   // empty lines or comments precede the current line
	unsure  bool
}

// reset moves to the first line of a document. The argument "text" must equal string(data).
func (l *lines) reset(data []byte, text string) {
	*l = lines{indent: -1, unsure: true}
	if bytes.HasSuffix(data, []byte("\n")) && plainBytes(data) {
		*l = lines{text: text, end: -1}
		l.advance()
	}
}

// done reports whether the parser has parsed all lines, and all are in the simple style.
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

// finish moves to the next line. The argument "text" is the part of the current line that begins with a value. finish
// returns text without the comment after the value.
func (l *lines) finish(text string) string {
	value := withoutComment(text)
	l.advance()
	l.gap = l.gap || len(value) < len(text)
	return value
}

// withoutComment returns text without the comment after a value. It does not change a quoted scalar that continues on
// the next line.
func withoutComment(text string) string {
	end := 0
	switch {
	case text == "" || text[0] == '#':
		return ""
	case isQuote(text[0]):
		ok := false
		if _, end, ok = quoted(text); !ok {
			return text
		}
	case (text[0] == '[' || text[0] == '{') && strings.ContainsAny(text, `'"`):
		end = strings.LastIndexAny(text, "[]{}") // if this bracket is in a comment, text does not end with a bracket, so the method flow refuses text
	}
	if comment := strings.Index(text[end:], " #"); comment >= 0 {
		if value := strings.TrimRight(text[:end+comment], " "); end <= len(value) {
			return value
		}
	}
	return text
}

// skipDash removes the dash of a list item and the space after the dash from the content of the line.
func (l *lines) skipDash() {
	l.indent, l.content = l.indent+2, l.content[2:]
}

func isItem(text string) bool { return strings.HasPrefix(text, "- ") }

// joiner is the zero-width joiner of emoji sequences, for which unicode.IsPrint returns false.
const joiner = '\u200d'

// isPlainItem reports whether exactly one space follows the dash of a list item, and the item is not a nested list.
func isPlainItem(text string) bool { return text[0] != ' ' && text != "-" && !isItem(text) }

// plainBytes reports whether data consists only of printable characters and newlines.
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

// plainWord reports whether all eight bytes of w are printable ASCII characters or newlines. In a WebAssembly module
// this is several times faster than a loop over bytes.
func plainWord(w uint64) bool {
	const (
		each = 0x0101010101010101
		top  = 0x80 * each
	)
	if w&top != 0 || (w+each)&top != 0 { // a byte is above ASCII, or is DEL
		return false
	}
	control := ^(w + (0x80-' ')*each) & top
	newline := ^((w ^ '\n'*each) + 0x7f*each) & top
	return control == newline
}

// readKey splits a line into its key and the text after the key. It returns false if the line has no key, or if the key
// is not a string.
func readKey(text string) (key, rest string, ok bool) {
	end := 0
	if isQuote(text[0]) {
		if key, end, ok = quoted(text); !ok {
			return "", "", false
		}
	} else {
		for end < len(text) && (wordByte(text[end]) || text[end] == '/') {
			end++
		}
		if end == 0 || text[0] < 'A' { // the key begins with a digit, a dot or a hyphen
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
	if rest[0] != ' ' {
		return "", "", false
	}
	return key, strings.TrimLeft(rest, " "), true
}

// readFlowKey splits an entry of a mapping between braces into its key and the text after the key.
func readFlowKey(text string) (key, rest string, ok bool) {
	if text == "" {
		return "", "", false
	}
	key, rest, ok = readKey(text)
	return key, rest, ok && rest != ""
}

func wordByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '-' || c == '.'
}

func isQuote(c byte) bool { return c == '\'' || c == '"' }

// quoted returns the value of the quoted scalar at the start of text, and the offset at which the scalar ends.
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

// closing returns the offset of the closing single quote; -1 if text has none.
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

// scalar parses a value that begins with text at the end of the previous line, and may continue on the current and the
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

// flowScalar returns the kind and the value of a scalar between brackets or braces. It returns false if the scalar is
// not in the simple style.
func flowScalar(word string) (Kind, string, bool) {
	switch {
	case word == "":
		return Absent, "", false
	case isQuote(word[0]):
		value, end, ok := quoted(word)
		return Text, value, ok && end == len(word)
	case !wordByte(word[0]) || word[0] == '-' || word[0] == '.' || word[len(word)-1] == ' ':
		return Absent, "", false
	}
	for i := range len(word) {
		if c := word[i]; !wordByte(c) && c != ' ' && c != '/' {
			return Absent, "", false
		}
	}
	kind := plainKind(word)
	return kind, word, kind != Time || realTime(word)
}

// plainStart reports whether a plain scalar may begin with the first character of text.
func plainStart(text string) bool {
	c := text[0]
	return wordByte(c) && c != '-' && c != '.' || strings.IndexByte("^~/+($=<", c) >= 0 || c >= utf8.RuneSelf
}

// plainText reports whether text, as a plain scalar, contains neither the end of a key nor the start of a comment.
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
