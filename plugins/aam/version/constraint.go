package version

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/plugins/aam/redact"
)

// maxParts is the maximum number of comparisons in one constraint.
const maxParts = 32

// Constraint is a set of allowed versions. The zero value allows all versions.
type Constraint struct {
	text   string
	bounds []bound
}

// bound is one comparison of a constraint.
type bound struct {
	lower, upper         *Version // nil if the bound is open on that side
	aboveOnly, belowOnly bool     // the version lower, or the version upper, is not allowed itself
}

// upPattern matches the version after ^ or ~, which begins with three numbers.
var upPattern = regexp.MustCompile(`^([0-9]+)\.([0-9]+)\.([0-9]+)`)

// ParseConstraint parses a constraint: *, ^1.2.3, ~1.2.3, a version, or comparisons (>=, >, <=, <, ==, =) that are
// separated by commas.
func ParseConstraint(text string) (Constraint, error) {
	trimmed := strings.TrimSpace(text)
	if len(text) > maxText {
		return Constraint{}, fmt.Errorf("constraint %.40q… is longer than %d bytes", redact.Text(text), maxText)
	}
	c := Constraint{text: text}
	if trimmed == "*" {
		return c, nil
	}
	if strings.HasPrefix(trimmed, "^") || strings.HasPrefix(trimmed, "~") {
		b, err := parseUp(trimmed)
		if err != nil {
			return Constraint{}, fmt.Errorf("constraint %q: %w", text, err)
		}
		c.bounds = []bound{b}
		return c, nil
	}
	for _, part := range strings.Split(trimmed, ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		b, err := parseComparison(part)
		if err != nil {
			return Constraint{}, fmt.Errorf("constraint %q: %w", text, err)
		}
		if c.bounds = append(c.bounds, b); len(c.bounds) > maxParts {
			return Constraint{}, fmt.Errorf("constraint %.40q… has more than %d parts", redact.Text(text), maxParts)
		}
	}
	if c.bounds == nil {
		return Constraint{}, fmt.Errorf("constraint %q is empty: write * for any version", text)
	}
	return c, nil
}

// parseUp parses a constraint with ^ or ~. Such a constraint allows the versions from the given version up to the next
// incompatible version.
func parseUp(text string) (bound, error) {
	sign, rest := text[0], text[1:]
	m := upPattern.FindStringSubmatch(rest)
	if m == nil {
		return bound{}, fmt.Errorf("%c must be followed by three numbers, such as %c1.2.3", sign, sign)
	}
	lower, err := Parse(rest)
	if err != nil {
		return bound{}, err
	}
	major, minor, patch := number(m[1]), number(m[2]), number(m[3])
	upper := Version{epoch: "0"}
	switch {
	case sign == '~', major == "0" && minor != "0":
		upper.release = []string{major, increment(minor), "0"}
	case major != "0":
		upper.release = []string{increment(major), "0", "0"}
	default:
		upper.release = []string{"0", "0", increment(patch)}
	}
	return bound{lower: &lower, upper: &upper, belowOnly: true}, nil
}

func parseComparison(text string) (bound, error) {
	rest := strings.TrimLeft(text, "<>=")
	operator := text[:len(text)-len(rest)]
	v, err := Parse(rest)
	if err != nil {
		return bound{}, err
	}
	switch operator {
	case "", "=", "==", "===":
		return bound{lower: &v, upper: &v}, nil
	case ">=":
		return bound{lower: &v}, nil
	case ">":
		return bound{lower: &v, aboveOnly: true}, nil
	case "<=":
		return bound{upper: &v}, nil
	case "<":
		return bound{upper: &v, belowOnly: true}, nil
	}
	return bound{}, fmt.Errorf("%q is not a comparison: use >=, >, <=, < or =", operator)
}

// increment returns a decimal number plus one.
func increment(digits string) string {
	sum := []byte(digits)
	for i := len(sum) - 1; i >= 0; i-- {
		if sum[i] != '9' {
			sum[i]++
			return string(sum)
		}
		sum[i] = '0'
	}
	return "1" + string(sum)
}

// String returns the text from which the constraint was parsed.
func (c Constraint) String() string {
	if c.text == "" {
		return "*"
	}
	return c.text
}

// Allows reports whether the version v satisfies the constraint. Pre-releases are compared like other versions: ^1.0.0
// allows 2.0.0-alpha.1, which sorts before 2.0.0.
func (c Constraint) Allows(v Version) bool {
	return !slices.ContainsFunc(c.bounds, func(b bound) bool {
		if b.lower != nil {
			if order := Compare(v, *b.lower); order < 0 || order == 0 && b.aboveOnly {
				return true
			}
		}
		if b.upper != nil {
			if order := Compare(v, *b.upper); order > 0 || order == 0 && b.belowOnly {
				return true
			}
		}
		return false
	})
}

// Best returns the highest of the available versions that c allows, in the spelling of available. Of equal versions it
// returns the first. It returns false if c allows none of them. It ignores strings that are not versions.
func Best(c Constraint, available []string) (text string, ok bool) {
	var best Version
	for _, candidate := range available {
		v, err := Parse(candidate)
		if err != nil || !c.Allows(v) || ok && Compare(v, best) <= 0 {
			continue
		}
		best, text, ok = v, candidate, true
	}
	return text, ok
}
