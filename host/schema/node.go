package schema

import "math/big"

// A node is one schema of the tree, compiled. Keywords that few schemas have are in parts of their own.
type node struct {
	verdict  *bool // of a boolean schema; nil: it is an object
	types    typeSet
	enums    []*enum // of enum and const
	refs     []*node // of $ref and its kin
	refsOnly bool    // before draft 2019-09 a $ref hides its neighbours
	format   func(string) bool
	named    string // the format

	number *numberRules
	text   *textRules
	array  *arrayRules
	object *objectRules
	logic  *logicRules

	// What is left once all other keywords have looked at the value; nil: anything.
	unevaluatedItems, unevaluatedProperties *node
}

// enum is what the keyword enum allows, or const.
type enum struct {
	values []any
	words  string // of the fault
}

type numberRules struct {
	minimum, maximum, above, below, multipleOf *big.Rat
}

type textRules struct {
	minLength, maxLength int // -1: unset, here and below
	pattern              *pattern
}

type arrayRules struct {
	minItems, maxItems       int
	unique                   bool
	prefix                   []*node
	rest                     *node // of what is behind the prefix
	contains                 *node
	minContains, maxContains int
	containsEvaluates        bool // since draft 2020-12
}

type objectRules struct {
	minProperties, maxProperties int
	required                     []string
	properties                   map[string]*node
	patterns                     []patternRule
	additional                   *node
	names                        *node
	dependentRequired            []dependentRequired
	dependentSchemas             []dependentSchema
}

type patternRule struct {
	pattern *pattern
	node    *node
}

type dependentRequired struct {
	name     string
	required []string
}

type dependentSchema struct {
	name string
	node *node
}

type logicRules struct {
	allOf, anyOf, oneOf         []*node
	not, condition, then, other *node
}

// typeSet is a set of the types that JSON Schema has.
type typeSet uint8

// typeNames are the types, each for the bit of its index.
var typeNames = [...]string{"null", "boolean", "number", "integer", "string", "array", "object"}

const (
	typeNull typeSet = 1 << iota
	typeBoolean
	typeNumber
	typeInteger
	typeString
	typeArray
	typeObject
)

func (t typeSet) names() []string {
	var names []string
	for i, name := range typeNames {
		if t&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return names
}
