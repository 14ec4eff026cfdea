// Package pattern matches relative paths with glob patterns as the JavaScript library minimatch does with its option dot, in bounded time.
package pattern

import (
	"regexp"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/sdk/glob"
)

// The bounds of patterns, which protect against denial of service.
const (
	maxLength = 64 << 10   // maximum length of a pattern, in bytes, as in minimatch
	maxSteps  = 20_000_000 // maximum number of matching steps of a pattern, for all paths together
)

var options = glob.Options{Escape: true, Hidden: true}

// Pattern is a parsed pattern.
type Pattern struct {
	negated      bool // the pattern begins with an odd number of exclamation marks
	comment      bool // the pattern matches nothing
	alternatives [][]segment
	steps        int // number of matching steps that are left
}

// segment is the part of a pattern between two slashes.
type segment struct {
	deep    bool // the segment is **, which matches any number of directories
	literal bool // the segment matches only the name text
	text    string
	name    glob.Name
}

var slashes = regexp.MustCompile(`/+`)

// Parse parses a pattern. Its result matches nothing if the pattern is too long, or its braces expand to too many patterns: TooCostly is then
// true.
func Parse(text string) *Pattern {
	p := &Pattern{steps: maxSteps, comment: text == "" || text[0] == '#'}
	if p.comment {
		return p
	}
	for strings.HasPrefix(text, "!") {
		p.negated, text = !p.negated, text[1:]
	}
	all, ok := glob.Expand(text, options)
	if !ok || len(text) > maxLength {
		p.steps = 0
		return p
	}
	for _, one := range all {
		p.alternatives = append(p.alternatives, segments(one))
	}
	return p
}

func segments(text string) []segment {
	var all []segment
	var previous string
	for _, one := range slashes.Split(text, -1) {
		switch {
		case one == "**" && previous == "**":
			continue
		case one == ".." && len(all) > 0 && !slices.Contains([]string{"..", ".", "**", ""}, previous):
			all = all[:len(all)-1]
			if previous = ""; len(all) > 0 {
				previous = all[len(all)-1].text
			}
			continue
		}
		s := segment{deep: one == "**", text: one}
		if !s.deep {
			s.name = glob.ParseName(one, options)
			if text, ok := s.name.Literal(); ok {
				s.text, s.literal = text, true
			}
		}
		all, previous = append(all, s), one
	}
	return all
}

// Match reports whether the pattern matches a relative path.
func (p *Pattern) Match(path string) bool {
	if p.comment {
		return false
	}
	names := strings.Split(path, "/")
	for _, segments := range p.alternatives {
		if p.match(segments, names) {
			return !p.negated
		}
	}
	return p.negated && !p.TooCostly()
}

// match computes which beginnings of the path the segments up to each one match.
func (p *Pattern) match(segments []segment, names []string) bool {
	reached := make([]bool, len(names)+1) // whether the segments so far match the first i names
	reached[0] = true
	for i := range segments {
		s := &segments[i]
		if p.steps -= len(names); p.steps <= 0 {
			return false
		}
		if s.deep {
			from := slices.Index(reached, true)
			if from < 0 {
				return false
			}
			if i == len(segments)-1 {
				return from < len(names) // ** at the end matches at least one name
			}
			for at := from; at < len(reached); at++ {
				reached[at] = true
			}
			continue
		}
		for at := len(names); at > 0; at-- {
			reached[at] = reached[at-1] && p.matchName(s, names[at-1])
		}
		reached[0] = false
	}
	return reached[len(names)]
}

func (p *Pattern) matchName(s *segment, name string) bool {
	if s.literal {
		return s.text == name
	}
	return s.name.Match(name, &p.steps)
}

// TooCostly reports whether the pattern exceeds a bound. After that, it matches no path.
func (p *Pattern) TooCostly() bool { return p.steps <= 0 }
