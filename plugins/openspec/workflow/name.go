package workflow

import (
	"strings"
	"unicode/utf8"
)

// maxGroups is the maximum nesting depth of groups. The time for matching a name grows with the length of the name to
// the power of this depth.
const maxGroups = 2

// namePattern matches a name without slashes. It supports the wildcards * ? [a-z] [!a-z] and the groups @(a|b) ?(a|b)
// *(a|b) +(a|b) !(a|b). A name that begins with a dot matches only a pattern that begins with a dot.
type namePattern struct {
	parts  []part
	hidden bool // the pattern begins with a dot
}

func parseName(pattern string) namePattern {
	return namePattern{parseParts(pattern, 0), strings.HasPrefix(pattern, ".")}
}

// match reports whether a name matches the pattern. It subtracts the steps that it takes from *steps. If no steps are
// left, no name matches.
func (p namePattern) match(name string, steps *int) bool {
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
	text   string   // the character, or the content of the class
	repeat byte     // the character before a group: @ ? * + !
	groups [][]part // the alternatives of a group
}

// parseParts splits a pattern into its parts.
func parseParts(pattern string, depth int) []part {
	var parts []part
	for pattern != "" {
		if group, rest, ok := cutGroup(pattern); ok && depth < maxGroups {
			one := part{kind: '(', repeat: pattern[0]}
			for _, alternative := range splitAlternatives(group) {
				one.groups = append(one.groups, parseParts(alternative, depth+1))
			}
			parts, pattern = append(parts, one), rest
			continue
		}
		size := 1
		one := part{kind: pattern[0]}
		switch pattern[0] {
		case '*', '?':
		case '[':
			if size = classEnd(pattern); size > 0 {
				one.text = pattern[1 : size-1]
				break
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
func cutGroup(pattern string) (inside, rest string, ok bool) {
	if len(pattern) < 3 || strings.IndexByte("@?*+!", pattern[0]) < 0 || pattern[1] != '(' {
		return "", "", false
	}
	depth := 0
	for i := 1; i < len(pattern); i++ {
		switch pattern[i] {
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
func splitAlternatives(group string) []string {
	var all []string
	depth, from := 0, 0
	for i := range len(group) {
		switch group[i] {
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

// classEnd returns the length of the class at the start of pattern; 0 if the bracket of the class is not closed.
func classEnd(pattern string) int {
	at := 1
	if at < len(pattern) && (pattern[at] == '!' || pattern[at] == '^') {
		at++
	}
	end := strings.IndexByte(pattern[min(at+1, len(pattern)):], ']')
	if end < 0 {
		return 0
	}
	return at + 1 + end + 1
}

func inClass(class string, r rune) bool {
	negated := class != "" && (class[0] == '!' || class[0] == '^')
	if negated {
		class = class[1:]
	}
	runes := []rune(class)
	for i := 0; i < len(runes); i++ {
		if i+2 < len(runes) && runes[i+1] == '-' {
			if runes[i] <= r && r <= runes[i+2] {
				return !negated
			}
			i += 2
		} else if runes[i] == r {
			return !negated
		}
	}
	return negated
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
		case p.kind == '?', p.kind == '[' && inClass(p.text, r):
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
