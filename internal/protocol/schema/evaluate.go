package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"unicode/utf8"

	"github.com/bulkhead-mcp/bulkhead/internal/base/visible"
)

const (
	// maxWork limits the work of one evaluation. References that double at each level let a schema of a few lines require exponential
	// work. Applying a schema to an instance costs workOfSchema. Visiting a property, an item or a few hundred bytes of a string costs 1.
	maxWork      = maxSteps * workOfSchema
	maxSteps     = 1 << 18
	workOfSchema = 16
	// maxNesting limits the depth of recursion, since schemas may refer to themselves.
	maxNesting = 4096
)

var errTooCostly = errors.New("takes too long to check against the schema")

// evaluation is the state of one evaluation of a schema against an instance.
type evaluation struct {
	work     int
	nesting  int
	corrects bool // whether failures show what to write in place of a value of a wrong type
}

// charge adds work to the work of the evaluation. If the sum exceeds maxWork, charge panics with errTooCostly.
func (c *evaluation) charge(work int) {
	if c.work += work; c.work > maxWork {
		panic(errTooCostly)
	}
}

// evaluated collects the properties or items of an instance that a schema has evaluated. unevaluatedProperties and unevaluatedItems
// need them. A nil *evaluated collects nothing.
type evaluated struct {
	all   bool
	names map[string]bool
	items map[int]bool
}

func (e *evaluated) name(name string) {
	if e != nil && !e.all {
		if e.names == nil {
			e.names = map[string]bool{}
		}
		e.names[name] = true
	}
}

func (e *evaluated) item(i int) {
	if e != nil && !e.all {
		if e.items == nil {
			e.items = map[int]bool{}
		}
		e.items[i] = true
	}
}

func (e *evaluated) merge(other *evaluated) {
	e.all = e.all || other.all
	for name := range other.names {
		e.name(name)
	}
	for i := range other.items {
		e.item(i)
	}
}

// apply evaluates the schema n against the instance v at the location at, and reports whether v is valid. It adds failures to f, and
// evaluated properties or items to ev. Both f and ev may be nil.
func (c *evaluation) apply(n *node, v any, at *location, ev *evaluated, f *failures) bool {
	c.charge(workOfSchema)
	if c.nesting++; c.nesting > maxNesting {
		panic(errTooCostly)
	}
	defer func() { c.nesting-- }()
	if n.boolean != nil {
		return *n.boolean || f.add(at, "is not allowed here")
	}
	if n.refsOnly {
		return c.all(n.refs, v, at, ev, f)
	}
	if !c.checkAnyType(n, v, at, f) {
		return false
	}
	if ev == nil && (n.unevaluatedItems != nil || n.unevaluatedProperties != nil) {
		ev = &evaluated{}
	}
	ok := c.all(n.refs, v, at, ev, f)
	switch v := v.(type) {
	case map[string]any:
		if n.object != nil {
			ok = c.checkObject(n.object, v, at, ev, f) && ok
		}
	case []any:
		if n.array != nil {
			ok = c.checkArray(n.array, v, at, ev, f) && ok
		}
	case string:
		if n.str != nil {
			ok = c.checkString(n.str, v, at, f) && ok
		}
	case json.Number:
		if n.number != nil {
			ok = c.checkNumber(n.number, v, at, f) && ok
		}
	}
	if n.applicators != nil {
		ok = c.checkApplicators(n.applicators, v, at, ev, f) && ok
	}
	return c.checkUnevaluated(n, v, at, ev, f) && ok
}

