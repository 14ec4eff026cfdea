// Package id implements the grammar of spec ids: their parts (Parse), drivers and members (Driver, IsMember), the order
// of ids (Compare), the resolution of abbreviated ids (Resolve) and the generation of ids (Next, Suffix).
//
// A generated id has the form YYYY-MM-DD-SSS-XXX: a date, a sequence number in base 36 and a random suffix. Hand-made
// ids such as 001-risky-refactor are also valid.
package id

import (
	"errors"
	"math"
	"strconv"
	"strings"
)

// Parts are the components of an id. An id with all components has the form repository:project-base.member.
type Parts struct {
	Repository string // "" for the repository of the project itself
	Project    string // "" if the id has no project prefix
	Base       string
	Member     string // the number or numbers of a member, such as "3" or "3.2"; "" if the id is not a member
}

// ErrSyntax is the error of Parse for a string that is not an id.
var ErrSyntax = errors.New("not a spec id")

// Parse splits an id into its parts. The empty string is not an id; any other string without a colon is an id.
func Parse(text string) (Parts, error) {
	var parts Parts
	rest := text
	if repository, local, found := strings.Cut(text, ":"); found {
		if !isRepository(repository) || strings.Contains(local, ":") {
			return Parts{}, ErrSyntax
		}
		parts.Repository, rest = repository, local
	}
	if rest == "" {
		return Parts{}, ErrSyntax
	}
	if driver, ok := Driver(rest); ok {
		parts.Member, rest = rest[len(driver)+1:], driver
	}
	parts.Project, parts.Base = splitProject(rest)
	return parts, nil
}

func isRepository(name string) bool {
	return name != "" && strings.Trim(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ-_"+digits) == ""
}

// splitProject splits an id into the project, which is the text before the first date, and the base.
func splitProject(text string) (project, base string) {
	for i := range len(text) {
		if text[i] == '-' && i > 0 && HasDate(text[i+1:]) {
			return text[:i], text[i+1:]
		}
	}
	return "", text
}

// HasDate reports whether an id begins with a date and a dash.
func HasDate(text string) bool {
	const shape = "0000-00-00-"
	if len(text) < len(shape) {
		return false
	}
	for i := range len(shape) {
		if shape[i] == '-' && text[i] != '-' || shape[i] == '0' && !isDigit(text[i]) {
			return false
		}
	}
	return true
}

// IsMember reports whether member is an id of the form driver.suffix.
func IsMember(member, driver string) bool {
	rest, ok := strings.CutPrefix(member, driver+".")
	return ok && rest != ""
}

// Driver returns the driver of a member's id, which is the text before the first dot. It returns false if no digit
// follows that dot.
func Driver(text string) (string, bool) {
	before, after, found := strings.Cut(text, ".")
	if !found || after == "" || !isDigit(after[0]) {
		return "", false
	}
	return before, true
}

// Number returns the number of a member, which consists of the digits after the first dot of the id. It returns 0 if
// the id is not a member, and math.MaxInt if the number overflows.
func Number(text string) int {
	driver, ok := Driver(text)
	if !ok {
		return 0
	}
	digits := text[len(driver)+1:]
	end := 0
	for end < len(digits) && isDigit(digits[end]) {
		end++
	}
	number, err := strconv.Atoi(digits[:end])
	if err != nil {
		return math.MaxInt
	}
	return number
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
