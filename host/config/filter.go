package config

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/bulkhead-mcp/bulkhead/host/tomlfile"
)

// Filter says which names are allowed. In its globs * stands for any characters, also slashes, ? for one,
// and [a-c] for one of some.
type Filter struct {
	Allow []string // nil: all; empty: none
	Deny  []string // wins
}

// Allowed tells whether a glob of Allow matches name and none of Deny does. A glob that cannot be read
// matches nothing in Allow and everything in Deny.
func (f Filter) Allowed(name string) bool {
	denies := func(glob string) bool { return !validGlob(glob) || matchGlob(glob, name) }
	allows := func(glob string) bool { return validGlob(glob) && matchGlob(glob, name) }
	return !slices.ContainsFunc(f.Deny, denies) && (f.Allow == nil || slices.ContainsFunc(f.Allow, allows))
}

// AllowedBelow tells whether Allowed may hold for some name that begins with prefix.
func (f Filter) AllowedBelow(prefix string) bool {
	denies := func(glob string) bool { return !validGlob(glob) || endsInStar(glob) && matchGlob(glob, prefix) }
	allows := func(glob string) bool { return validGlob(glob) && reaches(glob, prefix) }
	return !slices.ContainsFunc(f.Deny, denies) && (f.Allow == nil || slices.ContainsFunc(f.Allow, allows))
}

// endsInStar tells whether a valid glob takes anything behind what it matches.
func endsInStar(glob string) bool {
	last := ""
	for glob != "" {
		last, glob = globElement(glob)
	}
	return last == "*"
}

// reaches tells whether a valid glob matches some name that begins with prefix.
func reaches(glob, prefix string) bool {
	for glob != "" && prefix != "" {
		var one string
		if one, glob = globElement(glob); one == "*" {
			return true
		}
		_, size := utf8.DecodeRuneInString(prefix)
		if !matchOne(one, prefix[:size]) {
			return false
		}
		prefix = prefix[size:]
	}
	return prefix == ""
}

const globRemedy = "write a name, in which * stands for any characters and ? for one"

func readGlobs(t *tomlfile.Table, key string) []string {
	globs := t.Strings(key)
	for i, glob := range globs {
		if glob == "" || !validGlob(glob) {
			t.FaultItem(key, i, fmt.Sprintf("%s is not a pattern", tomlfile.Quote(glob)), globRemedy)
		} else if slices.Index(globs, glob) < i {
			t.FaultItem(key, i, "is there twice", "remove one")
		}
	}
	return globs
}

func readFilter(t *tomlfile.Table, what string) Filter {
	return Filter{Allow: readGlobs(t, "allow_"+what), Deny: readGlobs(t, "deny_"+what)}
}

func validGlob(glob string) bool {
	_, err := path.Match(glob, "")
	return err == nil
}

// matching is the first of globs that matches name.
func matching(globs []string, name string) (string, bool) {
	for _, glob := range globs {
		if validGlob(glob) && matchGlob(glob, name) {
			return glob, true
		}
	}
	return "", false
}

// matchGlob is path.Match for a valid glob, but that * and ? match a slash too: in a URI it ends nothing.
func matchGlob(glob, name string) bool {
	star, behind := "", "" // what follows the last *, and the part of name that it may still take
	for found := false; ; {
		switch one, rest := globElement(glob); {
		case one == "*":
			star, behind, found, glob = rest, name, true, rest
			continue
		case one == "" && name == "":
			return true
		case one != "" && name != "":
			_, size := utf8.DecodeRuneInString(name)
			if matchOne(one, name[:size]) {
				glob, name = rest, name[size:]
				continue
			}
		}
		if !found || behind == "" {
			return false
		}
		_, size := utf8.DecodeRuneInString(behind)
		behind = behind[size:]
		glob, name = star, behind
	}
}

// matchOne tells whether an element other than * matches one character.
func matchOne(element, char string) bool {
	if element == "?" || element == char {
		return true
	}
	ok, err := path.Match(element, char)
	return ok && err == nil && (element[0] == '[' || element[0] == '\\')
}

// globElement cuts the first element off a valid glob: *, ?, a class, an escape or a character.
func globElement(glob string) (one, rest string) {
	if glob == "" {
		return "", ""
	}
	_, size := utf8.DecodeRuneInString(glob)
	switch glob[0] {
	case '\\':
		_, next := utf8.DecodeRuneInString(glob[1:])
		size += next
	case '[':
		size = classLength(glob)
	}
	return glob[:size], glob[size:]
}

// classLength is the length of the class that a valid glob begins with. A ] that is its first character
// does not end it.
func classLength(glob string) int {
	i := 1 + len(glob[1:]) - len(strings.TrimPrefix(glob[1:], "^"))
	for first := true; i < len(glob); i++ {
		if glob[i] == ']' && !first {
			return i + 1
		}
		if glob[i] == '\\' {
			i++
		}
		first = false
	}
	return len(glob)
}
