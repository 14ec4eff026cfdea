// Package hosttool has the tools that the host itself offers instead of a long list: they find the tools of plugins, describe them and call
// them. One more reads on in long results. A Set knows the tools of one view, and nothing that is withheld from its clients: begin with NewSet. What calls a tool of a plugin
// is in dispatch, which replaces such a call by the one that it contains: see Inner.
package hosttool

import (
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/toolindex"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/gateway"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/schema"
)

// Names of the host's own tools.
const (
	Find     = "find_tools"
	Describe = "describe_tools"
	Read     = "read_tool"   // calls a tool that reads
	Write    = "write_tool"  // calls a tool that writes
	Result   = "read_result" // reads more of a result that was shortened
	Script   = "run_script"  // runs a script that calls tools that read; the plugin that runs scripts offers it
)

// definition is a tool of the host itself.
type definition struct {
	name  string
	modes []string // modes in which it is offered
	input string   // JSON Schema of its arguments
	// describe returns its description for the clients of a Set, and its hints; false if the Set has no use for it.
	describe func(*Set) (gateway.Tool, bool)
}

// definitions are the host's own tools, in the order in which they are listed.
func definitions() []definition {
	searching, both := []string{config.ToolsSearch}, []string{config.ToolsSearch, config.ToolsCode}
	every := []string{config.ToolsAll, config.ToolsSearch, config.ToolsCode}
	return []definition{
		{Find, both, `{"type":"object","properties":{"query":{"type":"string","maxLength":500,"description":"words for what you want to do"},` +
			`"limit":{"type":"integer","minimum":1,"maximum":20,"default":5}},"required":["query"],"additionalProperties":false}`, (*Set).describeFind},
		{Describe, both, `{"type":"object","properties":{"names":{"type":"array","items":{"type":"string"},"minItems":1,"maxItems":20},` +
			`"format":{"enum":["typescript","schema"],"default":"typescript"}},"required":["names"],"additionalProperties":false}`, (*Set).describeDescribe},
		{Read, searching, innerInput, (*Set).describeRead},
		{Write, both, innerInput, (*Set).describeWrite},
		{Result, every, resultInput, (*Set).describeResult},
	}
}

const innerInput = `{"type":"object","properties":{"name":{"type":"string"},"arguments":{"type":"object"}},"required":["name"],"additionalProperties":false}`

// Names returns the names that are the host's own in a mode. No plugin offers a tool of such a name. shortens is whether results may be shortened.
func Names(mode string, shortens bool) []string {
	var names []string
	if mode == config.ToolsCode {
		names = append(names, Script)
	}
	for _, d := range definitions() {
		if slices.Contains(d.modes, mode) && (d.name != Result || shortens) {
			names = append(names, d.name)
		}
	}
	return names
}

// Plugin is a plugin with the tools that clients of a view are offered.
type Plugin struct {
	Name        string
	Description string
	Tools       []gateway.Tool
}

// Set is the host's own tools for the clients of one view. It is safe for concurrent use. The methods of a nil Set return that it has no tool.
type Set struct {
	mode     string
	shortens bool // whether results of its tools may be shortened
	plugins  []Plugin
	tools    []gateway.Tool // of all plugins
	byName   map[string]*gateway.Tool
	index    func() *toolindex.Index

	own     []gateway.Tool // the host's own
	schemas map[string]func() (*schema.Schema, error)
}

// NewSet returns the Set of a mode, which finds the tools of plugins; nil if the host offers no tools of its own in that mode. shortens is
// whether results may be shortened.
func NewSet(mode string, plugins []Plugin, shortens bool) *Set {
	s := &Set{mode: mode, shortens: shortens, plugins: plugins, byName: map[string]*gateway.Tool{}, schemas: map[string]func() (*schema.Schema, error){}}
	for _, p := range plugins {
		s.tools = append(s.tools, p.Tools...)
	}
	for i := range s.tools {
		s.byName[s.tools[i].Name] = &s.tools[i]
	}
	s.index = sync.OnceValue(s.newIndex)
	for _, d := range definitions() {
		tool, ok := d.describe(s)
		if !slices.Contains(d.modes, mode) || !ok {
			continue
		}
		tool.Name, tool.Input = d.name, json.RawMessage(d.input)
		s.own = append(s.own, tool)
		s.schemas[d.name] = sync.OnceValues(func() (*schema.Schema, error) { return schema.Compile(tool.Input) })
	}
	if s.own == nil {
		return nil
	}
	return s
}

// Tools returns the host's own tools.
func (s *Set) Tools() []gateway.Tool {
	if s == nil {
		return nil
	}
	return s.own
}

// Has reports whether a name is that of one of the host's own tools.
func (s *Set) Has(name string) bool { return s != nil && s.schemas[name] != nil }

// Instructions returns a text for the client's model that says how to use the tools.
func (s *Set) Instructions() string {
	if s == nil || s.mode == config.ToolsAll {
		return ""
	}
	return fmt.Sprintf("%d tools of this server are not listed: %s finds them.", len(s.tools), Find)
}
