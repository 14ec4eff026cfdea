// Package frontmatter reads and writes YAML: a whole file, or the front matter between two lines of dashes at the
// top of a Markdown file. It is strict, and made for untrusted input: one document, bounded nesting, and no aliases
// unless the caller asks for them. Bound the size of a text before parsing it: a tree takes up to a hundred times the
// memory of its text.
//
// Start with two calls: [Cut] separates front matter from the text below it, and [Parse] turns YAML into a tree.
//
//	head, body, err := frontmatter.Cut(file)
//	…
//	root, err := frontmatter.Parse(head, frontmatter.Options{Line: 2})
//	…
//	if err := root.CheckKeys(); err != nil {
//		return err // not a mapping, or one with a duplicate key
//	}
//	title := root.Get("title")
//
// A scalar is the text and the style that the file has, never a number or a date: a commit 0012345 or a version 1.10
// stays as it is. What an unquoted scalar means depends on the version of YAML that a file format uses. [Node.Tag12]
// answers for YAML 1.2; a format of YAML 1.1 resolves Text by its own rules.
//
// Parse accepts and refuses what go.yaml.in/yaml/v4 does, within its stricter bounds; types of that library are not
// part of the API, and simple files are read by a parser of this package, thirty times as fast.
//
// Stability: the exported API follows the SDK's version. Names are not removed or changed within a major version, and
// a text that is accepted keeps its tree. The wording of errors, and which of several errors is reported, may change.
package frontmatter

import (
	"errors"
	"strings"
)

// The errors of Cut.
var (
	ErrAbsent       = errors.New("no front matter: the first line must be ---")
	ErrUnterminated = errors.New("unterminated front matter: a line --- must end it")
)

// Cut separates the front matter of a Markdown file, which begins on its second line, from the text after it. The first
// line is "---", and so is the line that ends the front matter; each may end in a carriage return. The error is
// ErrAbsent or ErrUnterminated.
func Cut(text string) (head, body string, err error) {
	first, rest, _ := strings.Cut(text, "\n")
	if !isDashes(first) {
		return "", text, ErrAbsent
	}
	for end := 0; end < len(rest); {
		line, _, _ := strings.Cut(rest[end:], "\n")
		next := min(end+len(line)+1, len(rest))
		if isDashes(line) {
			return rest[:end], rest[next:], nil
		}
		end = next
	}
	return "", text, ErrUnterminated
}

func isDashes(line string) bool { return strings.TrimSuffix(line, "\r") == "---" }
