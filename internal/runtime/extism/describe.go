package extism

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

// Description is the result of bulkhead/describe for a plugin of hyper-mcp. Prompts, Resources and Completions say whether the plugin
// exports functions for them. A plugin may export functions that return nothing.
type Description struct {
	abi.Description
	Version Version         `json:"version"`
	List    json.RawMessage `json:"list"` // the tools, with their schemas
}

// describe returns the description of a plugin from its list of tools.
func (p Plugin) describe(result []byte) []byte {
	d := Description{Version: p.Version, List: rawjson.Member(result, "tools")}
	if rawjson.Kind(d.List) != '[' {
		d.List = json.RawMessage("[]")
	}
	d.Tools = []string{}
	for _, tool := range rawjson.Elements(d.List) {
		name, _ := rawjson.Unquote(rawjson.Member(tool, "name"))
		d.Tools = append(d.Tools, name)
	}
	if p.Version == V2 {
		d.Prompts = p.Exports(exportListPrompts) || p.Exports(exportGetPrompt)
		d.Resources = p.Exports(exportListResources) || p.Exports(exportReadResource) || p.Exports(exportListTemplates)
		d.Completions = p.Exports(exportComplete)
	}
	out, _ := rawjson.Marshal(d) // strings and valid JSON always encode
	return out
}

// Tool is a tool that a plugin describes.
type Tool struct {
	Name         string          `json:"name"`
	Title        string          `json:"title"`
	Description  string          `json:"description"`
	InputSchema  json.RawMessage `json:"inputSchema"`
	OutputSchema json.RawMessage `json:"outputSchema"`
	Annotations  struct {
		ReadOnly    *bool `json:"readOnlyHint"`
		Destructive *bool `json:"destructiveHint"`
		Idempotent  *bool `json:"idempotentHint"`
		OpenWorld   *bool `json:"openWorldHint"`
	} `json:"annotations"`
}

// Bounds of a description.
const (
	maxTools      = 1000
	maxItemValues = 200_000
)

// ReadTools decodes the list of tools in a description. The list is untrusted.
func ReadTools(list json.RawMessage) ([]Tool, error) {
	if err := rawjson.Bound(list, maxItemValues, maxNesting); err != nil {
		return nil, fmt.Errorf("the list of tools has %w", err)
	}
	var tools []Tool
	for i, raw := range rawjson.Elements(list) {
		if i == maxTools {
			return nil, fmt.Errorf("the plugin has more than %d tools", maxTools)
		}
		var t Tool
		if err := json.Unmarshal(raw, &t); err != nil {
			return nil, fmt.Errorf("tool %d is invalid: %w", i+1, err)
		}
		if key := ambiguous(raw); key != "" {
			return nil, fmt.Errorf("tool %d is ambiguous: %q is a duplicate, or differs from a known member only in case", i+1, key)
		}
		if t.Name == "" {
			return nil, fmt.Errorf("tool %d has no name", i+1)
		}
		tools = append(tools, t)
	}
	return tools, nil
}

// ambiguous returns a key of a tool that encoding/json, which ignores case and takes the last of duplicates, reads differently from clients
// and from people who review the tool. It returns an empty string if there is none.
func ambiguous(tool []byte) string {
	key, _ := rawjson.Ambiguous(tool, "name", "title", "description", "inputSchema", "outputSchema", "annotations")
	if key == "" {
		key, _ = rawjson.Ambiguous(rawjson.Member(tool, "annotations"), "readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")
	}
	return key
}

// ReadNames returns a string member of all items of a list in the result of a method, such as the names of prompts.
func ReadNames(result json.RawMessage, list, member string) ([]string, error) {
	if !rawjson.Valid(result) {
		return nil, errors.New("the result is not JSON")
	}
	var names []string
	if key, _ := rawjson.Ambiguous(result, list); key != "" {
		return nil, fmt.Errorf("the result is ambiguous: %q is a duplicate, or differs from a known member only in case", key)
	}
	for i, item := range rawjson.Elements(rawjson.Member(result, list)) {
		if key, _ := rawjson.Ambiguous(item, member); key != "" {
			return nil, fmt.Errorf("%s[%d] is ambiguous: %q is a duplicate, or differs from a known member only in case", list, i, key)
		}
		name, ok := rawjson.Unquote(rawjson.Member(item, member))
		if !ok || name == "" {
			return nil, fmt.Errorf("%s[%d] has no %s", list, i, member)
		}
		names = append(names, name)
	}
	return names, nil
}
