// Package search ranks packages by how well they match a query. Query.Score rates one package, and Rank sorts a list of
// packages.
package search

import (
	"cmp"
	"slices"
	"strings"
)

// Package holds the fields of a package in which Query.Score searches.
type Package struct {
	Name        string
	Description string
	Keywords    []string
}

// The scores of the different kinds of match. Every package matches an empty query.
const (
	isName        = 100
	beginsName    = 80
	inName        = 60
	isKeyword     = 50
	inDescription = 30
)

// Query is the text of a search, in lower case.
type Query struct{ text string }

// NewQuery returns a query for text. The query ignores case, and matches text literally, without splitting or trimming
// it.
func NewQuery(text string) Query { return Query{strings.ToLower(text)} }

// Score rates a package; 0 means that the package does not match. The scope is part of the name. A keyword matches only
// if it equals the query.
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

// Rank returns the items that match the query, sorted by score and then by name. The sort is stable.
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
