// Package tools connects the graph to MCP: it defines the tools and the resource. Register adds the handlers to a plugin.
package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"os"

	"github.com/bulkhead-mcp/bulkhead/plugins/memory/arguments"
	"github.com/bulkhead-mcp/bulkhead/plugins/memory/graph"
	"github.com/bulkhead-mcp/bulkhead/plugins/memory/store"
	"github.com/bulkhead-mcp/bulkhead/sdk"
	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem"
)

// tool is an MCP tool. It has at most one argument, which is required.
type tool struct {
	name, argument string
	shape          arguments.Shape // of the argument
	writes         bool
	call           func(g *graph.Graph, argument arguments.Value) (answer, error)
}

// answer is the result of a call: its text, and the same as a JSON object.
type answer struct {
	text       string
	structured []byte
}

// Register adds the handlers of the tools and of the resource to the plugin p.
func Register(p *sdk.Plugin) {
	for _, t := range tools {
		sdk.HandleTool(p, t.name, func(_ context.Context, raw json.RawMessage) (*sdk.ToolResult, error) {
			a, err := t.run(raw)
			if err != nil {
				return nil, err
			}
			return &sdk.ToolResult{Content: []sdk.Content{sdk.TextContent{Text: a.text}}, StructuredContent: json.RawMessage(a.structured)}, nil
		})
	}
	p.HandleResources(sdk.Resources{List: listResources, Read: readResource})
}

func (t tool) run(raw json.RawMessage) (a answer, err error) {
	var argument arguments.Value
	if t.argument != "" {
		argument, err = arguments.Parse(t.name, raw, t.argument, t.shape)
		if err != nil {
			return answer{}, err
		}
	}
	s, err := open()
	if err != nil {
		return answer{}, err
	}
	if !t.writes {
		g, err := s.Load()
		if err != nil {
			return answer{}, err
		}
		return t.call(g, argument)
	}
	err = s.Change(func(g *graph.Graph) error {
		a, err = t.call(g, argument)
		return err
	})
	if err != nil {
		return answer{}, err
	}
	if err := sdk.ResourceUpdated(resource); err != nil { // the change is committed, so the call succeeds
		sdk.Log(sdk.LevelDebug, "%v", err)
	}
	return a, nil
}

// open returns the store that the environment variables select.
func open() (store.Store, error) {
	files := filesystem.OS{}
	path, err := store.Locate(os.Getenv, files)
	lock := func(dir string) error { return sdk.LockFolder("graph", dir) }
	return store.Store{Path: path, FS: files, Lock: lock}, err
}

var (
	text     arguments.Shape
	texts    = arguments.List(text)
	entity   = arguments.Object(arguments.Member{Name: "name"}, arguments.Member{Name: "entityType"}, arguments.Member{Name: "observations", Shape: texts})
	relation = arguments.Object(arguments.Member{Name: "from"}, arguments.Member{Name: "to"}, arguments.Member{Name: "relationType"})
	addition = arguments.Object(arguments.Member{Name: "entityName"}, arguments.Member{Name: "contents", Shape: texts})
	deletion = arguments.Object(arguments.Member{Name: "entityName"}, arguments.Member{Name: "observations", Shape: texts})
)

var tools = []tool{
	{"create_entities", "entities", arguments.List(entity), true, func(g *graph.Graph, v arguments.Value) (answer, error) {
		created := g.CreateEntities(arguments.Each(v, func(v arguments.Value) graph.Entity {
			return graph.Entity{Name: v.Members["name"].Text, Type: v.Members["entityType"].Text, Observations: v.Members["observations"].Texts()}
		}))
		return array("entities", graph.AppendEntities(nil, created)), nil
	}},
	{"create_relations", "relations", arguments.List(relation), true, func(g *graph.Graph, v arguments.Value) (answer, error) {
		return array("relations", graph.AppendRelations(nil, g.CreateRelations(relations(v)))), nil
	}},
	{"add_observations", "observations", arguments.List(addition), true, func(g *graph.Graph, v arguments.Value) (answer, error) {
		added, err := g.AddObservations(observations(v, "contents"))
		return array("results", graph.AppendAdded(nil, added)), err
	}},
	{"delete_entities", "entityNames", texts, true, func(g *graph.Graph, v arguments.Value) (answer, error) {
		g.DeleteEntities(v.Texts())
		return deleted("Entities"), nil
	}},
	{"delete_observations", "deletions", arguments.List(deletion), true, func(g *graph.Graph, v arguments.Value) (answer, error) {
		g.DeleteObservations(observations(v, "observations"))
		return deleted("Observations"), nil
	}},
	{"delete_relations", "relations", arguments.List(relation), true, func(g *graph.Graph, v arguments.Value) (answer, error) {
		g.DeleteRelations(relations(v))
		return deleted("Relations"), nil
	}},
	{"read_graph", "", text, false, func(g *graph.Graph, _ arguments.Value) (answer, error) {
		return object(g.JSON()), nil
	}},
	{"search_nodes", "query", text, false, func(g *graph.Graph, v arguments.Value) (answer, error) {
		return object(g.Search(v.Text).JSON()), nil
	}},
	{"open_nodes", "names", texts, false, func(g *graph.Graph, v arguments.Value) (answer, error) {
		return object(g.Open(v.Texts()).JSON()), nil
	}},
}

func relations(list arguments.Value) []graph.Relation {
	return arguments.Each(list, func(v arguments.Value) graph.Relation {
		return graph.Relation{From: v.Members["from"].Text, To: v.Members["to"].Text, Type: v.Members["relationType"].Text}
	})
}

func observations(list arguments.Value, contents string) []graph.Observations {
	return arguments.Each(list, func(v arguments.Value) graph.Observations {
		return graph.Observations{Entity: v.Members["entityName"].Text, Contents: v.Members[contents].Texts()}
	})
}

// object answers with a JSON object.
func object(structured []byte) answer { return answer{indented(structured), structured} }

// array answers with a JSON array. In the structured content it is the member called name.
func array(name string, elements []byte) answer {
	return answer{indented(elements), append(append([]byte(`{"`+name+`":`), elements...), '}')}
}

// deleted answers that entities, observations or relations were deleted, whether they existed or not.
func deleted(what string) answer {
	message := what + " deleted successfully"
	return answer{message, []byte(`{"success":true,"message":"` + message + `"}`)}
}

func indented(value []byte) string {
	var out bytes.Buffer
	_ = json.Indent(&out, value, "", "  ") // the value is valid JSON
	return out.String()
}