// checkAnyType evaluates the assertions that apply to instances of any type, and the keyword format.
func (c *evaluation) checkAnyType(n *node, v any, at *location, f *failures) bool {
	got := typeOf(v)
	if n.types != 0 && n.types&got == 0 {
		number, ok := v.(json.Number)
		if n.types&typeInteger == 0 || !ok || !isInteger(number) {
			what := "" // f does not list the failure if f is full, so the description can stay empty
			if !f.isFull() {
				what = c.wrongType(n, v, at)
			}
			return f.add(at, what)
		}
	}
	for _, e := range n.enums {
		c.charge(len(e.values))
		if !slices.ContainsFunc(e.values, func(allowed any) bool { return equal(allowed, v) }) {
			return f.add(at, e.message)
		}
	}
	if text, ok := v.(string); ok && n.format != nil {
		c.charge(len(text) >> 10)
		if !n.format(text) {
			return f.add(at, "is not a valid "+n.formatName)
		}
	}
	return true
}

// all applies several subschemas to the same instance. The instance must be valid against all of them.
func (c *evaluation) all(nodes []*node, v any, at *location, ev *evaluated, f *failures) bool {
	ok := true
	for _, n := range nodes {
		if !c.inPlace(n, v, at, ev, f) {
			if ok = false; f == nil {
				return false
			}
		}
	}
	return ok
}

// inPlace applies a subschema to the same instance. ev gets the properties or items that the subschema evaluates only if the subschema
// accepts v.
func (c *evaluation) inPlace(n *node, v any, at *location, ev *evaluated, f *failures) bool {
	if ev == nil {
		return c.apply(n, v, at, nil, f)
	}
	inner := &evaluated{}
	if !c.apply(n, v, at, inner, f) {
		return false
	}
	c.charge(len(inner.names) + len(inner.items))
	ev.merge(inner)
	return true
}

func (c *evaluation) checkObject(r *objectRules, object map[string]any, at *location, ev *evaluated, f *failures) bool {
	c.charge(len(r.required))
	ok := f.least(at, "minProperties", len(object), r.minProperties) && f.most(at, "maxProperties", len(object), r.maxProperties)
	if missing := missing(object, r.required); len(missing) > 0 {
		ok = f.add(at, "missing "+properties(missing))
	}
	for _, d := range r.dependentRequired {
		if _, present := object[d.name]; present {
			c.charge(len(d.required))
			if missing := missing(object, d.required); len(missing) > 0 {
				ok = f.add(at, fmt.Sprintf("missing %s, required by %s", properties(missing), quoted(d.name)))
			}
		}
	}
	for _, d := range r.dependentSchemas {
		if _, present := object[d.name]; present {
			ok = c.inPlace(d.node, object, at, ev, f) && ok
		}
	}
	var unknown []string
	for _, name := range slices.Sorted(maps.Keys(object)) {
		if !ok && f == nil {
			return false
		}
		c.charge(1)
		ok = c.checkProperty(r, name, object[name], at, ev, f, &unknown) && ok
	}
	if len(unknown) > 0 {
		ok = f.add(at, "unknown "+properties(unknown))
	}
	return ok
}

// checkProperty applies the subschemas for a property's name to its value. If additionalProperties forbids the property, checkProperty
// appends the name to unknown.
func (c *evaluation) checkProperty(r *objectRules, name string, value any, at *location, ev *evaluated, f *failures, unknown *[]string) bool {
	ok, known := true, false
	here := &location{parent: at, member: true, name: name, of: r}
	if n := r.properties[name]; n != nil {
		known, ok = true, c.apply(n, value, here, nil, f)
	}
	for _, p := range r.patternProperties {
		if c.matches(p.pattern, name) {
			known, ok = true, c.apply(p.node, value, here, nil, f) && ok
		}
	}
	if !known && r.additionalProperties != nil {
		known = true
		if boolean := r.additionalProperties.boolean; boolean != nil && !*boolean {
			*unknown = append(*unknown, name)
		} else {
			ok = c.apply(r.additionalProperties, value, here, nil, f) && ok
		}
	}
	if known {
		ev.name(name)
	}
	if r.propertyNames != nil && !c.apply(r.propertyNames, name, at, nil, nil) {
		ok = f.add(at, "the property name "+quoted(name)+" is not allowed")
	}
	return ok
}

func missing(object map[string]any, required []string) []string {
	var missing []string
	for _, name := range required {
		if _, ok := object[name]; !ok {
			missing = append(missing, name)
		}
	}
	return missing
}

