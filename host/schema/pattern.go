package schema

import (
	"fmt"
	"regexp"
	"regexp/syntax"
)

const (
	// maxPattern bounds one regular expression, in bytes.
	maxPattern = 1000
	// maxInstructions bounds all regular expressions of a schema as they are compiled: x{1000} is short
	// and takes 40 kB, and matching takes time in proportion.
	maxInstructions = 20_000
)

// pattern is a regular expression and what it costs to match.
type pattern struct {
	*regexp.Regexp
	instructions int
}

// patterns compiles a schema's regular expressions, all within one budget.
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
		return nil, fmt.Errorf("the patterns together are too large")
	}
	compiled, err := regexp.Compile(s)
	return &pattern{compiled, len(prog.Inst)}, err
}

// matches charges the time, which is in proportion to both lengths.
func (c *check) matches(p *pattern, text string) bool {
	c.spend(1 + len(text)*p.instructions>>8)
	return p.MatchString(text)
}
