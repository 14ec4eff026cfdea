// Package id implements the grammar of spec ids: parts (Parse), drivers and members (Driver, IsMember), order
// (Compare), resolution of abbreviated ids (Resolve) and generation (Next, Suffix).
//
// A generated id is YYYY-MM-DD-SSS-XXX: a date, a sequence number in base 36 and a random suffix. Hand-made ids such
// as 001-risky-refactor are also valid.
package id

import (
	"errors"
	"math"
	"strconv"
	"strings"
)

// Parts are the components of an id. The longest form of an id is repository:project-base.member.
type Parts struct {
	Repository string // "" for the repository of the project
	Project    string // "" if the id has no project prefix
	Base       string
	Member     string // "3" or "3.2"; "" if the id is not a member
}

// ErrSyntax reports a string that is not an id.
var ErrSyntax = errors.New("not a spec id")

// Parse splits an id into its parts. Any string without a colon is an id, except for the empty string.
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
	for _, c := range []byte(name) {
		letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
		if !letter && !isDigit(c) && c != '-' && c != '_' {
			return false
		}
	}
	return name != ""
}

// splitProject splits off the project, which is the text before the first date.
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

// Driver returns the driver of a member's id, which is the text before the first dot; false if no digit follows that dot.
func Driver(text string) (string, bool) {
	before, after, found := strings.Cut(text, ".")
	if !found || after == "" || !isDigit(after[0]) {
		return "", false
	}
	return before, true
}

// Number returns a member's number: the digits after the first dot; 0 if the id is not a member. If the number overflows,
// it returns math.MaxInt.
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
