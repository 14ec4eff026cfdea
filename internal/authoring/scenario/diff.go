package scenario

import (
	"fmt"
	"strings"
)

const (
	maxLines = 20  // of each side of a diff
	maxLine  = 200 // bytes of a line in a message
	around   = 2   // number of equal lines shown before and after those that differ
	maxEqual = 60  // a longer equal beginning of two lines is shortened, in bytes
)

// diff returns the lines from the first to the last one that differs, with some equal lines around them. It does not look for equal lines
// in between.
func diff(got, want string) []string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	before := 0
	for before < len(g) && before < len(w) && g[before] == w[before] {
		before++
	}
	after := 0
	for after < len(g)-before && after < len(w)-before && g[len(g)-1-after] == w[len(w)-1-after] {
		after++
	}
	if before < len(g)-after && before < len(w)-after {
		g[before], w[before] = withoutEqual(g[before], w[before])
	}
	var lines []string
	lines = append(lines, marked("  ", w[max(0, before-around):before])...)
	lines = append(lines, marked("- ", w[before:len(w)-after])...)
	lines = append(lines, marked("+ ", g[before:len(g)-after])...)
	return append(lines, marked("  ", w[len(w)-after:len(w)-max(0, after-around)])...)
}

// withoutEqual shortens the equal beginning of two lines, so that truncated lines still show the difference.
func withoutEqual(a, b string) (string, string) {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	if n <= maxEqual {
		return a, b
	}
	cut := n - maxEqual/2
	return "…" + strings.ToValidUTF8(a[cut:], ""), "…" + strings.ToValidUTF8(b[cut:], "")
}

// found shows a string that does not meet a condition.
func found(got string) []string { return marked("+ ", strings.Split(got, "\n")) }

func marked(mark string, lines []string) []string {
	var all []string
	for i, line := range lines {
		if i == maxLines {
			return append(all, fmt.Sprintf("%s… %d more lines", mark, len(lines)-i))
		}
		all = append(all, mark+bounded(line))
	}
	return all
}

func bounded(text string) string {
	if len(text) > maxLine {
		return strings.ToValidUTF8(text[:maxLine], "") + "…"
	}
	return text
}
