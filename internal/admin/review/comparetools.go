package review

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
)

func (c *comparison) tools() {
	for _, t := range c.new.Tools {
		was, found := c.old.Tool(t.Name)
		key := "tools." + t.Name
		if found {
			c.tool(key, was, t)
			continue
		}
		words := "a new tool"
		if t.Write {
			words = "a new tool, which writes"
		}
		if former := c.formerName(t); former != "" {
			words += "; perhaps the former " + former + ", which configs allow or deny by that name"
		}
		c.changes = append(c.changes, Change{Key: key, Words: words, New: t.Description, More: true})
	}
	for _, t := range c.old.Tools {
		if _, found := c.new.Tool(t.Name); !found {
			c.add("tools."+t.Name, false, "the tool was removed")
		}
	}
}

// formerName returns the name of the removed tool that a new one seems to be, with the same access, arguments and results; empty if there is
// none, or more than one. Filters of configs go by names, so that the tool counts as new nevertheless.
func (c *comparison) formerName(t manifest.Tool) string {
	former := ""
	for _, old := range c.old.Tools {
		if _, kept := c.new.Tool(old.Name); kept || old.Write != t.Write || !bytes.Equal(old.Input, t.Input) || !bytes.Equal(old.Output, t.Output) {
			continue
		}
		if former != "" {
			return ""
		}
		former = old.Name
	}
	return former
}

func (c *comparison) tool(key string, old, new manifest.Tool) {
	switch {
	case new.Write && !old.Write:
		c.add(key+".access", true, "writes, and was read-only")
	case old.Write && !new.Write:
		// Only the author declares whether a tool is read-only, and read_only in the config relies on that declaration.
		c.add(key+".access", true, "is now declared read-only, but was a tool that writes: read_only would no longer withhold it")
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
	c.schema(key+".returns", "the schema of what scripts get", old.Returns, new.Returns)
	c.text(key+".args", "how a call runs the program", runText(old), runText(new), false)
	c.text(key+".task", "whether its calls run as tasks", taskText(old), taskText(new), false)
	c.text(key+".failure", "the text of failures", old.Failure, new.Failure, false)
	c.text(key+".meta", "its meta", string(old.Meta), string(new.Meta), false)
}

// taskText returns how calls of a tool run as tasks; empty if they do not.
func taskText(t manifest.Tool) string {
	if t.AsksFirst {
		return string(t.Task) + ", after the first questions"
	}
	return string(t.Task)
}

// runText returns how a call of a tool runs the program as JSON; empty if the module is no program.
func runText(t manifest.Tool) string {
	text, err := json.Marshal(t.Command)
	if err != nil || string(text) == "{}" {
		return ""
	}
	return string(text)
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

// schema adds a Change if the schemas old and new differ. The Change lists the properties that differ.
func (c *comparison) schema(key, what string, old, new json.RawMessage) {
	if bytes.Equal(old, new) {
		return
	}
	before := len(c.changes)
	c.text(key, what, string(old), string(new), false)
	if parts := properties(old, new); len(c.changes) > before && len(old) > 0 && len(new) > 0 && parts != "" {
		c.changes[before].Words += ": " + parts
	}
}

// properties lists the added, removed and changed properties of a schema.
func properties(old, new json.RawMessage) string {
	was, is := propertiesOf(old), propertiesOf(new)
	var added, removed, changed []string
	for _, name := range slices.Sorted(maps.Keys(is)) {
		switch before, found := was[name]; {
		case !found:
			added = append(added, name)
		case !bytes.Equal(before, is[name]):
			changed = append(changed, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(was)) {
		if _, found := is[name]; !found {
			removed = append(removed, name)
		}
	}
	var parts []string
	for _, part := range []struct {
		words string
		names []string
	}{{"adds", added}, {"removes", removed}, {"changes", changed}} {
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
	_ = json.Unmarshal(schema, &s) // a schema that is not an object has no properties
	return s.Properties
}
