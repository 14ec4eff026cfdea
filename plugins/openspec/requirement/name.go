// Package requirement is what main specs and deltas have in common: a requirement as a block of lines, its
// name, its statement and its scenarios.
//
//	for _, block := range requirement.Blocks(text) {
//		fmt.Println(block.Name, block.Statement())
//	}
package requirement

import (
	"strings"

	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/markdown"
)

// keyword is what a requirement's header begins with, behind its ###.
const keyword = "Requirement:"

// Title returns the header of a requirement of a name.
func Title(name string) string { return "### " + keyword + " " + name }

// ParseHeader returns the name in a line such as "### Requirement: Name". The word may be in any case. Ok
// says that the line is of that form; the name may still be empty.
func ParseHeader(line string) (name string, ok bool) {
	rest, ok := strings.CutPrefix(line, "###")
	if !ok {
		return "", false
	}
	rest, ok = cutFold(markdown.TrimLeft(rest), keyword)
	if !ok {
		return "", false
	}
	return CleanName(rest), true
}

// CleanName returns a name without the white space around it and without the run of # that may close a
// header. That run counts only behind a space or tab: "C#" is a name.
func CleanName(name string) string {
	name = markdown.Trim(name)
	open := strings.TrimRight(name, "#")
	if open == name {
		return name
	}
	if open == "" || strings.HasSuffix(open, " ") || strings.HasSuffix(open, "\t") {
		return markdown.TrimRight(open)
	}
	return name
}

// Fold returns a name as it is compared to find typing errors: in lower case, with single spaces. Names
// themselves are equal only to the letter.
func Fold(name string) string { return strings.ToLower(markdown.Collapse(name)) }

// cutFold is strings.CutPrefix for a prefix in ASCII, in any case.
func cutFold(s, prefix string) (string, bool) {
	if len(s) < len(prefix) || !strings.EqualFold(s[:len(prefix)], prefix) {
		return s, false
	}
	return s[len(prefix):], true
}