func (c *evaluation) checkArray(r *arrayRules, items []any, at *location, ev *evaluated, f *failures) bool {
	ok := f.least(at, "minItems", len(items), r.minItems) && f.most(at, "maxItems", len(items), r.maxItems)
	if r.unique {
		if first, second, found := c.duplicate(items); found {
			ok = f.add(at, fmt.Sprintf("items at %d and %d are equal", first, second))
		}
	}
	for i, item := range items {
		if !ok && f == nil {
			return false
		}
		n := r.items
		if i < len(r.prefixItems) {
			n = r.prefixItems[i]
		}
		if n == nil {
			break
		}
		if r.items == nil {
			ev.item(i)
		}
		ok = c.apply(n, item, &location{parent: at, index: i}, nil, f) && ok
	}
	if r.items != nil && ev != nil {
		ev.all = true
	}
	return (r.contains == nil || c.contains(r, items, at, ev, f)) && ok
}

func (c *evaluation) contains(r *arrayRules, items []any, at *location, ev *evaluated, f *failures) bool {
	matched := 0
	for i, item := range items {
		if c.apply(r.contains, item, at, nil, nil) {
			matched++
			if r.containsEvaluates {
				ev.item(i)
			}
		}
	}
	switch {
	case r.minContains < 0 && matched == 0:
		return f.add(at, "no item matches the schema of contains")
	case matched < r.minContains:
		return f.add(at, fmt.Sprintf("minContains: got %d, want %d", matched, r.minContains))
	}
	return f.most(at, "maxContains", matched, r.maxContains)
}

func (c *evaluation) checkString(r *stringRules, text string, at *location, f *failures) bool {
	ok := true
	if r.minLength >= 0 || r.maxLength >= 0 {
		c.charge(len(text) >> 10)
		length := utf8.RuneCountInString(text)
		ok = f.least(at, "minLength", length, r.minLength) && f.most(at, "maxLength", length, r.maxLength)
	}
	if r.pattern != nil && !c.matches(r.pattern, text) {
		ok = f.add(at, "does not match the pattern "+r.pattern.String())
	}
	return ok
}

func (c *evaluation) checkNumber(r *numberRules, number json.Number, at *location, f *failures) bool {
	ok, n := true, rational(number)
	for _, bound := range []struct {
		name   string
		broken bool
	}{
		{"minimum", r.minimum != nil && n.Cmp(r.minimum) < 0},
		{"maximum", r.maximum != nil && n.Cmp(r.maximum) > 0},
		{"exclusiveMinimum", r.exclusiveMinimum != nil && n.Cmp(r.exclusiveMinimum) <= 0},
		{"exclusiveMaximum", r.exclusiveMaximum != nil && n.Cmp(r.exclusiveMaximum) >= 0},
		{"multipleOf", r.multipleOf != nil && !r.multiple(n)},
	} {
		if bound.broken {
			ok = f.add(at, fmt.Sprintf("%s: got %s, want %s", bound.name, visible.Truncate(string(number), 40), r.limit(bound.name)))
		}
	}
	return ok
}

// checkUnevaluated applies unevaluatedProperties or unevaluatedItems to the properties or items that are not in ev.
func (c *evaluation) checkUnevaluated(n *node, v any, at *location, ev *evaluated, f *failures) bool {
	ok := true
	switch v := v.(type) {
	case map[string]any:
		if n.unevaluatedProperties == nil || ev.all {
			return true
		}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if !ev.names[name] {
				ok = c.apply(n.unevaluatedProperties, v[name], &location{parent: at, member: true, name: name}, nil, f) && ok
			}
		}
		ev.all = true
	case []any:
		if n.unevaluatedItems == nil || ev.all {
			return true
		}
		for i, item := range v {
			if !ev.items[i] {
				ok = c.apply(n.unevaluatedItems, item, &location{parent: at, index: i}, nil, f) && ok
			}
		}
		ev.all = true
	}
	return ok
}
