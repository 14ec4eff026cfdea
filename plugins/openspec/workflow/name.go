package workflow

import (
	"strings"
	"unicode/utf8"
)

// maxGroups bounds groups inside each other: the time for a name grows with its length to that power.
const maxGroups = 2

// MatchName reports whether a name without slashes matches a pattern of wildcards: * ? [a-z] [!a-z] and the groups @(a|b)
// ?(a|b) *(a|b) +(a|b) !(a|b). A name that begins with a dot only matches a pattern that does.
func MatchName(pattern, name string) bool {
	if strings.HasPrefix(name, ".") && !strings.HasPrefix(pattern, ".") {
		return false
	}
	ends := matchSequence(parseName(pattern, 0), name, positions{0: true})
	return ends[len(name)]
}

// positions are indices in a name up to which a pattern matches.
type positions map[int]bool

// part is an element of a pattern.
type part struct {
	kind   byte     // 'c' a character, '[' a class, '*', or '(' a group
	text   string   // of a character or class
	repeat byte     // of a group: @ ? * + !
	groups [][]part // its alternatives
}

// parseName splits a pattern into its parts.
func parseName(pattern string, depth int) []part {
	var parts []part
	for pattern != "" {
		if group, rest, ok := cutGroup(pattern); ok && depth < maxGroups {
			one := part{kind: '(', repeat: pattern[0]}
			for _, alternative := range splitAlternatives(group) {
				one.groups = append(one.groups, parseName(alternative, depth+1))
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

// cutGroup cuts a group with its parentheses off a pattern that begins with one.
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

// splitAlternatives splits a group at the bars that are in no inner group.
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

// classEnd returns the length of the class that begins a pattern; 0 if its bracket does not close.
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

func matchSequence(parts []part, name string, from positions) positions {
	for _, one := range parts {
		if len(from) == 0 {
			return from
		}
		from = one.match(name, from)
	}
	return from
}

// match returns where the part can end if it begins at one of the positions.
func (p part) match(name string, from positions) positions {
	next := positions{}
	if p.kind == '(' {
		return p.matchGroup(name, from)
	}
	if p.kind == '*' {
		for at := firstOf(from, name); at <= len(name); at++ {
			next[at] = true
		}
		return next
	}
	for at := range from {
		r, size := utf8.DecodeRuneInString(name[at:])
		switch {
		case size == 0:
		case p.kind == 'c' && strings.HasPrefix(name[at:], p.text):
			next[at+len(p.text)] = true
		case p.kind == '?', p.kind == '[' && inClass(p.text, r):
			next[at+size] = true
		}
	}
	return next
}

func firstOf(from positions, name string) int {
	first := len(name)
	for at := range from {
		first = min(first, at)
	}
	return first
}

func (p part) matchGroup(name string, from positions) positions {
	once := func(from positions) positions {
		ends := positions{}
		for _, parts := range p.groups {
			for at := range matchSequence(parts, name, from) {
				ends[at] = true
			}
		}
		return ends
	}
	ends := positions{}
	switch p.repeat {
	case '@', '?':
		ends = once(from)
	case '*', '+':
		for last := from; len(last) > 0; {
			fresh := positions{}
			for at := range once(last) {
				if !ends[at] {
					ends[at], fresh[at] = true, true
				}
			}
			last = fresh
		}
	case '!':
		for at := range from {
			excluded := once(positions{at: true})
			for end := at; end <= len(name); end++ {
				if !excluded[end] {
					ends[end] = true
				}
			}
		}
	}
	if p.repeat == '?' || p.repeat == '*' {
		for at := range from {
			ends[at] = true
		}
	}
	return ends
}
