package catalog

import (
	"encoding/json"
	"fmt"
	"sync"

	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/gateway"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/schema"
	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

// Tool is a granted tool.
type Tool struct {
	manifest.Tool
	Plugin  *Plugin
	Offered string // the name that clients see
	// OutputNumber is the tool's number among the tools of the plugin that have an output schema, from 1; 0 if the tool
	// has none.
	OutputNumber int

	schema func() (*schema.Schema, error) // compiled on the first call, since compiling takes longer than reading the manifest
}

func newTool(p *Plugin, t manifest.Tool) *Tool {
	compiled := sync.OnceValues(func() (*schema.Schema, error) { return schema.Compile(t.Input) })
	return &Tool{Tool: t, Plugin: p, Offered: p.Grant.Prefix + t.Name, schema: compiled}
}

// listing returns the tool as clients see it in tools/list.
func (t *Tool) listing() gateway.Tool {
	return gateway.Tool{
		Name: t.Offered, Title: t.Title, Description: t.Description,
		Input: t.Input, Output: t.Output, Meta: t.Meta,
		Icon:     gateway.Icon(t.Plugin.Manifest.Icon),
		ReadOnly: !t.Write, Destructive: t.Destructive, Idempotent: t.Idempotent, OpenWorld: t.OpenWorld,
	}
}

// PluginParams returns the parameters of a call, with the tool's name in the manifest instead of the offered name.
func (t *Tool) PluginParams(params json.RawMessage) json.RawMessage {
	if t.Offered == t.Name {
		return params
	}
	return rawjson.Replace(params, "name", rawjson.Quote(t.Name))
}

// CheckArguments validates the arguments of a call; absent arguments count as an empty object. It decodes at most as many
// values as fit into the memory that the call itself may use.
func (t *Tool) CheckArguments(arguments json.RawMessage, l manifest.Limits) error {
	s, err := t.schema()
	if err != nil {
		return fmt.Errorf("has an invalid input schema: %w", err)
	}
	if len(arguments) == 0 {
		arguments = json.RawMessage("{}")
	}
	if err := s.ValidateArguments(arguments, int((l.Memory+l.Input)/schema.BytesPerValue)); err != nil {
		return fmt.Errorf("was called with arguments that do not match its schema: %w", err)
	}
	return nil
}
