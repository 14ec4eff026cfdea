package schema

import (
	"fmt"
	"regexp"
	"regexp/syntax"
)

const (
	// maxPattern is the maximum length of a regular expression, in bytes.
	maxPattern = 1000
	// maxInstructions is the maximum compiled size of all regular expressions of a schema together. x{1000} is short but compiles to
	// 40 kB, and the time of matching is proportional to the compiled size.
	maxInstructions = 20_000
)

// pattern is a regular expression and its compiled size.
type pattern struct {
	*regexp.Regexp
	instructions int
}

// patterns compiles the regular expressions of a schema. Their compiled size is at most maxInstructions in total.
type patterns struct{ instructions int }

func (p *patterns) compile(s string) (*pattern, error) {
	if len(s) > maxPattern {
		return nil, fmt.Errorf("the pattern is longer than %d bytes", maxPattern)
	}
	tree, err := syntax.Parse(s, syntax.Perl)
	if err != nil {
		return nil, err
	}
	prog, err := syntax.Compile(tree.Simplify())
	if err != nil {
		return nil, err
	}
	if p.instructions += len(prog.Inst); p.instructions > maxInstructions {
		return nil, fmt.Errorf("the schema's patterns are too large in total")
	}
	compiled, err := regexp.Compile(s)
	return &pattern{compiled, len(prog.Inst)}, err
}

// matches reports whether p matches text, and charges the cost. That is proportional to the product of the text's length and the
// pattern's compiled size.
func (c *evaluation) matches(p *pattern, text string) bool {
	c.charge(1 + len(text)*p.instructions>>8)
	return p.MatchString(text)
}
