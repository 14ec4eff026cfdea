package schema

import (
	"fmt"
	"strings"
)

// checkApplicators evaluates the keywords that apply subschemas to the instance itself, except references and dependentSchemas.
func (c *evaluation) checkApplicators(r *applicators, v any, at *location, ev *evaluated, f *failures) bool {
	ok := c.all(r.allOf, v, at, ev, f)
	if r.not != nil && c.apply(r.not, v, at, nil, nil) {
		ok = f.add(at, "must not match the schema of the keyword \"not\"")
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

func (c *evaluation) anyOf(nodes []*node, v any, at *location, ev *evaluated, f *failures) bool {
	var alternatives alternativeFailures
	matched := false
	for _, n := range nodes {
		if c.inPlace(n, v, at, ev, alternatives.next(f)) {
			if matched = true; ev == nil {
				break // if ev is set, the other alternatives are applied too, since they may evaluate further properties
			}
		}
	}
	return matched || f.add(at, alternatives.message())
}

func (c *evaluation) oneOf(nodes []*node, v any, at *location, ev *evaluated, f *failures) bool {
	var alternatives alternativeFailures
	matched := -1
	for i, n := range nodes {
		of := alternatives.next(f)
		if matched >= 0 {
			of = nil
		}
		if !c.inPlace(n, v, at, ev, of) {
			continue
		}
		if matched >= 0 {
			return f.add(at, fmt.Sprintf("must match exactly one alternative of oneOf, but matches number %d and number %d", matched+1, i+1))
		}
		matched = i
	}
	return matched >= 0 || f.add(at, alternatives.message())
}

// alternativeFailures collects the failures of several alternatives, which are reported as one failure.
type alternativeFailures struct{ list []*failures }

// next returns the collector for the failures of the next alternative; nil if f is nil or maxFailures is exceeded.
func (b *alternativeFailures) next(f *failures) *failures {
	if f == nil || len(b.list) > maxFailures {
		return nil
	}
	next := &failures{limit: maxFailures}
	b.list = append(b.list, next)
	return next
}

func (b *alternativeFailures) message() string {
	var words strings.Builder
	words.WriteString("must match one of: ")
	for i, f := range b.list {
		if i > 0 {
			words.WriteString(" | ")
		}
		if words.Len() > maxFailure {
			break // further alternatives would be truncated
		}
		words.WriteString(strings.Join(f.list, " and "))
	}
	return words.String()
}
