package markdown

import "strings"

// minFence is the minimum number of backticks or tildes in a fence.
const minFence = 3

// mask reports for each line whether the line is in a fence or delimits a fence. The result open reports whether a
// fence is not closed; such a fence extends to the end of the text.
func mask(lines []string) (fenced []bool, open bool) {
	fenced = make([]bool, len(lines))
	var mark byte // the character of the open fence; 0 outside of fences
	length := 0
	for i, line := range lines {
		fenced[i] = mark != 0
		if mark == 0 {
			mark, length = opens(line)
			fenced[i] = mark != 0
		} else if closes(line, mark, length) {
			mark = 0
		}
	}
	return fenced, mark != 0
}

// opens returns the character and the length of the fence that a line opens; the length is 0 if the line opens no
// fence.
func opens(line string) (mark byte, length int) {
	line = TrimLeft(line)
	if line == "" || line[0] != '`' && line[0] != '~' {
		return 0, 0
	}
	length = run(line)
	if length < minFence {
		return 0, 0
	}
	return line[0], length
}

func closes(line string, mark byte, length int) bool {
	line = Trim(line)
	return len(line) >= length && line != "" && line[0] == mark && run(line) == len(line)
}

// run returns the number of equal characters with which a line begins.
func run(line string) int {
	return len(line) - len(strings.TrimLeft(line, line[:1]))
}
