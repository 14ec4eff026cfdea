package manifest

import (
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// DenyBelow returns the patterns that hide, relative to the directory at components, what the pattern deny hides relative to the directory
// that components are relative to. whole is set if deny hides the directory itself or one around it. CheckDeny has validated the pattern,
// so no alternative contains a slash.
func DenyBelow(deny string, components []string) (below []string, whole bool) {
	pattern := strings.Split(deny, "/")
	at := make([]bool, len(pattern)+1) // the positions in pattern that the components read so far can end at
	skip := func(at []bool) {
		for i, part := range pattern {
			at[i+1] = at[i+1] || at[i] && part == "**"
		}
	}
	at[0] = true
	skip(at)
	for _, name := range components {
		next := make([]bool, len(pattern)+1)
		for i, part := range pattern {
			switch {
			case !at[i]:
			case part == "**":
				next[i] = true
			case mayMatch(part, name):
				next[i+1] = true
			}
		}
		skip(next)
		if at = next; at[len(pattern)] {
			return nil, true
		}
	}
	for i := range pattern {
		if implied := i > 0 && at[i-1] && pattern[i-1] == "**"; at[i] && !implied {
			below = append(below, strings.Join(pattern[i:], "/"))
		}
	}
	return below, false
}

// mayMatch reports whether the pattern of one component may match name on some file system. Names outside of ASCII have several forms,
// so that it assumes a match.
func mayMatch(pattern, name string) bool {
	isASCII := func(s string) bool { return !strings.ContainsFunc(s, func(r rune) bool { return r >= 0x80 }) }
	return !isASCII(pattern) || !isASCII(name) || doublestar.MatchUnvalidated(strings.ToLower(pattern), strings.ToLower(name))
}
