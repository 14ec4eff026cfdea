// Package frontmatter reads and writes YAML: either a whole file, or the front matter between two lines of dashes at the top of a Markdown
// file. The package is strict, since it is made for untrusted input: it allows one document, bounded nesting, and no aliases unless the
// caller asks for them. Bound the size of a text before parsing it: a tree takes up to a hundred times the memory of its text.
//
// Start with two functions: [Cut] separates front matter from the text below it, and [Parse] turns YAML into a tree.
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
// A scalar has the text and the style that the file has, and is never a number or a date: a commit 0012345 or a version 1.10 keeps its
// digits. What an unquoted scalar means depends on the version of YAML that a file format uses. [Node.Tag12] answers that for YAML 1.2; a
// format that uses YAML 1.1 has to interpret Text by its own rules.
//
// Parse accepts and refuses what go.yaml.in/yaml/v4 does, except for the stricter bounds of this package. The types of that library are not
// part of the API. A parser of this package reads simple files, more than ten times as fast as the library does.
//
// Stability: the exported API follows the version of the SDK. Within a major version, no name is removed or changed, and a text that is
// accepted keeps its tree. The wording of errors may change, and so may the choice of the error that is reported.
package frontmatter

import (
	"errors"
	"strings"
)

// Errors of Cut.
var (
	ErrAbsent       = errors.New("no front matter: the first line must be ---")
	ErrUnterminated = errors.New("unterminated front matter: a line --- must end it")
)

// Cut separates the front matter of a Markdown file from the text after it. The first line is "---", the front matter begins on the second
// line, and a further line "---" ends it. Each of these lines may end in a carriage return. The error is ErrAbsent or ErrUnterminated.
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
