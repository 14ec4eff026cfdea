package agreement

import (
	"encoding/json"
	"math/big"
	"strings"
)

// types is a set of JSON types.
type types int

const (
	null types = 1 << iota
	boolean
	integer
	fraction // a number that is not an integer
	text
	list
	object
	anyType = 1<<iota - 1
)

const number = integer | fraction

func typesOf(name string) types {
	switch name {
	case "null":
		return null
	case "boolean":
		return boolean
	case "integer":
		return integer
	case "number":
		return number
	case "string":
		return text
	case "array":
		return list
	case "object":
		return object
	}
	return 0
}

func (t types) String() string {
	var names []string
	for _, one := range []struct {
		is   types
		name string
	}{{null, "null"}, {boolean, "boolean"}, {number, "number"}, {integer, "integer"}, {fraction, "number"}, {text, "string"}, {list, "array"}, {object, "object"}} {
		if t&one.is == one.is {
			names = append(names, one.name)
			t &^= one.is
		}
	}
	return strings.Join(names, " or ")
}

// typeOfValue returns the type of a decoded value.
func typeOfValue(v any) types {
	switch v := v.(type) {
	case nil:
		return null
	case bool:
		return boolean
	case string:
		return text
	case []any:
		return list
	case map[string]any:
		return object
	case json.Number:
		if r := rational(v); r != nil && !r.IsInt() {
			return fraction
		}
		return integer
	}
	return 0
}

// maxNumber bounds the length of a number and its exponent, because exact numbers take memory in proportion to the exponent.
const maxNumber = 400

// rational returns the exact value of a decoded number; nil if v is no number or a very large one.
func rational(v any) *big.Rat {
	n, ok := v.(json.Number)
	if !ok || len(n) > maxNumber {
		return nil
	}
	if _, exponent, found := strings.Cut(strings.ToLower(string(n)), "e"); found && len(strings.TrimLeft(exponent, "+-0")) > 2 {
		return nil
	}
	r, ok := new(big.Rat).SetString(string(n))
	if !ok {
		return nil
	}
	return r
}

// equal reports whether two decoded scalars are equal.
func equal(a, b any) bool {
	if x, y := rational(a), rational(b); x != nil && y != nil {
		return x.Cmp(y) == 0
	}
	switch a.(type) {
	case []any, map[string]any:
		return false
	}
	switch b.(type) {
	case []any, map[string]any:
		return false
	}
	return a == b
}
