package workflow

import (
	"path"
	"regexp"
	"strconv"
	"strings"
)

// Bounds of patterns, against those that are made to take long.
const (
	maxPattern      = 4096 // bytes
	maxAlternatives = 1000 // that braces expand to
	maxBraces       = 16   // braces inside each other
)

var extendedGroup = regexp.MustCompile(`[!*+?@]\([^(]*\)`)

// IsPattern reports whether the path of an artifact is a pattern, and not the name of one file.
func IsPattern(generates string) bool {
	text := strings.ReplaceAll(generates, `\`, "/")
	return strings.ContainsAny(text, "*?[") || extendedGroup.MatchString(text) || hasBraces(text)
}

// hasBraces reports whether braces enclose several alternatives.
func hasBraces(text string) bool {
	var open []int
	for i := range len(text) {
		switch text[i] {
		case '{':
			open = append(open, i)
		case '}':
			if len(open) == 0 {
				continue
			}
			inside := text[open[len(open)-1]:i]
			open = open[:len(open)-1]
			if strings.Contains(inside, ",") || strings.Contains(inside, "..") {
				return true
			}
		}
	}
	return false
}

// File returns the path below the change of an artifact that is not a pattern.
func File(generates string) string { return path.Clean("/" + generates)[1:] }

// Pattern matches paths with slashes, one directory after the other.
type Pattern struct {
	alternatives [][]string // each a list of segments
}

// ParsePattern parses a pattern. One that is too long or has too many alternatives matches nothing, and neither does one
// that only excludes.
func ParsePattern(generates string) Pattern {
	text := strings.ReplaceAll(generates, `\`, "/")
	var p Pattern
	if len(text) > maxPattern || strings.HasPrefix(text, "!") && !strings.HasPrefix(text, "!(") {
		return p
	}
	for _, one := range expand(text, 0) {
		var segments []string
		for segment := range strings.SplitSeq(one, "/") {
			if segment == "" || segment == "." || segment == "**" && len(segments) > 0 && segments[len(segments)-1] == "**" {
				continue
			}
			segments = append(segments, segment)
		}
		if strings.HasSuffix(one, "/") {
			continue // a directory
		}
		p.alternatives = append(p.alternatives, segments)
	}
	if len(p.alternatives) > maxAlternatives {
		p.alternatives = nil
	}
	return p
}

// expand returns the alternatives of the braces in a text.
func expand(text string, depth int) []string {
	open, end, parts := brace(text)
	if open < 0 || depth > maxBraces {
		return []string{text}
	}
	var all []string
	for _, part := range parts {
		for _, head := range expand(part, depth+1) {
			for _, tail := range expand(text[end+1:], depth+1) {
				if all = append(all, text[:open]+head+tail); len(all) > maxAlternatives {
					return all
				}
			}
		}
	}
	return all
}

// brace returns the first brace with alternatives, where it ends, and the alternatives; open is -1 if there is none.
func brace(text string) (open, end int, parts []string) {
	for open = 0; open < len(text); open++ {
		if text[open] != '{' {
			continue
		}
		if end, parts = alternatives(text, open); parts != nil {
			return open, end, parts
		}
	}
	return -1, 0, nil
}

func alternatives(text string, open int) (end int, parts []string) {
	depth, from := 0, open+1
	for i := open; i < len(text); i++ {
		switch {
		case text[i] == '{':
			depth++
		case text[i] == '}' && depth > 1:
			depth--
		case text[i] == '}':
			if parts != nil {
				return i, append(parts, text[from:i])
			}
			return i, numbers(text[open+1 : i])
		case text[i] == ',' && depth == 1:
			parts, from = append(parts, text[from:i]), i+1
		}
	}
	return 0, nil
}

// numbers returns the numbers or letters of a range such as 1..3; nil if the text is none.
func numbers(text string) []string {
	first, last, ok := strings.Cut(text, "..")
	if !ok {
		return nil
	}
	from, err := strconv.Atoi(first)
	to, err2 := strconv.Atoi(last)
	letters := false
	if err != nil || err2 != nil {
		if len(first) != 1 || len(last) != 1 {
			return nil
		}
		from, to, letters = int(first[0]), int(last[0]), true
	}
	step := 1
	if to < from {
		step = -1
	}
	var all []string
	for n := from; len(all) <= maxAlternatives; n += step {
		if letters {
			all = append(all, string(rune(n)))
		} else {
			all = append(all, strconv.Itoa(n))
		}
		if n == to {
			break
		}
	}
	return all
}

// Walk is a Pattern in a directory: what remains to be matched by the entries of that directory.
type Walk struct{ rest [][]string }

// Start returns the walk at the directory that the pattern is for.
func (p Pattern) Start() Walk { return Walk{p.alternatives} }

// Enter returns the walk in a directory. It is empty if no file below can match.
func (w Walk) Enter(name string) Walk {
	var below Walk
	for _, segments := range w.rest {
		for len(segments) > 0 {
			if segments[0] != "**" {
				if len(segments) > 1 && MatchName(segments[0], name) {
					below.rest = append(below.rest, segments[1:])
				}
				break
			}
			if !strings.HasPrefix(name, ".") {
				below.rest = append(below.rest, segments)
			}
			segments = segments[1:] // ** may stand for no directory
		}
	}
	return below
}

// Empty reports whether nothing can match.
func (w Walk) Empty() bool { return len(w.rest) == 0 }

// Match reports whether a file of the directory matches.
func (w Walk) Match(name string) bool {
	for _, segments := range w.rest {
		for len(segments) > 1 && segments[0] == "**" {
			segments = segments[1:]
		}
		if len(segments) != 1 {
			continue
		}
		segment := segments[0]
		if segment == "**" {
			segment = "*"
		}
		if MatchName(segment, name) {
			return true
		}
	}
	return false
}
