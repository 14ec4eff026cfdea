// Package edit replaces parts of a text by edits that name the old and the new lines.
package edit

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/bulkhead-mcp/bulkhead/plugins/filesystem/text"
	"github.com/bulkhead-mcp/bulkhead/sdk/unified"
)

// Edit replaces the first occurrence of Old by New.
type Edit struct{ Old, New string }

// missing is the error of an edit whose old text is not there, in the words of the server that this plugin replaces.
type missing string

func (m missing) Error() string { return "Could not find exact match for edit:\n" + string(m) }

// Apply makes edits in order, in a text with line breaks of Unix. If the text does not contain Old, lines are searched that are equal to those
// of Old but for white space around them; they are replaced with the indentation that they have.
func Apply(content string, edits []Edit) (string, error) {
	for _, e := range edits {
		old, new := text.Normalize(e.Old), text.Normalize(e.New)
		if strings.Contains(content, old) {
			content = strings.Replace(content, old, new, 1)
			continue
		}
		var ok bool
		if content, ok = replaceLines(content, old, new); !ok {
			return "", missing(e.Old)
		}
	}
	return content, nil
}

func replaceLines(content, old, new string) (string, bool) {
	olds, lines := strings.Split(old, "\n"), strings.Split(content, "\n")
	wanted := make([]string, len(olds))
	for i, line := range olds {
		wanted[i] = trim(line)
	}
	for i := range len(lines) - len(olds) + 1 {
		if !slices.EqualFunc(lines[i:i+len(olds)], wanted, func(line, want string) bool { return trim(line) == want }) {
			continue
		}
		return strings.Join(slices.Concat(lines[:i], reindent(olds, strings.Split(new, "\n"), indent(lines[i])), lines[i+len(olds):]), "\n"), true
	}
	return content, false
}

// reindent gives the first new line the indentation of the text. A further line gets it if both the line and its counterpart among the old
// lines are indented, with as many spaces more as the line has more than its counterpart.
func reindent(olds, news []string, base string) []string {
	var out []string
	for i, line := range news {
		bare := strings.TrimLeftFunc(line, text.IsSpace)
		own, before := indent(line), ""
		if i < len(olds) {
			before = indent(olds[i])
		}
		switch {
		case i == 0:
			line = base + bare
		case own != "" && before != "":
			line = base + strings.Repeat(" ", max(0, utf8.RuneCountInString(own)-utf8.RuneCountInString(before))) + bare
		}
		out = append(out, line)
	}
	return out
}

func trim(s string) string { return strings.TrimFunc(s, text.IsSpace) }

func indent(line string) string {
	return line[:len(line)-len(strings.TrimLeftFunc(line, text.IsSpace))]
}

// Diff returns a patch between two texts in a Markdown block.
func Diff(path, before, after string) string {
	patch := unified.Patch(path, "original", "modified", before, after)
	fence := "```"
	for strings.Contains(patch, fence) {
		fence += "`"
	}
	return fence + "diff\n" + patch + fence + "\n\n"
}
