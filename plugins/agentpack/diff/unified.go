package diff

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/bulkhead-mcp/bulkhead/sdk/linediff"
)

const (
	// maxDiff is the maximum size of a diff, in bytes.
	maxDiff = 100 << 10
	// maxLines is the maximum total number of lines of both texts.
	maxLines = 1_000_000
	// context is the number of unchanged lines that a diff shows before and after changed lines.
	context = 3
)

// Unified returns the unified diff that turns before into after, or "" if the two are equal. Both must be UTF-8. The
// argument name is the path of the file, with slashes.
func Unified(name string, before, after []byte) (string, error) {
	newlines := bytes.Count(before, []byte("\n")) + bytes.Count(after, []byte("\n"))
	switch {
	case !utf8.Valid(before) || !utf8.Valid(after):
		return "", errors.New("the text is not UTF-8")
	case bytes.Equal(before, after):
		return "", nil
	case newlines > maxLines:
		return "", fmt.Errorf("the contents before and after have more than %d lines in total", maxLines)
	}
	w := &writer{old: splitLines(before), new: splitLines(after)}
	fmt.Fprintf(&w.text, "--- %s\n+++ %s\n", quoteName("a/"+name), quoteName("b/"+name))
	for _, hunk := range splitHunks(linediff.Compare(w.old, w.new)) {
		w.hunk(hunk)
		if w.text.Len() > maxDiff {
			return "", fmt.Errorf("the diff is larger than %d bytes", maxDiff)
		}
	}
	return w.text.String(), nil
}

// splitLines returns the lines of text together with their newlines.
func splitLines(text []byte) []string {
	lines := make([]string, 0, bytes.Count(text, []byte("\n"))+1)
	for line := range strings.Lines(string(text)) {
		lines = append(lines, line)
	}
	return lines
}

// splitHunks splits operations into hunks at each run of unchanged lines that is longer than the context of two hunks.
// It omits the unchanged lines that the diff does not show.
func splitHunks(ops []linediff.Op) [][]linediff.Op {
	var hunks [][]linediff.Op
	var hunk []linediff.Op
	for i, this := range ops {
		if this.Kind != linediff.Keep {
			hunk = append(hunk, this)
			continue
		}
		before, after := head(this, context), tail(this, context)
		switch {
		case i == 0:
			hunk = append(hunk, after)
		case i == len(ops)-1:
			hunk = append(hunk, before)
		case this.Count <= 2*context:
			hunk = append(hunk, this)
		default:
			hunks = append(hunks, append(hunk, before))
			hunk = []linediff.Op{after}
		}
	}
	return append(hunks, hunk)
}

// head and tail return an operation that keeps lines, reduced to at most count of its first or last lines.
func head(op linediff.Op, count int) linediff.Op {
	op.Count = min(op.Count, count)
	return op
}

func tail(op linediff.Op, count int) linediff.Op {
	left := max(op.Count-count, 0)
	return linediff.Op{Kind: op.Kind, Old: op.Old + left, New: op.New + left, Count: op.Count - left}
}

// writer writes the diff of two texts.
type writer struct {
	old, new []string
	text     strings.Builder
}

// hunk writes one hunk. It stops when the diff becomes larger than maxDiff.
func (w *writer) hunk(ops []linediff.Op) {
	oldCount, newCount := 0, 0
	for _, this := range ops {
		if this.Kind != linediff.Insert {
			oldCount += this.Count
		}
		if this.Kind != linediff.Delete {
			newCount += this.Count
		}
	}
	fmt.Fprintf(&w.text, "@@ -%s +%s @@\n", rangeOf(ops[0].Old, oldCount), rangeOf(ops[0].New, newCount))
	for _, this := range ops {
		lines := w.old[this.Old:]
		if this.Kind == linediff.Insert {
			lines = w.new[this.New:]
		}
		for _, line := range lines[:this.Count] {
			w.text.WriteByte(byte(this.Kind))
			w.text.WriteString(line)
			if !strings.HasSuffix(line, "\n") {
				w.text.WriteString("\n\\ No newline at end of file\n")
			}
			if w.text.Len() > maxDiff {
				return
			}
		}
	}
}

// rangeOf formats a range of lines for the header of a hunk. The position of an empty range is that of the preceding
// line.
func rangeOf(start, count int) string {
	switch count {
	case 0:
		return strconv.Itoa(start) + ",0"
	case 1:
		return strconv.Itoa(start + 1)
	}
	return fmt.Sprintf("%d,%d", start+1, count)
}

// quoteName returns path as git writes paths in a header: quoted if the path contains characters that would end it.
func quoteName(path string) string {
	if !strings.ContainsFunc(path, func(r rune) bool { return r < ' ' || r == '"' || r == '\\' || r == 0x7f }) {
		return path
	}
	var quoted strings.Builder
	for _, c := range []byte(path) {
		switch {
		case c == '"' || c == '\\':
			quoted.WriteByte('\\')
			quoted.WriteByte(c)
		case c < ' ' || c == 0x7f:
			fmt.Fprintf(&quoted, `\%03o`, c)
		default:
			quoted.WriteByte(c)
		}
	}
	return `"` + quoted.String() + `"`
}
