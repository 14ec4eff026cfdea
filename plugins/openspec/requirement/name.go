// Package requirement parses requirements, which main specs and deltas share: blocks of lines with a name, a statement and
// scenarios.
//
//	for _, block := range requirement.Blocks(text) {
//		fmt.Println(block.Name, block.Statement())
//	}
package requirement

import (
	"strings"

	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/markdown"
)

// keyword begins a requirement's header, after the ###.
const keyword = "Requirement:"

// Title returns the header of a requirement with a name.
func Title(name string) string { return "### " + keyword + " " + name }

// ParseHeader returns the name in a line such as "### Requirement: Name". The keyword is case-insensitive. Ok
// reports the form of the line; the name may still be empty.
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

// CleanName returns a name without surrounding white space and without the run of # that may close a header. That run
// counts only after a space or tab: "C#" is a name.
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

// Fold returns a name in lower case, with single spaces, to find typing errors. Names themselves are compared exactly.
func Fold(name string) string { return strings.ToLower(markdown.Collapse(name)) }

// cutFold is strings.CutPrefix for an ASCII prefix, case-insensitively.
func cutFold(s, prefix string) (string, bool) {
	if len(s) < len(prefix) || !strings.EqualFold(s[:len(prefix)], prefix) {
		return s, false
	}
	return s[len(prefix):], true
}
