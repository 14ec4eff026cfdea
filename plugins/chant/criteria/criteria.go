// Package criteria counts the checkboxes in the acceptance criteria of a spec's body.
//
// Unchecked decides whether a spec may be finalized. Total and Items describe the checkboxes, and Present reports
// whether there are any. As in the chant CLI, these functions select sections by different rules, so their results for
// one body can disagree: Unchecked counts in the last criteria section, the other functions begin at the first criteria
// section.
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

// Unchecked returns the number of open checkboxes in the last criteria section, at any position in a line. Without a
// criteria section it returns 0. It ignores fenced code.
func Unchecked(body string) int {
	count, inside := 0, false
	for line := range prose(body) {
		switch {
		case strings.HasPrefix(line, heading):
			count, inside = 0, true // start again at each criteria section, so that only the last section counts
		case strings.HasPrefix(line, section):
			inside = false
		case inside:
			count += strings.Count(line, open)
		}
	}
	return count
}

// Total returns the number of lines that begin with an open or a ticked checkbox, from the first criteria heading to
// the next heading of the same level that is not a criteria heading. A checkbox that is ticked with a capital X does
// not count.
func Total(body string) int {
	count := 0
	for line := range firstSection(body) {
		if strings.HasPrefix(line, open) || strings.HasPrefix(line, done) {
			count++
		}
	}
	return count
}

// Items returns those lines counted by Total whose checkbox is open, without their indentation.
func Items(body string) []string {
	var items []string
	for line := range firstSection(body) {
		if strings.HasPrefix(line, open) {
			items = append(items, line)
		}
	}
	return items
}

// Present reports whether the first criteria section has a checkbox, open or ticked. Unlike Unchecked and Total,
// Present also counts checkboxes and headings in fenced code after the beginning of the section.
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

// firstSection yields the lines of the first criteria section, and those of further criteria sections that follow
// without another section in between.
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

// prose yields the lines outside fenced code, without their indentation. Every line that begins with three or more
// backticks opens or closes fenced code.
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

// lines yields each line of body without its indentation and without its line ending.
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
