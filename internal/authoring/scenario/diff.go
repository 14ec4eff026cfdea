package scenario

import (
	"fmt"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/base/visible"
	"github.com/bulkhead-mcp/bulkhead/sdk/linediff"
)

const (
	maxLines = 20  // of each operation of a diff
	maxDiff  = 100 // lines of a diff; further operations are left out
	maxLine  = 200 // bytes of a line in a message
	around   = 2   // number of equal lines shown before and after those that differ
	maxEqual = 60  // a longer equal beginning of two lines is shortened, in bytes
)

// diff returns the lines that differ, with some equal lines around them.
func diff(got, want string) []string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	var lines []string
	ops := linediff.Compare(w, g)
	for i, op := range ops {
		switch op.Kind {
		case linediff.Delete:
			if i+1 < len(ops) && ops[i+1].Kind == linediff.Insert {
				g[op.New], w[op.Old] = withoutEqual(g[op.New], w[op.Old])
			}
			lines = append(lines, marked("- ", w[op.Old:op.Old+op.Count])...)
		case linediff.Insert:
			lines = append(lines, marked("+ ", g[op.New:op.New+op.Count])...)
		default:
			first, last := i == 0, i == len(ops)-1
			for n, line := range w[op.Old : op.Old+op.Count] {
				switch {
				case n < around && !first, n >= op.Count-around && !last:
					lines = append(lines, "  "+visible.Truncate(line, maxLine))
				case n == around && !first && !last:
					lines = append(lines, "  …")
				}
			}
		}
		if len(lines) > maxDiff {
			return append(lines, "  … more lines differ")
		}
	}
	return lines
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
		all = append(all, mark+visible.Truncate(line, maxLine))
	}
	return all
}
