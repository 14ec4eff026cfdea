package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/base/visible"
)

const (
	maxFailures = 10  // most failures that an error lists
	maxFailure  = 300 // most bytes of one failure
	maxKept     = 1000
)

// location is the location of a value in an instance or schema. It names a property or an item of the parent location.
type location struct {
	parent *location // location of the enclosing value; nil if this location is the root
	member bool      // whether the value is identified by name; otherwise index identifies it
	name   string
	index  int
	of     *objectRules // rules of the object that contains the value; may be nil
}

// isOptional reports whether the value at the location may be left out.
func (p *location) isOptional() bool { return p.of != nil && !slices.Contains(p.of.required, p.name) }

// appendTo appends the location as a JSON pointer to b.
func (p *location) appendTo(b []byte) []byte {
	if p.parent == nil {
		return b
	}
	b = append(p.parent.appendTo(b), '/')
	if !p.member {
		return strconv.AppendInt(b, int64(p.index), 10)
	}
	return append(b, strings.NewReplacer("~", "~0", "/", "~1").Replace(visible.Truncate(p.name, 80))...)
}

// failures collects validation failures. A nil *failures discards them.
type failures struct {
	list  []string
	limit int
	more  int // number of failures that list has no room for
}

// isFull reports whether further failures are only counted, not listed.
func (f *failures) isFull() bool { return f == nil || len(f.list) == f.limit }

// add adds a failure at the location at, and returns false: the instance is not valid.
func (f *failures) add(at *location, what string) bool {
	switch {
	case f == nil:
	case f.isFull():
		f.more++
	case at.parent == nil:
		f.list = append(f.list, visible.Truncate(what, maxFailure))
	default:
		f.list = append(f.list, visible.Truncate(string(at.appendTo(nil))+": "+what, maxFailure))
	}
	return false
}

// least adds a failure if got is less than want. A negative want means that the keyword is unset.
func (f *failures) least(at *location, keyword string, got, want int) bool {
	return got >= want || f.add(at, fmt.Sprintf("%s: got %d, want %d", keyword, got, want))
}

// most adds a failure if got is more than want. A negative want means that the keyword is unset.
func (f *failures) most(at *location, keyword string, got, want int) bool {
	return want < 0 || got <= want || f.add(at, fmt.Sprintf("%s: got %d, want %d", keyword, got, want))
}

// err returns an error that lists all failures in a deterministic order:
// "/items/0/name: must be a string, not a number; missing property 'id'".
func (f *failures) err() error {
	slices.Sort(f.list)
	list := slices.Compact(f.list)
	if more := len(list) - maxFailures + f.more; len(list) > maxFailures {
		list = append(list[:maxFailures], fmt.Sprintf("and %d more", more))
	}
	return errors.New(strings.Join(list, "; "))
}

func newEnum(values []any) *enum { return &enum{values, enumMessage(values)} }

func enumMessage(values []any) string {
	var words []string
	for _, v := range values {
		switch v := v.(type) {
		case []any, map[string]any:
			return "is not one of the values that the schema allows"
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
		return "is not one of the values that the schema allows"
	case 1:
		return visible.Truncate("value must be "+words[0], maxFailure)
	}
	return visible.Truncate("value must be one of "+strings.Join(words, ", "), maxFailure)
}

// limit formats the value of the named keyword.
func (r *numberRules) limit(keyword string) string {
	bound := map[string]*big.Rat{"minimum": r.minimum, "maximum": r.maximum, "exclusiveMinimum": r.exclusiveMinimum, "exclusiveMaximum": r.exclusiveMaximum, "multipleOf": r.multipleOf}[keyword]
	if bound.IsInt() {
		return visible.Truncate(bound.RatString(), 40)
	}
	float, _ := bound.Float64()
	return strconv.FormatFloat(float, 'g', -1, 64)
}

func (r *numberRules) multiple(n *big.Rat) bool {
	return new(big.Rat).Quo(n, r.multipleOf).IsInt()
}

func properties(names []string) string {
	words := make([]string, min(len(names), maxFailures))
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

func quoted(text string) string { return "'" + visible.Truncate(text, 80) + "'" }
