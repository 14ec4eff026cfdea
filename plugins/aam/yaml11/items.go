package yaml11

import (
	"strings"
	"unicode/utf8"

	"github.com/bulkhead-mcp/bulkhead/sdk/frontmatter"
)

// EachItem calls do with each item of the list in a document whose only top-level key is key, such as the index of a
// registry. It keeps only one item in memory: the Value is valid only until do returns, but the strings in it stay
// valid.
//
// EachItem returns false if the document has another form, if an item cannot be parsed on its own, or if do returns
// false; EachItem may have called do before. If EachItem returns true, the items are those that Parse would return.
func EachItem(data []byte, key string, do func(Value) bool) bool {
	text := string(data)
	begin := len(key) + len(":\n")
	if !strings.HasPrefix(text, key+":\n") || begin == len(text) || !utf8.Valid(data) {
		return false
	}
	var parser frontmatter.Parser
	for begin < len(text) {
		end := begin + itemLength(text[begin:])
		if end == begin {
			return false
		}
		// The document is one level deeper than its list.
		list, err := load(&parser, text[begin:end], maxDepth-1)
		if err != nil || list == nil || list.Kind != frontmatter.Sequence || len(list.Children) != 1 {
			return false
		}
		if item := list.Children[0].Resolve(); !do(Value{node: item, root: item}) {
			return false
		}
		begin = end
	}
	return true
}

// itemLength returns the length of the list item at the start of text; 0 if text does not start with an item. It
// assumes that an item ends before the next line that is not indented. If that line belongs to a quoted scalar, the
// later parsing of the item fails.
func itemLength(text string) int {
	if !strings.HasPrefix(text, "- ") {
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
