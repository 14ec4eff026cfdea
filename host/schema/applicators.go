package schema

import (
	"fmt"
	"strings"
)

// logic checks the keywords that combine schemas for one value.
func (c *check) logic(r *logicRules, v any, at *place, ev *evaluated, f *faults) bool {
	ok := c.all(r.allOf, v, at, ev, f)
	if r.not != nil && c.apply(r.not, v, at, nil, nil) {
		ok = f.add(at, "is what the schema excludes with not")
	}
	if len(r.anyOf) > 0 {
		ok = c.anyOf(r.anyOf, v, at, ev, f) && ok
	}
	if len(r.oneOf) > 0 {
		ok = c.oneOf(r.oneOf, v, at, ev, f) && ok
	}
	if r.condition != nil {
		branch := r.other
		if c.inPlace(r.condition, v, at, ev, nil) {
			branch = r.then
		}
		ok = (branch == nil || c.inPlace(branch, v, at, ev, f)) && ok
	}
	return ok
}

func (c *check) anyOf(nodes []*node, v any, at *place, ev *evaluated, f *faults) bool {
	var said branches
	matched := false
	for _, n := range nodes {
		if c.inPlace(n, v, at, ev, said.next(f)) {
			if matched = true; ev == nil {
				break // otherwise what the others look at counts too
			}
		}
	}
	return matched || f.add(at, said.words())
}

func (c *check) oneOf(nodes []*node, v any, at *place, ev *evaluated, f *faults) bool {
	var said branches
	matched := -1
	for i, n := range nodes {
		of := said.next(f)
		if matched >= 0 {
			of = nil
		}
		if !c.inPlace(n, v, at, ev, of) {
			continue
		}
		if matched >= 0 {
			return f.add(at, fmt.Sprintf("must match exactly one alternative of oneOf, and matches number %d and number %d", matched+1, i+1))
		}
		matched = i
	}
	return matched >= 0 || f.add(at, said.words())
}

// branches are the faults of each alternative, which are one fault together.
type branches struct{ list []*faults }

// next takes the faults of the next alternative; nil where nobody asks or there are enough.
func (b *branches) next(f *faults) *faults {
	if f == nil || len(b.list) > maxFaults {
		return nil
	}
	next := &faults{limit: maxFaults}
	b.list = append(b.list, next)
	return next
}

func (b *branches) words() string {
	var words strings.Builder
	words.WriteString("must match one of: ")
	for i, f := range b.list {
		if i > 0 {
			words.WriteString(" | ")
		}
		if words.Len() > maxFault {
			break // the rest would be cut off
		}
		words.WriteString(strings.Join(f.list, " and "))
	}
	return words.String()
}
