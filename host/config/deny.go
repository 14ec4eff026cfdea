package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/bulkhead-mcp/bulkhead/host/tomlfile"
)

// Bounds of a pattern of files. Alternatives multiply each other in the time that a match takes.
const (
	maxDeny         = 512 // bytes
	maxAlternatives = 64
)

const denyRemedy = `write a path below the granted folder, in which ** stands for any folders and * for any characters: "**/.env"`

func readDeny(t *tomlfile.Table) []string {
	patterns := t.Strings("deny")
	for i, p := range patterns {
		if err := checkDeny(p); err != nil {
			t.FaultItem("deny", i, fmt.Sprintf("%s %v", tomlfile.Quote(p), err), denyRemedy)
		} else if slices.Index(patterns, p) < i {
			t.FaultItem("deny", i, "is there twice", "remove one")
		}
	}
	return patterns
}

// deny hides what the defaults and the plugin's table name. A pattern that would match nothing for its
// form alone is refused: whoever wrote it believes the file to be hidden.
func (c *decision) deny(d Defaults) {
	for i, p := range c.p.Deny {
		if err := checkDeny(p); err != nil {
			c.fault(fmt.Sprintf("deny[%d]", i), fmt.Sprintf("%s %v", tomlfile.Quote(p), err), denyRemedy)
		}
	}
	for _, p := range slices.Concat(d.Deny, c.p.Deny) {
		if !slices.Contains(c.grant.Deny, p) {
			c.grant.Deny = append(c.grant.Deny, p)
		}
	}
}

func checkDeny(pattern string) error {
	switch {
	case pattern == "" || len(pattern) > maxDeny || strings.ContainsRune(pattern, 0) || !doublestar.ValidatePattern(pattern):
		return errors.New("is not a pattern of files")
	case pattern[0] == '/':
		return errors.New("begins with a slash, but is relative to each granted folder")
	}
	alternatives, err := countAlternatives(pattern)
	if err != nil {
		return err
	}
	if alternatives > maxAlternatives {
		return fmt.Errorf("stands for more than %d patterns", maxAlternatives)
	}
	for name := range strings.SplitSeq(pattern, "/") {
		switch {
		case name == "":
			return errors.New("has an empty name between two slashes or at its end, and would match nothing")
		case name == "." || name == "..":
			return fmt.Errorf("has the name %q, and would match nothing", name)
		case name != "**" && strings.Contains(name, "**"):
			return errors.New("has ** beside other characters, where it reaches no deeper than *")
		}
	}
	return nil
}

// countAlternatives bounds from above how many patterns the braces of a valid pattern stand for.
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
			return 0, errors.New("has a slash between braces: write a pattern for each")
		case c == '}' && len(open) > 0:
			if total *= open[len(open)-1]; total > maxAlternatives {
				return total, nil
			}
			open = open[:len(open)-1]
		}
	}
	return total, nil
}
