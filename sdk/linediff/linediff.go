// Package linediff compares two texts line by line. Start with Compare, which returns the operations that turn one text into the other:
//
//	for _, op := range linediff.Compare(before, after) {
//		switch op.Kind {
//		case linediff.Delete:
//			deleted := before[op.Old : op.Old+op.Count]
//		case linediff.Insert:
//			inserted := after[op.New : op.New+op.Count]
//		}
//	}
//
// Stability: exported names stay within a major version. Of several shortest results, another version may return a different one.
package linediff

// Kind is what an operation does with lines. Its value is the character that marks these lines in a unified diff.
type Kind byte

// Values of Kind.
const (
	Keep   Kind = ' '
	Delete Kind = '-'
	Insert Kind = '+'
)

// Op is an operation on consecutive lines.
type Op struct {
	Kind Kind
	// Old and New are the indexes, in the old and in the new text, of the first line that the operation keeps, deletes or inserts. In the text
	// that does not have the line, this is the index of the next line.
	Old, New int
	Count    int // the number of lines; at least 1
}

// Compare returns the operations, in order, that turn the lines before into the lines after. Their total number of deleted and inserted
// lines is minimal, as that of git diff --minimal. An insertion that could be at several places is at the last of them, and a replacement is
// a deletion followed by an insertion. The search is bounded: for texts that differ in tens of thousands of lines, the operations are valid,
// but may delete and insert more lines than necessary.
func Compare(before, after []string) []Op {
	numbers := map[string]int{}
	c := &comparison{old: numberLines(before, numbers), new: numberLines(after, numbers)}
	c.visit(0, len(before), 0, len(after))
	c.slideInsertions()
	return c.ops
}

// numberLines returns a number for each line. Equal lines have equal numbers.
func numberLines(lines []string, numbers map[string]int) []int {
	result := make([]int, len(lines))
	for i, line := range lines {
		at, known := numbers[line]
		if !known {
			at = len(numbers)
			numbers[line] = at
		}
		result[i] = at
	}
	return result
}
