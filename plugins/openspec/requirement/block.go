package requirement

import (
	"strings"

	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/markdown"
)

// Block holds the lines of a requirement, from its header up to the header of the next requirement, without white space
// at the end.
type Block struct {
	Name string         // the name in the header; may be empty
	Text *markdown.Text // the lines of the block, at least the header
}

// Raw returns the lines of the block, joined by line feeds.
func (b Block) Raw() string { return b.Text.String() }

// Body returns the lines below the header.
func (b Block) Body() *markdown.Text { return b.Text.Slice(1, len(b.Text.Lines)) }

// Statement returns the statement of the requirement, as the function Statement does.
func (b Block) Statement() string { return Statement(b.Body()) }

// LooksIndependent reports whether the line at index i of a block looks like a header of the block's level or a higher
// level, and yet does not end the block, because the line is indented or has no title.
func LooksIndependent(text *markdown.Text, i int) bool {
	level, _ := markdown.Indented(text.Lines[i])
	return !text.Fenced(i) && 1 <= level && level <= 3
}

// sectionLevel is the level of the headers that end a requirement.
const sectionLevel = 2

// Blocks splits a text at the headers of requirements. The lines before the first such header are the preamble. A line
// that begins like a header of level 2 ends a block. The lines from there to the next requirement belong to no block.
func Blocks(text *markdown.Text) (preamble *markdown.Text, blocks []Block) {
	preamble = text
	start, current := -1, "" // start is the index of the first line of the current block, and current is the name of that block
	end := func(at int) {
		if start >= 0 {
			blocks = append(blocks, Block{Name: current, Text: text.Slice(start, at).TrimEnd()})
		}
		start = -1
	}
	for i, line := range text.Lines {
		if text.Fenced(i) {
			continue
		}
		if name, ok := ParseHeader(line); ok {
			if preamble == text {
				preamble = text.Slice(0, i)
			}
			end(i)
			start, current = i, name
		} else if text.Level(i) == sectionLevel {
			end(i)
		}
	}
	end(len(text.Lines))
	return preamble, blocks
}

// Statement returns the lines of body before the first line that begins like a header. It omits blank lines, fences and
// lines of the form "**Word**: …". If body has only lines of that form, they are the statement.
func Statement(body *markdown.Text) string {
	var lines, metadata []string
	for i, line := range body.Lines {
		if body.Level(i) > 0 {
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

// isMetadata reports whether line, which has no surrounding white space, begins with a bold word and a colon.
func isMetadata(line string) bool {
	rest, ok := strings.CutPrefix(line, "**")
	if !ok {
		return false
	}
	at := strings.Index(rest, "**")
	return at > 0 && !strings.Contains(rest[:at], "*") && strings.HasPrefix(rest[at:], "**:")
}

// HasKeyword reports whether text contains the word SHALL or the word MUST, in capitals.
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

// isWordByte reports whether b is an ASCII letter, a digit or an underscore.
func isWordByte(b byte) bool {
	return 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z' || '0' <= b && b <= '9' || b == '_'
}
