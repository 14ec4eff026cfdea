package graph

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

// MaxValues is the maximum of Graph.Values for a graph that can be read and written. The host checks each answer with its
// schema, in a number of steps that suffices for some 245,000 values.
const MaxValues = 200_000

// ErrTooManyValues is the error for a graph with more than MaxValues.
var ErrTooManyValues = fmt.Errorf("more than %d entities, relations, names, types and observations", MaxValues)

// Values returns how many values the graph has: entities, relations, their names and types, and observations.
func (g *Graph) Values() int {
	values := 4 * len(g.Relations)
	for _, e := range g.Entities {
		values += 4 + len(e.Observations)
	}
	return values
}

// Parse reads a graph from the lines of a file. Blank lines are skipped. Lines of types other than entity and relation
// are kept. An error names the line.
func Parse(lines []byte) (*Graph, error) {
	g, number, values := &Graph{}, 0, 0
	for line := range bytes.SplitSeq(lines, []byte("\n")) {
		number++
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		observations, err := g.parse(line)
		if values += 4 + observations; err == nil && values > MaxValues {
			err = ErrTooManyValues
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
	}
	return g, nil
}

// parse adds the entity or relation of a line to the graph, and returns the number of its observations.
func (g *Graph) parse(line []byte) (observations int, err error) {
	members := map[string][]byte{}
	err = rawjson.ScanObject(line, func(key, value []byte) { members[string(key)] = value })
	if err != nil {
		return 0, err
	}
	text := func(name string, value []byte) string {
		s, ok := rawjson.Unquote(value)
		if !ok && err == nil {
			err = fmt.Errorf("%s is not a string", name)
		}
		return s
	}
	member := func(name string) string { return text(name, members[name]) }
	switch kind, _ := rawjson.Unquote(members["type"]); kind {
	case "entity":
		e := Entity{Name: member("name"), Type: member("entityType")}
		if rawjson.Kind(members["observations"]) != '[' && err == nil {
			err = errors.New("observations is not an array")
		}
		for i, value := range rawjson.Elements(members["observations"]) {
			if i == MaxValues {
				return i, ErrTooManyValues
			}
			e.Observations = append(e.Observations, text("an observation", value))
		}
		g.Entities = append(g.Entities, e)
		observations = len(e.Observations)
	case "relation":
		g.Relations = append(g.Relations, Relation{member("from"), member("to"), member("relationType")})
	default:
		g.other = append(g.other, line)
	}
	return observations, err
}
