package catalog

import (
	"encoding/json"
	"fmt"

	"github.com/bulkhead-mcp/bulkhead/internal/protocol/call"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

// List is a list that plugins supply at call time, such as the list of prompts.
type List struct {
	listKind
	method string
	claims *claims
	alone  bool // whether the server has the identity that the manifest of its only plugin defines
}

// listKind describes one kind of list.
type listKind struct {
	member    string // member of the result that contains the list
	key       string // member of an item with the name or URI that identifies the item
	belongsTo func(c *claims, p *Plugin, key string) bool
}

var listKinds = map[string]listKind{
	abi.MethodPromptsList:            {"prompts", "name", (*claims).hasPrompt},
	abi.MethodResourcesList:          {"resources", "uri", (*claims).Serves},
	abi.MethodResourcesTemplatesList: {"resourceTemplates", "uriTemplate", (*claims).Serves},
	call.MethodSkillsList:            {"skills", "uri", nil},
	call.MethodDirectoryRead:         {"resources", "uri", nil},
}

// List returns the list of a method.
func (c *Catalog) List(method string) List {
	return List{listKinds[method], method, &c.claims, c.speaksForItself()}
}

// Plugins returns the plugins that have such a list, in the order of the config. The slice must not be modified.
func (l List) Plugins() []*Plugin {
	if l.method == abi.MethodPromptsList {
		return l.claims.prompts
	}
	return l.claims.resources
}

// Part is the part of a list that comes from one plugin.
type Part struct {
	Plugin *Plugin
	items  []item
}

// item is an entry of a list.
type item struct {
	key string
	raw []byte
}

// Part parses a plugin's response, which is its complete list, and retains the items that the plugin may offer. If the response
// cannot be used, invalid is the reason.
func (l List) Part(p *Plugin, result json.RawMessage) (part Part, invalid string) {
	part.Plugin = p
	list := rawjson.Member(result, l.member)
	if rawjson.Kind(list) != '[' {
		return part, l.member + " is not an array"
	}
	left, first := 0, ""
	for i, raw := range rawjson.Elements(list) {
		key, _ := rawjson.Unquote(rawjson.Member(raw, l.key))
		why := checkItem(raw)
		if why == "" && key == "" {
			why = l.key + " is missing"
		}
		switch {
		case why != "":
			return Part{Plugin: p}, fmt.Sprintf("%s[%d]: %s", l.member, i, why)
		case l.belongsTo(l.claims, p, key):
			if raw, hidden := sanitize(raw, l.key); !hidden {
				part.items = append(part.items, item{key, raw})
			} else if left++; left == 1 {
				first = key
			}
		}
	}
	if left > 0 {
		p.Log.Warn("items of the plugin have a name or URI with invisible characters and are not listed", "method", l.method, "items", left,
			"first", fmt.Sprintf("%.128q", first))
	}
	return part, ""
}

// Page merges the parts of the plugins and returns the page that begins at the client's cursor, which may be nil. It
// modifies parts.
func (l List) Page(parts []Part, cursor json.RawMessage) (json.RawMessage, error) {
	l.removeDuplicates(parts)
	return l.page(parts, cursor)
}

// removeDuplicates removes items that an earlier plugin has too, since requests for them go to the earlier plugin.
func (l List) removeDuplicates(parts []Part) {
	owner := map[string]string{}
	for i, p := range parts {
		kept := p.items[:0]
		duplicates, first := 0, ""
		for _, it := range p.items {
			if _, taken := owner[it.key]; taken {
				if duplicates++; duplicates == 1 {
					first = it.key
				}
				continue
			}
			owner[it.key] = p.Plugin.Name
			kept = append(kept, it)
		}
		parts[i].items = kept
		if duplicates > 0 {
			p.Plugin.Log.Warn("items of the plugin are duplicates of another plugin's and are not listed", "method", l.method,
				"items", duplicates, "first", fmt.Sprintf("%.128q", first), "of", owner[first])
		}
	}
}
