package schema

import (
	"fmt"
	"regexp"
	"regexp/syntax"
)

const (
	// maxPattern limits a regular expression, in bytes.
	maxPattern = 1000
	// maxInstructions limits the compiled size of all regular expressions of a schema: x{1000} is short but compiles to
	// 40 kB, and matching takes time in proportion.
	maxInstructions = 20_000
)

// pattern is a regular expression with its compiled size.
type pattern struct {
	*regexp.Regexp
	instructions int
}

// patterns compiles the regular expressions of a schema within maxInstructions.
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

// matches matches text and charges for it. The time is proportional to the lengths of both.
func (c *evaluation) matches(p *pattern, text string) bool {
	c.charge(1 + len(text)*p.instructions>>8)
	return p.MatchString(text)
}
