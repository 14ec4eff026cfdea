package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	// maxWork bounds the work of one check: a schema of a few lines can ask for more than any machine can
	// do, by references that double at each level. Applying a schema to a value takes workOfSchema,
	// looking at a member, an item or a few hundred bytes of a string takes 1.
	maxWork      = maxSteps * workOfSchema
	maxSteps     = 1 << 18
	workOfSchema = 16
	// maxNesting bounds schemas that are applied inside one another: a schema may refer to itself.
	maxNesting = 4096
)

var errTooMuch = errors.New("takes too long to check against the schema")

// check is the state of one check of a value.
type check struct {
	work    int
	nesting int
}

// spend ends the check where its work has become too much.
func (c *check) spend(work int) {
	if c.work += work; c.work > maxWork {
		panic(errTooMuch)
	}
}

// evaluated is what keywords have looked at of one object or array. nil: nobody asks.
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

// apply tells whether v, which is at a place of the value, fits n. It says to f what does not, and to ev
// what was looked at; both may be nil.
func (c *check) apply(n *node, v any, at *place, ev *evaluated, f *faults) bool {
	c.spend(workOfSchema)
	if c.nesting++; c.nesting > maxNesting {
		panic(errTooMuch)
	}
	defer func() { c.nesting-- }()
	if n.verdict != nil {
		return *n.verdict || f.add(at, "is not allowed here")
	}
	if n.refsOnly {
		return c.all(n.refs, v, at, ev, f)
	}
	if !c.fits(n, v, at, f) {
		return false
	}
	if ev == nil && (n.unevaluatedItems != nil || n.unevaluatedProperties != nil) {
		ev = &evaluated{}
	}
	ok := c.all(n.refs, v, at, ev, f)
	switch v := v.(type) {
	case map[string]any:
		if n.object != nil {
			ok = c.members(n.object, v, at, ev, f) && ok
		}
	case []any:
		if n.array != nil {
			ok = c.items(n.array, v, at, ev, f) && ok
		}
	case string:
		if n.text != nil {
			ok = c.text(n.text, v, at, f) && ok
		}
	case json.Number:
		if n.number != nil {
			ok = c.number(n.number, v, at, f) && ok
		}
	}
	if n.logic != nil {
		ok = c.logic(n.logic, v, at, ev, f) && ok
	}
	return c.unevaluated(n, v, at, ev, f) && ok
}

// fits checks what is of any type: type, enum and const, and format.
func (c *check) fits(n *node, v any, at *place, f *faults) bool {
	got := typeOf(v)
	if n.types != 0 && n.types&got == 0 {
		number, ok := v.(json.Number)
		if n.types&typeInteger == 0 || !ok || !isInteger(number) {
			return f.add(at, fmt.Sprintf("must be %s, not %s", strings.Join(n.types.names(), " or "), got.names()[0]))
		}
	}
	for _, e := range n.enums {
		c.spend(len(e.values))
		if !slices.ContainsFunc(e.values, func(allowed any) bool { return equal(allowed, v) }) {
			return f.add(at, e.words)
		}
	}
	if text, ok := v.(string); ok && n.format != nil {
		c.spend(len(text) >> 10)
		if !n.format(text) {
			return f.add(at, "is not a valid "+n.named)
		}
	}
	return true
}

