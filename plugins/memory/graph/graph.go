// Package graph is a knowledge graph: entities with observations, and relations between them. Parse reads the lines of a
// file, and the methods of Graph query and change the graph. Names need not be unique: a method that changes one entity
// changes the first with that name.
package graph

import (
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/sdk/fold"
)

// Entity is a node of the graph.
type Entity struct {
	Name, Type   string
	Observations []string
}

// Relation is an edge of the graph. Its ends need not be entities of the graph.
type Relation struct {
	From, To, Type string
}

// Observations are observations of the entity that they name.
type Observations struct {
	Entity   string
	Contents []string
}

// UnknownEntityError is the name of an entity that the graph does not have.
type UnknownEntityError string

func (e UnknownEntityError) Error() string { return "Entity with name " + string(e) + " not found" }

// Graph is a knowledge graph in the order in which it was created. The zero value is an empty graph.
type Graph struct {
	Entities  []Entity
	Relations []Relation
	other     [][]byte // lines of other types than entities and relations
}

// CreateEntities adds the entities whose names the graph does not have yet, and returns them.
func (g *Graph) CreateEntities(entities []Entity) []Entity {
	existing := g.positions()
	added := without(entities, func(e Entity) bool {
		_, exists := existing[e.Name]
		return exists
	})
	g.Entities = append(g.Entities, added...)
	return added
}

// CreateRelations adds the relations that the graph does not have yet, and returns them.
func (g *Graph) CreateRelations(relations []Relation) []Relation {
	existing := setOf(g.Relations)
	added := without(relations, func(r Relation) bool { return existing[r] })
	g.Relations = append(g.Relations, added...)
	return added
}

// AddObservations adds observations that their entities do not have yet, and returns what it added. After an error, the
// graph may have some of the observations.
func (g *Graph) AddObservations(additions []Observations) ([]Observations, error) {
	positions, existing := g.positions(), map[int]map[string]bool{}
	added := make([]Observations, 0, len(additions))
	for _, a := range additions {
		i, ok := positions[a.Entity]
		if !ok {
			return nil, UnknownEntityError(a.Entity)
		}
		if existing[i] == nil {
			existing[i] = setOf(g.Entities[i].Observations)
		}
		contents := without(a.Contents, func(c string) bool { return existing[i][c] })
		for _, c := range contents {
			existing[i][c] = true
		}
		g.Entities[i].Observations = append(g.Entities[i].Observations, contents...)
		added = append(added, Observations{a.Entity, contents})
	}
	return added, nil
}

// DeleteEntities removes the entities with these names, and the relations from and to these names.
func (g *Graph) DeleteEntities(names []string) {
	deleted := setOf(names)
	g.Entities = without(g.Entities, func(e Entity) bool { return deleted[e.Name] })
	g.Relations = without(g.Relations, func(r Relation) bool { return deleted[r.From] || deleted[r.To] })
}

// DeleteObservations removes observations. It ignores entities and observations that the graph does not have.
func (g *Graph) DeleteObservations(deletions []Observations) {
	positions, deleted := g.positions(), map[int]map[string]bool{}
	for _, d := range deletions {
		i, ok := positions[d.Entity]
		if !ok {
			continue
		}
		if deleted[i] == nil {
			deleted[i] = map[string]bool{}
		}
		for _, content := range d.Contents {
			deleted[i][content] = true
		}
	}
	for i, contents := range deleted {
		g.Entities[i].Observations = without(g.Entities[i].Observations, func(o string) bool { return contents[o] })
	}
}

// DeleteRelations removes relations. It ignores those that the graph does not have.
func (g *Graph) DeleteRelations(relations []Relation) {
	deleted := setOf(relations)
	g.Relations = without(g.Relations, func(r Relation) bool { return deleted[r] })
}

// Search returns the entities whose name, type or observations contain the query in any case, and the relations from and
// to them.
func (g *Graph) Search(query string) *Graph {
	query = fold.Lower(query)
	matches := func(s string) bool { return strings.Contains(fold.Lower(s), query) }
	return g.filter(func(e Entity) bool {
		return matches(e.Name) || matches(e.Type) || slices.ContainsFunc(e.Observations, matches)
	})
}

// Open returns the entities with these names, and the relations from and to them.
func (g *Graph) Open(names []string) *Graph {
	wanted := setOf(names)
	return g.filter(func(e Entity) bool { return wanted[e.Name] })
}

func (g *Graph) filter(wanted func(Entity) bool) *Graph {
	found, names := &Graph{}, map[string]bool{}
	for _, e := range g.Entities {
		if wanted(e) {
			found.Entities = append(found.Entities, e)
			names[e.Name] = true
		}
	}
	found.Relations = without(g.Relations, func(r Relation) bool { return !names[r.From] && !names[r.To] })
	return found
}

// positions returns the index of the first entity of each name.
func (g *Graph) positions() map[string]int {
	positions := make(map[string]int, len(g.Entities))
	for i, e := range slices.Backward(g.Entities) {
		positions[e.Name] = i
	}
	return positions
}

func setOf[T comparable](values []T) map[T]bool {
	set := make(map[T]bool, len(values))
	for _, v := range values {
		set[v] = true
	}
	return set
}

// without returns the values that are not excluded, in a slice of their own.
func without[T any](values []T, excluded func(T) bool) []T {
	kept := make([]T, 0, len(values))
	for _, v := range values {
		if !excluded(v) {
			kept = append(kept, v)
		}
	}
	return kept
}
