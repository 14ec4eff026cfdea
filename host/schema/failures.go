package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	maxFaults = 10  // faults named in one error
	maxFault  = 300 // bytes of one fault
	maxKept   = 1000
)

// place is where in a value something is: below which other place, and by what name or index.
type place struct {
	above  *place // nil: this is the value itself
	member bool   // it has a name, not an index
	name   string
	index  int
}

// appendTo appends the place as a JSON pointer.
func (p *place) appendTo(b []byte) []byte {
	if p.above == nil {
		return b
	}
	b = append(p.above.appendTo(b), '/')
	if !p.member {
		return strconv.AppendInt(b, int64(p.index), 10)
	}
	return append(b, strings.NewReplacer("~", "~0", "/", "~1").Replace(shorten(p.name, 80))...)
}

// faults collects what is wrong with a value. The methods of nil only give the verdict.
type faults struct {
	list  []string
	limit int
	more  int // beyond the limit
}

// add adds a fault, and returns false, which is the verdict.
func (f *faults) add(at *place, what string) bool {
	switch {
	case f == nil:
	case len(f.list) == f.limit:
		f.more++
	case at.above == nil:
		f.list = append(f.list, shorten(what, maxFault))
	default:
		f.list = append(f.list, shorten(string(at.appendTo(nil))+": "+what, maxFault))
	}
	return false
}

// least adds a fault where got is less than want, which may be unset.
func (f *faults) least(at *place, keyword string, got, want int) bool {
	return got >= want || f.add(at, fmt.Sprintf("%s: got %d, want %d", keyword, got, want))
}

// most adds a fault where got is more than want, which may be unset.
func (f *faults) most(at *place, keyword string, got, want int) bool {
	return want < 0 || got <= want || f.add(at, fmt.Sprintf("%s: got %d, want %d", keyword, got, want))
}

// err is one error of all faults, in an order that does not change from one check to the next:
// "/items/0/name: must be a string, not a number; missing property 'id'".
func (f *faults) err() error {
	slices.Sort(f.list)
	list := slices.Compact(f.list)
	if more := len(list) - maxFaults + f.more; len(list) > maxFaults {
		list = append(list[:maxFaults], fmt.Sprintf("and %d more", more))
	}
	return errors.New(strings.Join(list, "; "))
}

// newEnum words what the values allow.
func newEnum(values []any) *enum { return &enum{values, enumWords(values)} }

func enumWords(values []any) string {
	var words []string
	for _, v := range values {
		switch v := v.(type) {
		case []any, map[string]any:
			return "is none of the values that the schema allows"
		case string:
			words = append(words, quoted(v))
		case json.Number:
			words = append(words, string(v))
		case nil:
			words = append(words, "null")
		default:
			words = append(words, fmt.Sprint(v))
		}
	}
	switch len(words) {
	case 0:
		return "is none of the values that the schema allows"
	case 1:
		return shorten("value must be "+words[0], maxFault)
	}
	return shorten("value must be one of "+strings.Join(words, ", "), maxFault)
}

// shown is the number of a keyword.
func (r *numberRules) shown(keyword string) string {
	bound := map[string]*big.Rat{"minimum": r.minimum, "maximum": r.maximum, "exclusiveMinimum": r.above, "exclusiveMaximum": r.below, "multipleOf": r.multipleOf}[keyword]
	if bound.IsInt() {
		return shorten(bound.RatString(), 40)
	}
	float, _ := bound.Float64()
	return strconv.FormatFloat(float, 'g', -1, 64)
}

func (r *numberRules) multiple(n *big.Rat) bool {
	return new(big.Rat).Quo(n, r.multipleOf).IsInt()
}

func properties(names []string) string {
	words := make([]string, min(len(names), maxFaults))
	for i := range words {
		words[i] = quoted(names[i])
	}
	s := "property "
	if len(names) > 1 {
		s = "properties "
	}
	s += strings.Join(words, ", ")
	if more := len(names) - len(words); more > 0 {
		s += fmt.Sprintf(" and %d more", more)
	}
	return s
}

func quoted(text string) string { return "'" + shorten(text, 80) + "'" }

// shorten cuts s to at most n bytes, at the end of a character.
func shorten(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}