// all applies several schemas to one value, which has to fit them all.
func (c *check) all(nodes []*node, v any, at *place, ev *evaluated, f *faults) bool {
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

// inPlace applies a further schema to the same value. What it looked at counts where the value fits.
func (c *check) inPlace(n *node, v any, at *place, ev *evaluated, f *faults) bool {
	if ev == nil {
		return c.apply(n, v, at, nil, f)
	}
	own := &evaluated{}
	if !c.apply(n, v, at, own, f) {
		return false
	}
	c.spend(len(own.names) + len(own.items))
	ev.merge(own)
	return true
}

func (c *check) members(r *objectRules, object map[string]any, at *place, ev *evaluated, f *faults) bool {
	c.spend(len(r.required))
	ok := f.least(at, "minProperties", len(object), r.minProperties) && f.most(at, "maxProperties", len(object), r.maxProperties)
	if missing := missing(object, r.required); len(missing) > 0 {
		ok = f.add(at, "missing "+properties(missing))
	}
	for _, d := range r.dependentRequired {
		if _, there := object[d.name]; there {
			c.spend(len(d.required))
			if missing := missing(object, d.required); len(missing) > 0 {
				ok = f.add(at, fmt.Sprintf("missing %s, which %s needs", properties(missing), quoted(d.name)))
			}
		}
	}
	for _, d := range r.dependentSchemas {
		if _, there := object[d.name]; there {
			ok = c.inPlace(d.node, object, at, ev, f) && ok
		}
	}
	var unknown []string
	for _, name := range slices.Sorted(maps.Keys(object)) {
		if !ok && f == nil {
			return false
		}
		c.spend(1)
		ok = c.member(r, name, object[name], at, ev, f, &unknown) && ok
	}
	if len(unknown) > 0 {
		ok = f.add(at, "unknown "+properties(unknown))
	}
	return ok
}

// member applies to one member what an object's rules have for its name.
func (c *check) member(r *objectRules, name string, value any, at *place, ev *evaluated, f *faults, unknown *[]string) bool {
	ok, known := true, false
	here := &place{above: at, member: true, name: name}
	if n := r.properties[name]; n != nil {
		known, ok = true, c.apply(n, value, here, nil, f)
	}
	for _, p := range r.patterns {
		if c.matches(p.pattern, name) {
			known, ok = true, c.apply(p.node, value, here, nil, f) && ok
		}
	}
	if !known && r.additional != nil {
		known = true
		if verdict := r.additional.verdict; verdict != nil && !*verdict {
			*unknown = append(*unknown, name)
		} else {
			ok = c.apply(r.additional, value, here, nil, f) && ok
		}
	}
	if known {
		ev.name(name)
	}
	if r.names != nil && !c.apply(r.names, name, at, nil, nil) {
		ok = f.add(at, "the name "+quoted(name)+" is not allowed")
	}
	return ok
}

func missing(object map[string]any, required []string) []string {
	var missing []string
	for _, name := range required {
		if _, there := object[name]; !there {
			missing = append(missing, name)
		}
	}
	return missing
}

func (c *check) items(r *arrayRules, items []any, at *place, ev *evaluated, f *faults) bool {
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
		n := r.rest
		if i < len(r.prefix) {
			n = r.prefix[i]
		}
		if n == nil {
			break
		}
		if r.rest == nil {
			ev.item(i)
		}
		ok = c.apply(n, item, &place{above: at, index: i}, nil, f) && ok
	}
	if r.rest != nil && ev != nil {
		ev.all = true
	}
	return (r.contains == nil || c.contains(r, items, at, ev, f)) && ok
}

func (c *check) contains(r *arrayRules, items []any, at *place, ev *evaluated, f *faults) bool {
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
		return f.add(at, "has no item of the kind that contains asks for")
	case matched < r.minContains:
		return f.add(at, fmt.Sprintf("minContains: got %d, want %d", matched, r.minContains))
	}
	return f.most(at, "maxContains", matched, r.maxContains)
}

func (c *check) text(r *textRules, text string, at *place, f *faults) bool {
	ok := true
	if r.minLength >= 0 || r.maxLength >= 0 {
		c.spend(len(text) >> 10)
		length := utf8.RuneCountInString(text)
		ok = f.least(at, "minLength", length, r.minLength) && f.most(at, "maxLength", length, r.maxLength)
	}
	if r.pattern != nil && !c.matches(r.pattern, text) {
		ok = f.add(at, "does not match the pattern "+r.pattern.String())
	}
	return ok
}

func (c *check) number(r *numberRules, number json.Number, at *place, f *faults) bool {
	ok, n := true, rational(number)
	for _, bound := range []struct {
		name   string
		broken bool
	}{
		{"minimum", r.minimum != nil && n.Cmp(r.minimum) < 0},
		{"maximum", r.maximum != nil && n.Cmp(r.maximum) > 0},
		{"exclusiveMinimum", r.above != nil && n.Cmp(r.above) <= 0},
		{"exclusiveMaximum", r.below != nil && n.Cmp(r.below) >= 0},
		{"multipleOf", r.multipleOf != nil && !r.multiple(n)},
	} {
		if bound.broken {
			ok = f.add(at, fmt.Sprintf("%s: got %s, want %s", bound.name, shorten(string(number), 40), r.shown(bound.name)))
		}
	}
	return ok
}

// unevaluated applies what n has for the members or items that nothing has looked at.
func (c *check) unevaluated(n *node, v any, at *place, ev *evaluated, f *faults) bool {
	ok := true
	switch v := v.(type) {
	case map[string]any:
		if n.unevaluatedProperties == nil || ev.all {
			return true
		}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if !ev.names[name] {
				ok = c.apply(n.unevaluatedProperties, v[name], &place{above: at, member: true, name: name}, nil, f) && ok
			}
		}
		ev.all = true
	case []any:
		if n.unevaluatedItems == nil || ev.all {
			return true
		}
		for i, item := range v {
			if !ev.items[i] {
				ok = c.apply(n.unevaluatedItems, item, &place{above: at, index: i}, nil, f) && ok
			}
		}
		ev.all = true
	}
	return ok
}
