package review

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/host/manifest"
)

func (c *comparing) tools() {
	for _, t := range c.new.Tools {
		was, found := c.old.Tool(t.Name)
		key := "tools." + t.Name
		switch {
		case !found && t.Write:
			c.changes = append(c.changes, Change{Key: key, Words: "a new tool, which writes", New: t.Description, More: true})
		case !found:
			c.changes = append(c.changes, Change{Key: key, Words: "a new tool", New: t.Description, More: true})
		default:
			c.tool(key, was, t)
		}
	}
	for _, t := range c.old.Tools {
		if _, found := c.new.Tool(t.Name); !found {
			c.add("tools."+t.Name, false, "the tool is gone")
		}
	}
}

func (c *comparing) tool(key string, old, new manifest.Tool) {
	switch {
	case new.Write && !old.Write:
		c.add(key+".access", true, "writes, and only read")
	case old.Write && !new.Write:
		// Its author's word is all there is, and read_only rests on it.
		c.add(key+".access", true, "is said to only read, and wrote: read_only would no longer withhold it")
	}
	if old.Hidden && !new.Hidden {
		c.add(key+".alone", true, "is offered when the plugin is served alone")
	} else if new.Hidden && !old.Hidden {
		c.add(key+".alone", false, "is no longer offered when the plugin is served alone")
	}
	c.text(key+".title", "the title", old.Title, new.Title, false)
	c.text(key+".description", "the description", old.Description, new.Description, false)
	for _, hint := range []struct {
		name     string
		old, new *bool
	}{{"destructive", old.Destructive, new.Destructive}, {"idempotent", old.Idempotent, new.Idempotent}, {"open_world", old.OpenWorld, new.OpenWorld}} {
		c.text(key+"."+hint.name, "the hint "+hint.name, hintText(hint.old), hintText(hint.new), false)
	}
	c.schema(key+".input", "the schema of its arguments", old.Input, new.Input)
	c.schema(key+".output", "the schema of its results", old.Output, new.Output)
	c.text(key+".failure", "how a failure of the host's reads", old.Failure, new.Failure, false)
	c.text(key+".meta", "its meta", string(old.Meta), string(new.Meta), false)
}

func hintText(b *bool) string {
	switch {
	case b == nil:
		return ""
	case *b:
		return "true"
	}
	return "false"
}

// schema reports a schema that is another, and the properties in which it is.
func (c *comparing) schema(key, what string, old, new json.RawMessage) {
	if bytes.Equal(old, new) {
		return
	}
	before := len(c.changes)
	c.text(key, what, string(old), string(new), false)
	if parts := properties(old, new); len(c.changes) > before && len(old) > 0 && len(new) > 0 && parts != "" {
		c.changes[before].Words += ": " + parts
	}
}

// properties says which properties of a schema came, went and changed.
func properties(old, new json.RawMessage) string {
	was, is := propertiesOf(old), propertiesOf(new)
	var came, went, changed []string
	for _, name := range slices.Sorted(maps.Keys(is)) {
		switch before, found := was[name]; {
		case !found:
			came = append(came, name)
		case !bytes.Equal(before, is[name]):
			changed = append(changed, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(was)) {
		if _, found := is[name]; !found {
			went = append(went, name)
		}
	}
	var parts []string
	for _, part := range []struct {
		words string
		names []string
	}{{"with", came}, {"without", went}, {"with other", changed}} {
		if len(part.names) > 0 {
			parts = append(parts, part.words+" "+strings.Join(part.names, ", "))
		}
	}
	return strings.Join(parts, "; ")
}

func propertiesOf(schema json.RawMessage) map[string]json.RawMessage {
	var s struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	_ = json.Unmarshal(schema, &s) // a schema that is no object has none
	return s.Properties
}
