// Package glob matches file names with glob patterns, in bounded time: no pattern takes exponential time, as regular expressions of patterns
// may. Expand expands braces, and ParseName parses the pattern of one name. The caller splits paths and matches ** itself, since programs
// differ in that.
//
// Stability: additions only within a major version.
package glob

import (
	"strings"
	"unicode/utf8"
)

// Options are differences between the dialects of patterns. The zero value has no escapes, and protects hidden names.
type Options struct {
	// Escape makes a backslash an escape, ${ no opening brace, and [:alpha:] in brackets a class, as in minimatch.
	Escape bool
	// Hidden lets wildcards match a dot at the beginning of a name.
	Hidden bool
}

// maxGroups is the maximum nesting depth of groups. The time for matching a name grows with the length of the name to
// the power of this depth.
const maxGroups = 2

// Name is a pattern of a name without slashes. It supports the wildcards * ? [a-z] [!a-z] and the groups @(a|b) ?(a|b)
// *(a|b) +(a|b) !(a|b). Without Options.Hidden a name that begins with a dot matches only a pattern that begins with a dot.
type Name struct {
	parts  []part
	hidden bool // hidden names can match
}

// ParseName parses a pattern. What is not closed stands for its characters.
func ParseName(pattern string, o Options) Name {
	return Name{o.parts(pattern, 0), o.Hidden || strings.HasPrefix(pattern, ".")}
}

// Literal returns the only name that the pattern matches; ok is false if it has wildcards or groups.
func (p Name) Literal() (name string, ok bool) {
	for _, one := range p.parts {
		if one.kind != 'c' {
			return "", false
		}
		name += one.text
	}
	return name, true
}

// Match reports whether a name matches the pattern. It subtracts the steps that it takes from *steps. If no steps are
// left, no name matches.
func (p Name) Match(name string, steps *int) bool {
	if len(name) > maxName || strings.HasPrefix(name, ".") && !p.hidden {
		return false
	}
	m := matcher{name, steps}
	ends := m.sequence(p.parts, positionsOf(0))
	return ends.has(len(name)) && *steps > 0
}

// part is one element of a pattern.
type part struct {
	kind   byte     // 'c' for a character, '[' for a class, '(' for a group, or the wildcard '*' or '?'
	text   string   // the character
	class  class    // the class
	repeat byte     // the character before a group: @ ? * + !
	groups [][]part // the alternatives of a group
}

// parts splits a pattern into its parts.
func (o Options) parts(pattern string, depth int) []part {
	var parts []part
	for pattern != "" {
		if group, rest, ok := o.cutGroup(pattern); ok && depth < maxGroups {
			one := part{kind: '(', repeat: pattern[0]}
			for _, alternative := range o.splitAlternatives(group) {
				one.groups = append(one.groups, o.parts(alternative, depth+1))
			}
			parts, pattern = append(parts, one), rest
			continue
		}
		size := 1
		one := part{kind: pattern[0]}
		switch pattern[0] {
		case '*', '?':
		case '[':
			if size = o.classEnd(pattern); size > 0 {
				one.class = o.class(pattern[1 : size-1])
				break
			}
			one, size = part{kind: 'c', text: "["}, 1
		case '\\':
			if o.Escape && len(pattern) > 1 {
				pattern = pattern[1:]
			}
			fallthrough
		default:
			_, size = utf8.DecodeRuneInString(pattern)
			one = part{kind: 'c', text: pattern[:size]}
		}
		parts, pattern = append(parts, one), pattern[size:]
	}
	return parts
}

// cutGroup splits a pattern that begins with a group into the content of the group and the pattern after the group. It
// returns false if the pattern does not begin with a group.
func (o Options) cutGroup(pattern string) (inside, rest string, ok bool) {
	if len(pattern) < 3 || strings.IndexByte("@?*+!", pattern[0]) < 0 || pattern[1] != '(' {
		return "", "", false
	}
	depth := 0
	for i := 1; i < len(pattern); i++ {
		switch pattern[i] {
		case '\\':
			if o.Escape {
				i++
			}
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				return pattern[2:i], pattern[i+1:], true
			}
		}
	}
	return "", "", false
}

// splitAlternatives splits the content of a group at its bars, but not at the bars in inner groups.
func (o Options) splitAlternatives(group string) []string {
	var all []string
	depth, from := 0, 0
	for i := 0; i < len(group); i++ {
		switch group[i] {
		case '\\':
			if o.Escape {
				i++
			}
		case '(':
			depth++
		case ')':
			depth--
		case '|':
			if depth == 0 {
				all, from = append(all, group[from:i]), i+1
			}
		}
	}
	return append(all, group[from:])
}

// matcher matches the parts of a pattern with one name.
type matcher struct {
	name  string
	steps *int
}

// sequence returns the positions at which consecutive parts can end if the first part begins at one of the positions in
// from.
func (m matcher) sequence(parts []part, from positions) positions {
	for i := range parts {
		*m.steps--
		if *m.steps <= 0 {
			return positions{}
		}
		if from == (positions{}) {
			break
		}
		from = m.one(&parts[i], from)
	}
	return from
}

// one returns the positions at which the part p can end if it begins at one of the positions in from.
func (m matcher) one(p *part, from positions) positions {
	switch p.kind {
	case '(':
		return m.group(p, from)
	case '*':
		for first := range from.all(len(m.name)) {
			return positionsFrom(first, len(m.name))
		}
	}
	var next positions
	for at := range from.all(len(m.name)) {
		r, size := utf8.DecodeRuneInString(m.name[at:])
		switch {
		case size == 0:
		case p.kind == 'c' && strings.HasPrefix(m.name[at:], p.text):
			next.add(at + len(p.text))
		case p.kind == '?', p.kind == '[' && p.class.has(r):
			next.add(at + size)
		}
	}
	return next
}

// anyOf returns the positions at which an alternative of the group p can end if it begins at one of the positions in
// from.
func (m matcher) anyOf(p *part, from positions) positions {
	var ends positions
	for _, parts := range p.groups {
		ends = ends.union(m.sequence(parts, from))
	}
	return ends
}

func (m matcher) group(p *part, from positions) positions {
	var ends positions
	switch p.repeat {
	case '@', '?':
		ends = m.anyOf(p, from)
	case '*', '+':
		for last := from; last != (positions{}); {
			last = m.anyOf(p, last).without(ends)
			ends = ends.union(last)
		}
	case '!':
		for at := range from.all(len(m.name)) {
			ends = ends.union(positionsFrom(at, len(m.name)).without(m.anyOf(p, positionsOf(at))))
		}
	}
	if p.repeat == '?' || p.repeat == '*' {
		ends = ends.union(from)
	}
	return ends
}
