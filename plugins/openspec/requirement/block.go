package requirement

import (
	"strings"

	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/markdown"
)

// Block is a requirement as its lines: from its header to the next requirement's header.
type Block struct {
	Name string
	Text *markdown.Text // at least the header
}

// Line is the number of the header's line in its file, counted from 1.
func (b Block) Line() int { return b.Text.First }

// Raw returns the lines without trailing white space.
func (b Block) Raw() string { return markdown.TrimRight(b.Text.String()) }

// Body returns the lines below the header.
func (b Block) Body() *markdown.Text { return b.Text.Slice(1, len(b.Text.Lines)) }

// Statement returns the statement of the requirement: see the function Statement.
func (b Block) Statement() string { return Statement(b.Body()) }

// Blocks splits a text at its requirements' headers. The lines before the first are the preamble; a header without a name
// does not begin a block.
func Blocks(text *markdown.Text) (preamble *markdown.Text, blocks []Block) {
	preamble = text
	start, current := -1, ""
	for i, line := range text.Lines {
		if text.Fenced(i) {
			continue
		}
		name, ok := ParseHeader(line)
		if !ok || name == "" {
			continue
		}
		if start < 0 {
			preamble = text.Slice(0, i)
		} else {
			blocks = append(blocks, Block{Name: current, Text: text.Slice(start, i)})
		}
		start, current = i, name
	}
	if start >= 0 {
		blocks = append(blocks, Block{Name: current, Text: text.Slice(start, len(text.Lines))})
	}
	return preamble, blocks
}

// Statement returns the lines of a body before its first header, without those that are blank, in a fence
// or of the form "**Word**: …". If nothing else is left, the statement consists of the latter.
func Statement(body *markdown.Text) string {
	var lines, metadata []string
	for i, line := range body.Lines {
		if _, _, header := body.Header(i); header {
			break
		}
		line = markdown.Trim(line)
		switch {
		case line == "" || body.Fenced(i):
		case isMetadata(line):
			metadata = append(metadata, line)
		default:
			lines = append(lines, line)
		}
	}
	if lines == nil {
		lines = metadata
	}
	return strings.Join(lines, "\n")
}

// isMetadata reports whether a trimmed line begins with a bold word and a colon.
func isMetadata(line string) bool {
	rest, ok := strings.CutPrefix(line, "**")
	if !ok {
		return false
	}
	at := strings.Index(rest, "**")
	return at > 0 && !strings.Contains(rest[:at], "*") && strings.HasPrefix(rest[at:], "**:")
}

// HasKeyword reports whether a text contains SHALL or MUST as a word, in capitals.
func HasKeyword(text string) bool { return hasWord(text, "SHALL") || hasWord(text, "MUST") }

func hasWord(text, word string) bool {
	for from := 0; ; {
		at := strings.Index(text[from:], word)
		if at < 0 {
			return false
		}
		at += from
		end := at + len(word)
		if (at == 0 || !isWordByte(text[at-1])) && (end == len(text) || !isWordByte(text[end])) {
			return true
		}
		from = end
	}
}

// isWordByte reports whether c is part of a word: an ASCII letter, digit or underscore.
func isWordByte(b byte) bool {
	return 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z' || '0' <= b && b <= '9' || b == '_'
}
