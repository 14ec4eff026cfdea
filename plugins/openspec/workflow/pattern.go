package workflow

import (
	"path"
	"regexp"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/sdk/glob"
)

// The bounds of patterns, which protect against denial of service.
const (
	maxPattern = 4096      // maximum length of a pattern, in bytes
	maxSteps   = 5_000_000 // maximum number of matching steps for all names together
)

var extendedGroup = regexp.MustCompile(`[!*+?@]\([^(]*\)`)

// IsPattern reports whether the path of an artifact is a pattern instead of the path of one file.
func IsPattern(generates string) bool {
	text := strings.ReplaceAll(generates, `\`, "/")
	if len(text) > maxPattern { // the text is too long for a path
		return true
	}
	return strings.ContainsAny(text, "*?[") || extendedGroup.MatchString(text) || hasBraces(text)
}

// hasBraces reports whether text contains braces with several alternatives.
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

// File returns the cleaned path of an artifact whose path is not a pattern. The path is relative to the directory of
// the change.
func File(generates string) string { return path.Clean("/" + generates)[1:] }

// Pattern matches paths with slashes, one directory at a time.
type Pattern struct {
	alternatives [][]segment
	steps        *int // number of matching steps that are left
}

// segment is the part of a pattern between two slashes.
type segment struct {
	deep bool // the segment is **, which matches any number of directories
	name glob.Name
}

// ParsePattern parses a pattern. A pattern that exceeds a bound, or that begins with ! (an exclusion), matches no path.
func ParsePattern(generates string) *Pattern {
	text := strings.ReplaceAll(generates, `\`, "/")
	p := &Pattern{steps: new(int)}
	*p.steps = maxSteps
	if len(text) > maxPattern || strings.HasPrefix(text, "!") && !strings.HasPrefix(text, "!(") {
		return p
	}
	all, ok := glob.Expand(text, glob.Options{})
	if !ok {
		return p
	}
	for _, one := range all {
		if !strings.HasSuffix(one, "/") { // a pattern with a final slash would match only directories
			p.alternatives = append(p.alternatives, parseSegments(one))
		}
	}
	return p
}

func parseSegments(text string) []segment {
	var segments []segment
	for one := range strings.SplitSeq(text, "/") {
		switch {
		case one == "" || one == ".":
		case one != "**":
			segments = append(segments, segment{name: glob.ParseName(one, glob.Options{})})
		case len(segments) == 0 || !segments[len(segments)-1].deep:
			segments = append(segments, segment{deep: true, name: glob.ParseName("*", glob.Options{})})
		}
	}
	return segments
}

// Walk is the state of matching a Pattern in one directory. It holds the segments that the entries of the directory
// have to match.
type Walk struct {
	pattern *Pattern
	places  []place
}

// place is the segment of an alternative that has to match next.
type place struct{ alternative, segment int }

// Start returns the Walk in the directory to which the paths of the pattern are relative.
func (p *Pattern) Start() Walk {
	walk := Walk{pattern: p}
	for i := range p.alternatives {
		walk.places = append(walk.places, place{i, 0})
	}
	return walk
}

// TooCostly reports whether matching has taken more than maxSteps steps. After that, no name matches.
func (p *Pattern) TooCostly() bool { return *p.steps <= 0 }

// Enter returns the Walk in the subdirectory called name. That Walk is empty if no file below the subdirectory can
// match.
func (w Walk) Enter(name string) Walk {
	below := Walk{pattern: w.pattern}
	known := map[place]bool{}
	add := func(at place) {
		if !known[at] { // without this test, the number of places could double in each directory
			known[at] = true
			below.places = append(below.places, at)
		}
	}
	for _, at := range w.places {
		for segments := w.pattern.alternatives[at.alternative]; at.segment < len(segments); at.segment++ {
			*w.pattern.steps--
			one := segments[at.segment]
			if !one.deep {
				if at.segment+1 < len(segments) && one.name.Match(name, w.pattern.steps) {
					add(place{at.alternative, at.segment + 1})
				}
				break
			}
			if !strings.HasPrefix(name, ".") {
				add(at)
			} // ** also matches no directory at all, so the next segment can match here, too
		}
	}
	return below
}

// Empty reports whether no file in or below the directory can match.
func (w Walk) Empty() bool { return len(w.places) == 0 }

// Match reports whether the file called name in the directory matches.
func (w Walk) Match(name string) bool {
	for _, at := range w.places {
		*w.pattern.steps--
		rest := w.pattern.alternatives[at.alternative][at.segment:]
		if len(rest) == 2 && rest[0].deep {
			rest = rest[1:]
		}
		if len(rest) == 1 && rest[0].name.Match(name, w.pattern.steps) {
			return true
		}
	}
	return false
}
