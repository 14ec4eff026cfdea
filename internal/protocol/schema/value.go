package schema

import (
	"encoding/json"
	"hash/maphash"
	"math/big"
	"strings"
)

// typeOf returns the type of a decoded value. For every number, it returns typeNumber.
func typeOf(v any) typeSet {
	switch v.(type) {
	case nil:
		return typeNull
	case bool:
		return typeBoolean
	case json.Number:
		return typeNumber
	case string:
		return typeString
	case []any:
		return typeArray
	}
	return typeObject
}

// rational returns the exact value of a number. decode has checked that its range is permitted.
func rational(n json.Number) *big.Rat {
	r, _ := new(big.Rat).SetString(string(n))
	return r
}

func isInteger(n json.Number) bool {
	if strings.Trim(string(n), "-0123456789") == "" {
		return true
	}
	return rational(n).IsInt()
}

// equal reports whether two decoded values are equal. Numbers are compared by value.
func equal(a, b any) bool {
	switch a := a.(type) {
	case json.Number:
		b, ok := b.(json.Number)
		return ok && (a == b || rational(a).Cmp(rational(b)) == 0)
	case []any:
		b, ok := b.([]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for i := range a {
			if !equal(a[i], b[i]) {
				return false
			}
		}
		return true
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for key, value := range a {
			if other, ok := b[key]; !ok || !equal(value, other) {
				return false
			}
		}
		return true
	}
	return a == b // both are null, booleans or strings
}

// duplicate returns the indices of two equal items. found reports whether there are any.
func (c *evaluation) duplicate(items []any) (first, second int, found bool) {
	seed, seen := maphash.MakeSeed(), make(map[uint64][]int, len(items))
	for i, item := range items {
		sum := c.hash(seed, item)
		for _, j := range seen[sum] {
			if equal(items[j], item) {
				return j, i, true
			}
		}
		seen[sum] = append(seen[sum], i)
	}
	return 0, 0, false
}

// hash returns a hash of v. Equal values have the same hash.
func (c *evaluation) hash(seed maphash.Seed, v any) uint64 {
	c.charge(1)
	switch v := v.(type) {
	case json.Number:
		return maphash.String(seed, rational(v).RatString())
	case string:
		c.charge(len(v) >> 8)
		return maphash.String(seed, v)
	case []any:
		sum := uint64(len(v))
		for _, item := range v {
			sum = sum*31 + c.hash(seed, item)
		}
		return sum
	case map[string]any:
		sum := uint64(len(v))
		for key, value := range v {
			sum += maphash.String(seed, key) ^ c.hash(seed, value)*31 // addition is commutative, and map order is random
		}
		return sum
	}
	return maphash.Comparable(seed, v)
}
