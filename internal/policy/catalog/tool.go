package catalog

import (
	"encoding/json"
	"fmt"
	"sync"

	"github.com/bulkhead-mcp/bulkhead/internal/base/visible"
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
	// OutputNumber is the tool's number among the tools of the manifest that have an output schema, from 1; 0 if the tool
	// has none.
	OutputNumber int

	schema func() (*schema.Schema, error) // compiled on the first call, since compiling takes longer than reading the manifest
}

func newTool(p *Plugin, t manifest.Tool) *Tool {
	compiled := sync.OnceValues(func() (*schema.Schema, error) { return schema.Compile(t.Input) })
	return &Tool{Tool: t, Plugin: p, Offered: p.Grant.Prefix + t.Name, schema: compiled}
}

// outputNumbers returns the Tool.OutputNumber of each tool that has an output schema.
func outputNumbers(m *manifest.Manifest) map[string]int {
	numbers := map[string]int{}
	for _, t := range m.Tools {
		if t.Output != nil {
			numbers[t.Name] = len(numbers) + 1
		}
	}
	return numbers
}

// listing returns the tool as clients see it in tools/list.
func (t *Tool) listing() gateway.Tool {
	return gateway.Tool{
		Name: t.Offered, Title: t.Title, Description: t.Description,
		Input: t.Input, Output: t.Output, Returns: t.Returns, Meta: t.Meta,
		Icon:     gateway.Icon(t.Plugin.Manifest.Icon),
		Task:     t.taskSupport(),
		ReadOnly: !t.Write, Destructive: t.Destructive, Idempotent: t.Idempotent, OpenWorld: t.OpenWorld,
	}
}

// ReturnsJSON reports whether the tool is declared to return something else than a string, so that a text that is JSON stands for its value.
func (t *Tool) ReturnsJSON() bool {
	return t.Returns != nil && string(rawjson.Member(t.Returns, "type")) != `"string"`
}

// taskSupport returns how calls of the tool run as tasks.
func (t *Tool) taskSupport() gateway.TaskSupport {
	return gateway.TaskSupport{
		Offered: t.Task != manifest.TaskNever, Required: t.Task == manifest.TaskRequired, AsksFirst: t.AsksFirst,
		Writes: t.Write || t.Plugin.Grant.CanWrite(), Time: t.Plugin.Grant.Limits.Task,
	}
}

// ResultLimit returns the most bytes of a result of the tool that a model gets; 0: there is no limit. A result that must match a schema is not
// shortened.
func (t *Tool) ResultLimit() int {
	limit := int(t.Plugin.Grant.Limits.Result)
	if limit > 0 && t.Output != nil {
		return 0
	}
	return limit
}

// PluginParams returns the parameters of a call, with the tool's name in the manifest instead of the offered name.
func (t *Tool) PluginParams(params json.RawMessage) json.RawMessage {
	if t.Offered == t.Name {
		return params
	}
	return rawjson.Replace(params, "name", rawjson.Quote(t.Name))
}

// CheckArguments validates the arguments of a call, unless the plugin does that itself, and returns those that the tool's schema does not
// declare. Absent arguments count as an empty object. It decodes at most as many values as fit into the memory that the call itself may use.
func (t *Tool) CheckArguments(arguments json.RawMessage, l manifest.Limits) ([]schema.Undeclared, error) {
	byHost := t.Plugin.Manifest.Validate == manifest.ValidateHost
	if len(arguments) == 0 {
		arguments = json.RawMessage("{}")
	}
	s, err := t.schema()
	switch {
	case err != nil && byHost:
		return nil, fmt.Errorf("has an invalid input schema: %w", err)
	case err != nil: // the plugin accepts what the schema cannot describe
		return nil, nil
	case !byHost:
		return s.Undeclared(arguments), nil
	}
	undeclared, err := s.ValidateArguments(arguments, int((l.Memory+l.Input)/schema.BytesPerValue))
	if err != nil {
		return nil, fmt.Errorf("was called with arguments that do not match its schema: %w%s", err, meant(undeclared))
	}
	return undeclared, nil
}

// meant returns which names the caller may have meant by undeclared ones; "" if it is unknown. What a misspelled argument should have been
// is often what is missing.
func meant(undeclared []schema.Undeclared) string {
	text := ""
	for _, u := range undeclared {
		if u.Nearest != "" {
			text += fmt.Sprintf("; did you mean %q by %s?", u.Nearest, visible.Quote(u.Name))
		}
	}
	return text
}
