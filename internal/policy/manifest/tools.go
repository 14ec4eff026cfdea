package manifest

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/call"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/paramheader"
)

// IsToolName reports whether name is a valid tool name in MCP.
func IsToolName(name string) bool {
	return name != "" && len(name) <= 128 && consistsOf(name, lower+upper+digits+"_.-")
}

// maxPortableName is the length up to which all known clients accept a tool name.
const maxPortableName = 64

// PortableNames is the remedy for a tool name that IsPortableName refuses.
const PortableNames = "use at most 64 of A to Z, a to z, 0 to 9, _ and -"

// IsPortableName reports whether all known clients accept the tool name. If a name is longer or contains a dot, many clients leave out
// the tool or reject the whole server. MCP allows such names, but the APIs of model providers do not.
func IsPortableName(name string) bool {
	return name != "" && len(name) <= maxPortableName && consistsOf(name, lower+upper+digits+"_-")
}

// anyObject is the input schema of a tool whose manifest states none.
var anyObject = json.RawMessage(`{"type":"object"}`)

func (m *Manifest) readTools(tables []*tomlfile.Table) {
	lines := make(map[string]int, len(tables))
	for _, t := range tables {
		tool := readTool(t)
		m.readCommand(t, &tool)
		if first, ok := lines[tool.Name]; ok && tool.Name != "" {
			t.Fault("name", fmt.Sprintf("%s is already the name of the tool in line %d", tomlfile.Quote(tool.Name), first),
				"give each tool a unique name")
		} else {
			lines[tool.Name] = t.LineOf("name")
		}
		m.Tools = append(m.Tools, tool)
	}
}

func readTool(t *tomlfile.Table) Tool {
	tool := Tool{
		Name:        t.Required("name", `write name = "…"`),
		Title:       t.String("title"),
		Description: t.Required("description", `write description = "…": models choose tools by it`),
		Destructive: t.BoolPtr("destructive"),
		Idempotent:  t.BoolPtr("idempotent"),
		OpenWorld:   t.BoolPtr("open_world"),
		Hidden:      !t.Bool("alone", true),
		Failure:     readFailure(t),
		Input:       readSchema(t, "input"),
		Output:      readSchema(t, "output"),
		Returns:     readReturns(t),
		Meta:        readable(t, "meta", t.JSON("meta")),
		Line:        t.Line(),
	}
	if tool.Name != "" && !IsToolName(tool.Name) {
		t.Fault("name", fmt.Sprintf("%s is not a valid tool name", tomlfile.Quote(tool.Name)),
			"use 1 to 128 of A to Z, a to z, 0 to 9, _, - and .")
	}
	checkProse(t, "title", tool.Title)
	checkProse(t, "description", tool.Description)
	if tool.Input == nil {
		tool.Input = anyObject
	}
	if _, err := paramheader.Find(tool.Input); err != nil {
		key := "input"
		if !t.Has(key) {
			key = "input_json"
		}
		t.Fault(key, err.Error(), "correct or remove it: clients refuse the tool otherwise")
	}
	// The key access has no default, because read-only policies depend on it.
	if !t.Has("access") {
		t.Fault("access", "is missing", `write access = "read", or "write" if the tool changes anything`)
	}
	if t.Has("task") {
		tool.Task = Task(t.OneOf("task", string(TaskOptional), string(TaskRequired)))
	}
	tool.AsksFirst = t.Bool("asks_first", false)
	if tool.AsksFirst && tool.Task == TaskNever {
		t.Fault("asks_first", "has no effect without task", `write task = "optional" or "required", or remove it`)
	}
	tool.Write = t.OneOf("access", "read", "write") == "write"
	return tool
}

// readSchema returns the schema of an object at key, or the one that the key with the suffix _json has as a JSON string; nil if both are
// absent.
func readSchema(t *tomlfile.Table, key string) json.RawMessage {
	raw, from := schemaAt(t, key)
	isObject := t.StringAt(key, "type") == "object" || from != key && isObjectSchema(raw)
	if raw != nil && !isObject {
		t.Fault(from, "is not the schema of an object, which MCP requires here", `write type = "object" at its top level`)
		return raw
	}
	checkProseIn(t, from, raw)
	return readable(t, from, raw)
}

// readReturns returns the schema of what a script gets of a call; nil if absent.
func readReturns(t *tomlfile.Table) json.RawMessage {
	raw, from := schemaAt(t, "returns")
	if raw != nil && (t.Has("output") || t.Has("output_json")) {
		t.Fault(from, "conflicts with output, which already has the schema of the result", "keep output")
	}
	checkProseIn(t, from, raw)
	return readable(t, from, raw)
}

// schemaAt returns the value of a schema, unchecked, and the key that has it.
func schemaAt(t *tomlfile.Table, key string) (raw json.RawMessage, from string) {
	asText := key + "_json"
	if t.Has(key) && t.Has(asText) {
		t.Fault(asText, fmt.Sprintf("conflicts with %s", key), "keep one of the two")
	}
	if !t.Has(asText) {
		return t.JSON(key), key
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, []byte(t.String(asText))); err != nil {
		t.Fault(asText, fmt.Sprintf("is not JSON: %v", err), "write a JSON object")
		return nil, asText
	}
	return compact.Bytes(), asText
}

// readable returns the object at key, which is part of the list of tools, unless it would end the parsers of clients, and so the list.
func readable(t *tomlfile.Table, key string, object json.RawMessage) json.RawMessage {
	if object == nil {
		return nil
	}
	if why := call.Normalize(object); why != "" {
		t.Fault(key, "cannot be read by all clients: "+why, "nest it less deep, and keep numbers in the range of 64-bit floats")
		return nil
	}
	return object
}

// isObjectSchema decodes into a map, because decoding into a struct would ignore the case of keys.
func isObjectSchema(raw json.RawMessage) bool {
	var top map[string]json.RawMessage
	return json.Unmarshal(raw, &top) == nil && string(top["type"]) == `"object"`
}
