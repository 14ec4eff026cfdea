// Package requirement parses requirements, which occur in main specs and in deltas. A requirement is a block of lines
// with a name, a statement and scenarios.
//
//	for _, block := range requirement.Blocks(text) {
//		fmt.Println(block.Name, block.Statement())
//	}
package requirement

import (
	"strings"

	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/markdown"
)

// Keyword is the word with which the header of a requirement begins, after the ###.
const Keyword = "Requirement:"

// Title returns the header of a requirement with the given name.
func Title(name string) string { return "### " + Keyword + " " + name }

// ParseHeader returns the name in a line such as "### Requirement: Name". It ignores the case of the keyword. The name
// is empty if only white space follows the keyword.
func ParseHeader(line string) (name string, ok bool) {
	rest, ok := strings.CutPrefix(line, "###")
	if !ok {
		return "", false
	}
	if rest, ok = markdown.CutPrefixFold(markdown.TrimLeft(rest), Keyword); !ok {
		return "", false
	}
	if name, ok = Text(rest); !ok {
		return "", false
	}
	return CleanName(name), true
}

// Text returns the text after the first word of a line. The argument "rest" is the part of the line after that word. The
// result ok is false if rest is empty, or if the text contains U+2028 or U+2029 other than in the white space around
// it.
func Text(rest string) (text string, ok bool) {
	text = markdown.TrimLeft(rest)
	if text == "" {
		return "", strings.ContainsFunc(rest, func(r rune) bool { return !markdown.IsSeparator(r) })
	}
	if at := strings.IndexFunc(text, markdown.IsSeparator); at >= 0 {
		return text[:at], markdown.Trim(text[at:]) == ""
	}
	return text, true
}

// CleanName returns name without surrounding white space, and without a run of # that closes the header. Such a run
// must follow a space or tab, so "C#" is a name.
func CleanName(name string) string {
	closed := strings.TrimRight(name, " \t")
	open := strings.TrimRight(closed, "#")
	if without := strings.TrimRight(open, " \t"); open != closed && without != open {
		name = without
	}
	return markdown.Trim(name)
}

// Key returns the form of a requirement's name by which requirements are compared. As in the openspec CLI, it lacks a second run of # too:
// "### Requirement: One ## ##" has the name "One ##" and the key "One".
func Key(name string) string { return CleanName(name) }

// Fold returns the key of name in lower case, with single spaces. Folded names help to find similar names; to find a requirement,
// keys are compared exactly.
func Fold(name string) string { return strings.ToLower(markdown.Collapse(Key(name))) }
