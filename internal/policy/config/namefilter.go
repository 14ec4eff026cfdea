package config

import (
	"fmt"
	"path"
	"slices"
	"unicode/utf8"

	"github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"
)

// Filter is an allow list and a deny list of names. In its globs, * matches any number of characters, slashes included; ? matches
// one character; [a-c] matches one character of a class.
type Filter struct {
	Allow []string // globs of allowed names; nil: all names are allowed; empty: no name is
	Deny  []string // globs of denied names, which override Allow
	// Within is a filter that must allow the names too; nil: there is none. Two lists of globs have no intersection that is a list of globs.
	Within *Filter
}

// and returns the intersection of f and g.
func (f Filter) and(g Filter) Filter {
	switch {
	case g.AllowsAll():
		return f
	case f.Within != nil:
		within := f.Within.and(g)
		f.Within = &within
	default:
		f.Within = &g
	}
	return f
}

// AllowsAll reports whether f has no globs, and so allows every name.
func (f Filter) AllowsAll() bool { return f.Allow == nil && f.Deny == nil && f.Within == nil }

// Allowed reports whether a glob of Allow matches name and no glob of Deny does, and Within allows it. An invalid glob in Allow matches nothing; in Deny it
// matches everything.
func (f Filter) Allowed(name string) bool {
	denies := func(glob string) bool { return !validGlob(glob) || matchGlob(glob, name) }
	allows := func(glob string) bool { return validGlob(glob) && matchGlob(glob, name) }
	return !slices.ContainsFunc(f.Deny, denies) && (f.Allow == nil || slices.ContainsFunc(f.Allow, allows)) && (f.Within == nil || f.Within.Allowed(name))
}

// AllowedBelow reports whether f may allow a name that begins with prefix. The result can be a false positive, but never a false
// negative.
func (f Filter) AllowedBelow(prefix string) bool {
	denies := func(glob string) bool { return !validGlob(glob) || endsInStar(glob) && matchGlob(glob, prefix) }
	allows := func(glob string) bool { return validGlob(glob) && matchesBelow(glob, prefix) }
	return !slices.ContainsFunc(f.Deny, denies) && (f.Allow == nil || slices.ContainsFunc(f.Allow, allows)) && (f.Within == nil || f.Within.AllowedBelow(prefix))
}

// endsInStar reports whether the last element of a valid glob is *.
func endsInStar(glob string) bool {
	last := ""
	for glob != "" {
		last, glob = globElement(glob)
	}
	return last == "*"
}

// matchesBelow reports whether a valid glob matches at least one name that begins with prefix.
func matchesBelow(glob, prefix string) bool {
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

const globRemedy = "write a name, in which * matches any characters and ? matches one"

func readGlobs(t *tomlfile.Table, key string) []string {
	return t.Distinct(key, func(glob string) (what, remedy string) {
		if glob == "" || !validGlob(glob) {
			what = fmt.Sprintf("%s is not a pattern", tomlfile.Quote(glob))
		}
		return what, globRemedy
	})
}

func readFilter(t *tomlfile.Table, what string) Filter {
	return Filter{Allow: readGlobs(t, "allow_"+what), Deny: readGlobs(t, "deny_"+what)}
}

func validGlob(glob string) bool {
	_, err := path.Match(glob, "")
	return err == nil
}

// firstMatch returns the first of globs that matches name. The bool reports whether there is one.
func firstMatch(globs []string, name string) (string, bool) {
	for _, glob := range globs {
		if validGlob(glob) && matchGlob(glob, name) {
			return glob, true
		}
	}
	return "", false
}

// matchGlob is like path.Match for a valid glob, but its * and ? match slashes too, since a slash is an ordinary character of a
// URI.
func matchGlob(glob, name string) bool {
	star, behind := "", "" // star is the glob after the last *; behind is the part of name that this * may still match
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

// matchOne reports whether element, a glob element other than *, matches the character char.
func matchOne(element, char string) bool {
	if element == "?" || element == char {
		return true
	}
	ok, err := path.Match(element, char)
	return ok && err == nil && (element[0] == '[' || element[0] == '\\')
}

// globElement splits a valid glob into its first element and the rest. An element is *, ?, a class, an escape or a character.
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

// classLength returns the length of the class that a valid glob begins with. A valid class has no ] that is neither escaped nor its end.
func classLength(glob string) int {
	for i := 1; i < len(glob); i++ {
		switch glob[i] {
		case ']':
			return i + 1
		case '\\':
			i++
		}
	}
	return len(glob)
}
