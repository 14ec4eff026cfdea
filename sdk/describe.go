package sdk

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
	"github.com/bulkhead-mcp/bulkhead/sdk/internal/typeschema"
	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

// Describe lists what the plugin has handlers for. Names are sorted.
func (p *Plugin) Describe() abi.Description {
	names := slices.AppendSeq([]string{}, maps.Keys(p.tools)) // not nil, which is null in JSON
	slices.Sort(names)
	return abi.Description{
		Tools:       names,
		Prompts:     p.prompts != nil,
		Resources:   p.resources != nil,
		Completions: p.complete != nil,
	}
}

// Schemas derives the schemas of the tools from the types of their handlers. A tool has no entry if its handler gets json.RawMessage and
// returns a *ToolResult.
func (p *Plugin) Schemas() map[string]abi.ToolSchemas {
	all := map[string]abi.ToolSchemas{}
	for name, t := range p.tools {
		var s abi.ToolSchemas
		var inErr, outErr error
		s.Input, inErr = encodeSchema(typeschema.Input, t.in)
		if t.out != nil {
			s.Output, outErr = encodeSchema(typeschema.Output, t.out)
		}
		switch {
		case inErr != nil:
			s.Error = fmt.Sprintf("arguments: %v", inErr)
		case outErr != nil:
			s.Error = fmt.Sprintf("results: %v", outErr)
		}
		if s.Input != nil || s.Output != nil || s.Error != "" {
			all[name] = s
		}
	}
	return all
}

func encodeSchema(derive func(reflect.Type) (*typeschema.Schema, error), t reflect.Type) (json.RawMessage, error) {
	s, err := derive(t)
	if err != nil || s == nil {
		return nil, err
	}
	return rawjson.Marshal(s)
}

// describe handles bulkhead/describe. A host that loads the module sends no params, and gets no schemas: deriving them takes longer than
// the rest of the start.
func (p *Plugin) describe(params []byte) ([]byte, error) {
	var asked abi.DescribeParams
	if len(params) > 0 {
		if err := decodeParams(params, &asked); err != nil {
			return nil, err
		}
	}
	if !asked.Schemas {
		return encodeResult(p.Describe())
	}
	return encodeResult(abi.SchemaDescription{Description: p.Describe(), Schemas: p.Schemas()})
}
