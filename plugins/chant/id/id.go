// Package id is the grammar of spec ids: their parts (Parse), drivers and members (Driver, IsMember),
// order (Compare), partial matching (Resolve) and generation (Next, Suffix).
//
// A normal id is YYYY-MM-DD-SSS-XXX: a date, a sequence in base 36 and a random suffix. Hand-made ids
// such as 001-risky-refactor are as good; nothing here refuses one.
package id

import (
	"errors"
	"math"
	"strconv"
	"strings"
)

// Parts is what an id in its longest form, repository:project-base.member, consists of.
type Parts struct {
	Repository string // "" for this one
	Project    string // "" if the id has no project prefix
	Base       string
	Member     string // "3" or "3.2"; "" for no member
}

// ErrSyntax is returned for a text that is no id.
var ErrSyntax = errors.New("not a spec id")

// Parse splits an id. An id without repository is any text that is not empty and has no colon.
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

// splitProject cuts the project off an id that carries a date behind it.
func splitProject(text string) (project, base string) {
	for i := range len(text) {
		if text[i] == '-' && i > 0 && startsWithDate(text[i+1:]) {
			return text[:i], text[i+1:]
		}
	}
	return "", text
}

func startsWithDate(text string) bool {
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

// IsMember tells whether member belongs to driver: its id is the driver's, a dot and more.
func IsMember(member, driver string) bool {
	rest, ok := strings.CutPrefix(member, driver+".")
	return ok && rest != ""
}

// Driver returns the id that the text names a member of: what stands before the first dot, if a digit
// follows that dot.
func Driver(text string) (string, bool) {
	before, after, found := strings.Cut(text, ".")
	if !found || after == "" || !isDigit(after[0]) {
		return "", false
	}
	return before, true
}

// Number returns a member's number: the digits after the first dot; 0 for an id that is no member. One
// too large for an int becomes the largest.
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
