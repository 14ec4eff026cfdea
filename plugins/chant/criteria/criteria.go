// Package criteria counts the boxes in the acceptance criteria of a spec's body.
//
// Unchecked decides whether a spec may be finalized; Total and Items describe its boxes; Present tells
// whether there are any. They read sections by different rules, which existing data relies on, so their
// figures can differ for one body: Unchecked looks at the last section, the others begin at the first.
package criteria

import (
	"strings"
	"unicode"
)

const (
	heading = "## Acceptance Criteria"
	section = "## "
	fence   = "```"
	open    = "- [ ]"
	done    = "- [x]"
)

// Unchecked counts every open box in the last criteria section, wherever in a line it stands; 0 without
// such a section. Code between fences does not count.
func Unchecked(body string) int {
	count, inside := 0, false
	for line := range prose(body) {
		switch {
		case strings.HasPrefix(line, heading):
			count, inside = 0, true // a later section replaces what an earlier one counted
		case strings.HasPrefix(line, section):
			inside = false
		case inside:
			count += strings.Count(line, open)
		}
	}
	return count
}

// Total counts the lines that begin with an open or a ticked box, from the first criteria heading to the
// next heading of that level that is not about criteria. A box ticked with a capital X is not counted.
func Total(body string) int {
	count := 0
	for line := range firstSection(body) {
		if strings.HasPrefix(line, open) || strings.HasPrefix(line, done) {
			count++
		}
	}
	return count
}

// Items returns the lines that Total counts as open, without their indent.
func Items(body string) []string {
	var items []string
	for line := range firstSection(body) {
		if strings.HasPrefix(line, open) {
			items = append(items, line)
		}
	}
	return items
}

// Present tells whether a criteria section holds at least one box, open or ticked. Unlike the counts it
// takes boxes and headings inside fences for real ones once the section has begun.
func Present(body string) bool {
	inside, code := false, false
	for line := range lines(body) {
		if strings.HasPrefix(line, fence) {
			code = !code
		}
		switch {
		case !code && strings.HasPrefix(line, heading):
			inside = true
		case inside && strings.HasPrefix(line, section):
			return false
		case inside && hasBox(line):
			return true
		}
	}
	return false
}

func hasBox(line string) bool {
	for _, box := range []string{"- [ ] ", "- [x] ", "- [X] "} {
		if strings.HasPrefix(line, box) {
			return true
		}
	}
	return false
}

// firstSection yields the lines of the first criteria section and of those that follow it directly.
func firstSection(body string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		inside := false
		for line := range prose(body) {
			switch {
			case strings.HasPrefix(line, heading):
				inside = true
			case inside && strings.HasPrefix(line, section):
				return
			case inside && !yield(line):
				return
			}
		}
	}
}

// prose yields the lines outside of fenced code, without their indent. Every line that begins with three
// backticks opens or closes a fence, also one with four.
func prose(body string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		code := false
		for line := range lines(body) {
			if strings.HasPrefix(line, fence) {
				code = !code
				continue
			}
			if !code && !yield(line) {
				return
			}
		}
	}
}

// lines yields each line without its indent and its line ending.
func lines(body string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for line := range strings.SplitSeq(body, "\n") {
			line = strings.TrimSuffix(line, "\r")
			if !yield(strings.TrimLeftFunc(line, unicode.IsSpace)) {
				return
			}
		}
	}
}
