// Package search says which packages of a registry's index fit what somebody looks for, and how well: Score
// rates one, Rank orders many. It reads nothing itself.
package search

import (
	"cmp"
	"slices"
	"strings"
)

// Package is what is looked at of one package.
type Package struct {
	Name        string
	Description string
	Keywords    []string
}

// The scores, by what of a package the query fits. Everything fits an empty query.
const (
	isName        = 100
	beginsName    = 80
	inName        = 60
	isKeyword     = 50
	inDescription = 30
)

// Query is what somebody looks for.
type Query struct{ text string }

// NewQuery returns the query for a text, which is taken as it is: it is neither split nor trimmed, and its case
// does not matter.
func NewQuery(text string) Query { return Query{strings.ToLower(text)} }

// Score rates a package; 0 means that it does not fit. The scope is a part of the name. A keyword has to be the
// whole query.
func (q Query) Score(p Package) int {
	name := strings.ToLower(p.Name)
	switch {
	case q.text == "" || name == q.text:
		return isName
	case strings.HasPrefix(name, q.text):
		return beginsName
	case strings.Contains(name, q.text):
		return inName
	case slices.ContainsFunc(p.Keywords, func(k string) bool { return strings.ToLower(k) == q.text }):
		return isKeyword
	case strings.Contains(strings.ToLower(p.Description), q.text):
		return inDescription
	}
	return 0
}

// Rank returns those of the items that fit the query, the best first and those of one score by name. Items that
// are alike keep their order.
func Rank[T any](q Query, items []T, describe func(T) Package) []T {
	type rated struct {
		item  T
		name  string
		score int
	}
	var fit []rated
	for _, item := range items {
		p := describe(item)
		if score := q.Score(p); score > 0 {
			fit = append(fit, rated{item, p.Name, score})
		}
	}
	slices.SortStableFunc(fit, func(a, b rated) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.name, b.name))
	})
	ranked := make([]T, len(fit))
	for i, r := range fit {
		ranked[i] = r.item
	}
	return ranked
}
