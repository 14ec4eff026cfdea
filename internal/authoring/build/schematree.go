package build

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/base/jsonvalue"
	"github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"
	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

// schemaNode is a JSON object with the order of its members. The values are *schemaNode, []any, string, bool, json.Number or nil.
type schemaNode struct {
	keys   []string
	values map[string]any
}

// parseSchema parses a JSON object.
func parseSchema(raw json.RawMessage) (*schemaNode, error) {
	const maxDepth = 300
	if err := rawjson.Bound(raw, tomlfile.MaxSize, maxDepth); err != nil {
		return nil, err
	}
	if !rawjson.Valid(raw) {
		return nil, errors.New("is not JSON")
	}
	n, ok := parseValue(raw).(*schemaNode)
	if !ok {
		return nil, errors.New("is not an object")
	}
	return n, nil
}

// parseValue parses valid JSON.
func parseValue(raw json.RawMessage) any {
	switch rawjson.Kind(raw) {
	case '{':
		n := &schemaNode{values: map[string]any{}}
		for key, value := range rawjson.Members(raw) {
			n.set(key, parseValue(value))
		}
		return n
	case '[':
		list := []any{}
		for _, item := range rawjson.Elements(raw) {
			list = append(list, parseValue(item))
		}
		return list
	}
	v, _ := jsonvalue.Decode(raw)
	return v
}

func (n *schemaNode) set(key string, value any) {
	if _, ok := n.values[key]; !ok {
		n.keys = append(n.keys, key)
	}
	n.values[key] = value
}

func (n *schemaNode) remove(key string) {
	delete(n.values, key)
	n.keys = slices.DeleteFunc(n.keys, func(k string) bool { return k == key })
}

// node returns the object at key; nil if there is none.
func (n *schemaNode) node(key string) *schemaNode {
	inner, _ := n.values[key].(*schemaNode)
	return inner
}

// MarshalJSON implements json.Marshaler.
func (n *schemaNode) MarshalJSON() ([]byte, error) {
	var out bytes.Buffer
	out.WriteByte('{')
	for i, key := range n.keys {
		if i > 0 {
			out.WriteByte(',')
		}
		value, err := rawjson.Marshal(n.values[key])
		if err != nil {
			return nil, err
		}
		out.Write(rawjson.Quote(key))
		out.WriteByte(':')
		out.Write(value)
	}
	out.WriteByte('}')
	return out.Bytes(), nil
}

// plainSchema removes $comment from a derived schema: its values are only for messages.
func plainSchema(raw json.RawMessage) (json.RawMessage, error) {
	if raw == nil {
		return nil, nil
	}
	n, err := parseSchema(raw)
	if err != nil {
		return nil, err
	}
	n.plain()
	return n.MarshalJSON()
}

func (n *schemaNode) plain() {
	if _, ok := n.values["$comment"].(string); ok {
		n.remove("$comment")
	}
	for _, key := range n.keys {
		inner := n.values[key]
		switch key {
		case "properties", "$defs":
			if all, ok := inner.(*schemaNode); ok {
				for _, name := range all.keys {
					if s, ok := all.values[name].(*schemaNode); ok {
						s.plain()
					}
				}
			}
		case "anyOf":
			list, _ := inner.([]any)
			for _, one := range list {
				if s, ok := one.(*schemaNode); ok {
					s.plain()
				}
			}
		case "items", "additionalProperties", "propertyNames":
			if s, ok := inner.(*schemaNode); ok {
				s.plain()
			}
		}
	}
}

// tables encodes the object as a TOML table at path, with sub-tables for the schemas of properties and definitions.
func (n *schemaNode) tables(path []string) (string, error) {
	var out, below strings.Builder
	header := make([]string, len(path))
	for i, part := range path {
		header[i] = tomlfile.Key(part)
	}
	fmt.Fprintf(&out, "[%s]\n", strings.Join(header, "."))
	for _, key := range n.keys {
		all, ok := n.values[key].(*schemaNode)
		if ok && (key == "properties" || key == "$defs") && len(all.keys) > 0 {
			for _, name := range all.keys {
				one, ok := all.values[name].(*schemaNode)
				if !ok {
					return "", fmt.Errorf("the property %q is not an object", name)
				}
				if len(one.keys) == 0 {
					continue
				}
				text, err := one.tables(append(slices.Clone(path), key, name))
				if err != nil {
					return "", err
				}
				below.WriteString("\n" + text)
			}
			empty := slices.DeleteFunc(slices.Clone(all.keys), func(name string) bool { return len(all.values[name].(*schemaNode).keys) > 0 })
			for _, name := range empty {
				fmt.Fprintf(&below, "\n[%s.%s.%s]\n", strings.Join(header, "."), key, tomlfile.Key(name))
			}
			continue
		}
		text, err := inlineTOML(n.values[key])
		if err != nil {
			return "", fmt.Errorf("%s: %w", key, err)
		}
		fmt.Fprintf(&out, "%s = %s\n", tomlfile.Key(key), text)
	}
	return out.String() + below.String(), nil
}

// inlineTOML encodes a value in one line of TOML.
func inlineTOML(v any) (string, error) {
	switch v := v.(type) {
	case string:
		return tomlfile.Text(v), nil
	case bool:
		return fmt.Sprint(v), nil
	case json.Number:
		return tomlNumber(v)
	case []any:
		items := make([]string, len(v))
		for i, item := range v {
			var err error
			if items[i], err = inlineTOML(item); err != nil {
				return "", err
			}
		}
		return "[" + strings.Join(items, ", ") + "]", nil
	case *schemaNode:
		members := make([]string, len(v.keys))
		for i, key := range v.keys {
			text, err := inlineTOML(v.values[key])
			if err != nil {
				return "", err
			}
			members[i] = tomlfile.Key(key) + " = " + text
		}
		if len(members) == 0 {
			return "{}", nil
		}
		return "{ " + strings.Join(members, ", ") + " }", nil
	}
	return "", errors.New("null cannot be written in TOML: write the schema as JSON, in input_json or output_json")
}

// tomlNumber encodes a number. TOML has no integers beyond 64 bits, and needs a fraction or an exponent in a float.
func tomlNumber(n json.Number) (string, error) {
	if _, err := n.Int64(); err == nil {
		return n.String(), nil
	}
	if _, err := n.Float64(); err != nil {
		return "", fmt.Errorf("the number %s is too large", n)
	}
	if !strings.ContainsAny(n.String(), ".eE") {
		return n.String() + ".0", nil
	}
	return n.String(), nil
}
