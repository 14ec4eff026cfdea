package schema

import (
	"fmt"
	"regexp"
	"regexp/syntax"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

const (
	// maxPattern bounds one regular expression, in bytes.
	maxPattern = 1000
	// maxInstructions bounds all regular expressions of a schema as they are compiled: x{1000} is short
	// and takes 40 kB, and matching takes time in proportion.
	maxInstructions = 20_000
)

// newPatterns compiles a schema's regular expressions, all within one budget.
func newPatterns() jsonschema.RegexpEngine {
	left := maxInstructions
	return func(s string) (jsonschema.Regexp, error) {
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
		if left -= len(prog.Inst); left < 0 {
			return nil, fmt.Errorf("the patterns together are too large")
		}
		return regexp.Compile(s)
	}
}
