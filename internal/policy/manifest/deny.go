package manifest

import (
	"errors"
	"fmt"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"
)

// Bounds of a deny pattern. The cost of a match is multiplied by the number of alternatives.
const (
	maxDeny             = 512 // bytes
	maxDenyAlternatives = 64
)

// DenyRemedy tells how to write a deny pattern.
const DenyRemedy = `write a path relative to the granted directory, in which ** matches any directories and * any characters: "**/.env"`

// ReadDeny reads the array deny of t, the patterns of hidden files. It returns nil if the key is absent, and an empty slice that is not nil
// if the array is empty.
func ReadDeny(t *tomlfile.Table) []string {
	return t.Distinct("deny", func(pattern string) (what, remedy string) {
		if err := CheckDeny(pattern); err != nil {
			what = fmt.Sprintf("%s %v", tomlfile.Quote(pattern), err)
		}
		return what, DenyRemedy
	})
}

// CheckDeny returns an error if a pattern cannot match any path, or not those that its author means, who believes that the pattern hides
// files.
func CheckDeny(pattern string) error {
	switch {
	case pattern == "" || len(pattern) > maxDeny || strings.ContainsRune(pattern, 0) || !doublestar.ValidatePattern(pattern):
		return errors.New("is not a valid file pattern")
	case pattern[0] == '/':
		return errors.New("begins with a slash, but is relative to each granted directory")
	case strings.Contains(pattern, "${"):
		return errors.New("has a variable, which patterns have not, and is relative to each granted directory")
	case pattern == "~" || strings.HasPrefix(pattern, "~/"):
		return errors.New("begins with a tilde, but is relative to each granted directory")
	}
	alternatives, err := countAlternatives(pattern)
	if err != nil {
		return err
	}
	if alternatives > maxDenyAlternatives {
		return fmt.Errorf("expands to more than %d patterns", maxDenyAlternatives)
	}
	for name := range strings.SplitSeq(pattern, "/") {
		switch {
		case name == "":
			return errors.New("has an empty path element (a double or trailing slash), so it would match nothing")
		case name == "." || name == "..":
			return fmt.Errorf("has the path element %q, so it would match nothing", name)
		case name != "**" && strings.Contains(name, "**"):
			return errors.New("has ** beside other characters, where ** matches only what * matches")
		}
	}
	return nil
}

// countAlternatives returns an upper bound of the number of patterns to which the braces of a valid pattern expand.
func countAlternatives(pattern string) (int, error) {
	total, open := 1, []int{}
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; {
		case c == '\\':
			i++
		case c == '{':
			open = append(open, 1)
		case c == ',' && len(open) > 0:
			open[len(open)-1]++
		case c == '/' && len(open) > 0:
			return 0, errors.New("has a slash between braces: write a pattern for each alternative")
		case c == '}' && len(open) > 0:
			if total *= open[len(open)-1]; total > maxDenyAlternatives {
				return total, nil
			}
			open = open[:len(open)-1]
		}
	}
	return total, nil
}
