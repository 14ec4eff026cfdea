// Package unified compares two texts line by line, and returns a unified diff. Diff returns the hunks, and Patch a patch with the name of
// a file.
//
//	hunks, ok := unified.Diff(before, after)
//
// The output is that of the JavaScript library jsdiff (npm package diff), byte for byte. Of several shortest sequences of edits, jsdiff chooses
// other ones than git and sdk/linediff do.
//
// Stability: exported names stay within a major version.
package unified

import (
	"fmt"
	"strings"
)

// MaxEdits is the maximum number of removed and added lines that Diff and Patch find. Time and memory grow with the square of that number:
// the memory is at most 32 MiB.
const MaxEdits = 4000

// context is the number of unchanged lines that a hunk shows before and after changed lines.
const context = 4

// Diff returns the hunks that turn before into after, without file names; "" if the texts are equal. A line break separates two lines, so a
// text that ends in one has an empty last line. The result ok is false if more than MaxEdits lines differ.
func Diff(before, after string) (hunks string, ok bool) {
	edits, ok := compare(strings.Split(before, "\n"), strings.Split(after, "\n"))
	if !ok {
		return "", false
	}
	return strings.Join(format(edits), "\n"), true
}

// Patch returns the patch that turns the content before of the file called name into the content after. The labels follow the name in the
// header. If more than MaxEdits lines differ, the patch has a single change: it removes all lines between the first and the last line that
// differ, and adds those that replace them.
func Patch(name, beforeLabel, afterLabel, before, after string) string {
	old, new := lines(before), lines(after)
	edits, ok := compare(old, new)
	if !ok {
		edits = replace(old, new)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Index: %[1]s\n%[2]s\n--- %[1]s\t%[3]s\n+++ %[1]s\t%[4]s\n", name, strings.Repeat("=", 67), beforeLabel, afterLabel)
	for _, line := range format(edits) {
		b.WriteString(line)
		switch {
		case strings.HasPrefix(line, "@@"):
			b.WriteByte('\n')
		case !strings.HasSuffix(line, "\n"):
			b.WriteString("\n\\ No newline at end of file\n")
		}
	}
	return b.String()
}

// lines splits a text into lines with their line breaks.
func lines(text string) []string {
	if text == "" {
		return nil
	}
	all := strings.SplitAfter(text, "\n")
	if all[len(all)-1] == "" {
		all = all[:len(all)-1]
	}
	return all
}

// replace returns edits that remove all lines between the common lines at the beginning and at the end, and then add the new ones.
func replace(before, after []string) []edit {
	begin, end := 0, 0
	shorter := min(len(before), len(after))
	for begin < shorter && before[begin] == after[begin] {
		begin++
	}
	for end < shorter-begin && before[len(before)-1-end] == after[len(after)-1-end] {
		end++
	}
	var edits []edit
	add := func(kind byte, lines []string) {
		for _, line := range lines {
			edits = append(edits, edit{kind, line})
		}
	}
	add(' ', before[:begin])
	add('-', before[begin:len(before)-end])
	add('+', after[begin:len(after)-end])
	add(' ', before[len(before)-end:])
	return edits
}

// format returns the lines of the hunks of a diff.
func format(edits []edit) []string {
	var out []string
	oldLine, newLine := 1, 1
	for i := 0; i < len(edits); {
		next := nextChange(edits, i)
		if next == len(edits) {
			break
		}
		start := max(i, next-context)
		oldLine, newLine = oldLine+start-i, newLine+start-i
		end := hunkEnd(edits, next)
		header := len(out)
		out = append(out, "")
		olds, news := 0, 0
		for _, one := range edits[start:end] {
			out = append(out, string(one.kind)+one.line)
			if one.kind != '+' {
				olds++
			}
			if one.kind != '-' {
				news++
			}
		}
		out[header] = fmt.Sprintf("@@ -%s +%s @@", place(oldLine, olds), place(newLine, news))
		oldLine, newLine = oldLine+olds, newLine+news
		i = end
	}
	return out
}

func nextChange(edits []edit, from int) int {
	for from < len(edits) && edits[from].kind == ' ' {
		from++
	}
	return from
}

// hunkEnd returns the end of the hunk whose first change is at the index "from". Changes with few lines between them
// share a hunk.
func hunkEnd(edits []edit, from int) int {
	for {
		last := from
		for last < len(edits) && edits[last].kind != ' ' {
			last++
		}
		next := nextChange(edits, last)
		if next == len(edits) || next-last > 2*context {
			return min(last+context, len(edits))
		}
		from = next
	}
}

// place formats the line range of a hunk. For an empty range it names the preceding line.
func place(line, count int) string {
	if count == 0 {
		line--
	}
	return fmt.Sprintf("%d,%d", line, count)
}
