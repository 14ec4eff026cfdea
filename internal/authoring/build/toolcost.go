package build

import (
	"fmt"

	"github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/tokens"
	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

// Bounds of what a tool should cost the model of a client, in tokens. docs/context.md explains them.
const (
	costOfTool      = 150
	costOfParameter = 50
	costOfNothing   = 30
)

// warnOfCost returns a warning for each tool that is large for what it says: clients pass it to their model in every conversation.
func (s *source) warnOfCost() (ps tomlfile.Problems) {
	for _, t := range s.m.Tools {
		size := schemaSize{}
		size.add(t.Input)
		cost, bound := tokens.Estimate(tokens.TextOf(t.Name, t.Description, t.Input)), costOfTool+costOfParameter*size.parameters
		warn := func(what, remedy string) {
			ps = append(ps, tomlfile.Problem{File: s.file, Line: t.Line, Key: "tools." + t.Name, What: what, Remedy: remedy, Warning: true})
		}
		if cost > bound {
			warn(fmt.Sprintf("costs a model about %d tokens of each conversation, which is more than %d for a tool and %d for each of its %d parameters", cost, costOfTool, costOfParameter, size.parameters),
				"say the same in fewer words; details can be in a resource, in a prompt, or in the errors of the tool")
		}
		if size.nothing >= costOfNothing {
			warn(fmt.Sprintf("spends about %d tokens of each conversation on title and $schema inside of its schema, which tell a model nothing", size.nothing), "remove them")
		}
	}
	return ps
}

// schemaSize is what a schema consists of.
type schemaSize struct {
	parameters int // properties, nested ones included
	nothing    int // tokens of members that tell a model nothing
}

// add adds a schema, or an object or array of schemas.
func (n *schemaSize) add(schema []byte) {
	for _, element := range rawjson.Elements(schema) {
		n.add(element)
	}
	for key, value := range rawjson.Members(schema) {
		switch {
		case key == "properties":
			for _, property := range rawjson.Members(value) {
				n.parameters++
				n.add(property)
			}
		case (key == "title" || key == "$schema") && rawjson.Kind(value) == '"':
			n.nothing += tokens.Estimate(`,"` + key + `":` + string(value))
		case key != "default" && key != "enum" && key != "const" && key != "examples":
			n.add(value)
		}
	}
}
