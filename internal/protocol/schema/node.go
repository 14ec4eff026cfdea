package schema

import "math/big"

// node is a compiled schema or subschema. Rare keywords are in separate structs to save memory.
type node struct {
	boolean    *bool // value of a boolean schema; nil if the schema is an object
	types      typeSet
	enums      []*enum // values of the keywords enum and const
	refs       []*node // targets of $ref, $dynamicRef and $recursiveRef
	refsOnly   bool    // whether all keywords but refs are ignored, as before draft 2019-09 beside a $ref
	format     func(string) bool
	formatName string // name of the format

	number      *numberRules
	str         *stringRules
	array       *arrayRules
	object      *objectRules
	applicators *applicators

	// The unevaluated keywords are applied after all other keywords. A nil node means that the keyword is unset.
	unevaluatedItems, unevaluatedProperties *node
}

// enum is the value of the keyword enum or const.
type enum struct {
	values  []any
	message string // message of the failure if no value is equal
}

type numberRules struct {
	minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf *big.Rat
}

type stringRules struct {
	minLength, maxLength int // -1 means unset, in this struct and in those below
	pattern              *pattern
}

type arrayRules struct {
	minItems, maxItems       int
	unique                   bool
	prefixItems              []*node
	items                    *node // schema for the items that follow those of prefixItems
	contains                 *node
	minContains, maxContains int
	containsEvaluates        bool // whether contains marks matching items as evaluated, as it does since draft 2020-12
}

type objectRules struct {
	minProperties, maxProperties int
	required                     []string
	properties                   map[string]*node
	patternProperties            []patternRule
	additionalProperties         *node
	propertyNames                *node
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

type applicators struct {
	allOf, anyOf, oneOf         []*node
	not, condition, then, other *node
}

// typeSet is a set of JSON Schema types. Each type is one bit.
type typeSet uint8

// typeNames are the names of the types, indexed by bit number.
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
