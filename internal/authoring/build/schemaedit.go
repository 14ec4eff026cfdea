package build

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"reflect"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/authoring/agreement"
	"github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"
)

// editSchema makes the schema at key of the table tools[index] agree with the derived schema, and returns the edited file. If they agree
// already, it returns the file unchanged.
func editSchema(doc *tomlfile.Doc, table *tomlfile.Table, index int, key string, have, derived json.RawMessage, compare comparer) (*tomlfile.Doc, error) {
	want, err := parseSchema(derived)
	if err != nil {
		return nil, err
	}
	if !table.Has(key) && !table.Has(key+"_json") {
		text, err := want.tables([]string{"tools", key})
		if err != nil {
			return nil, err
		}
		return doc.SetSubtable("tools", index, []string{key}, text)
	}
	differences, err := compare(have, derived)
	if err != nil || len(differences) == 0 {
		return doc, err
	}
	old, err := parseSchema(have)
	if err != nil {
		return nil, err
	}
	merged := mergeDifferent(old, want, differences)
	text, err := merged.MarshalJSON()
	if err != nil {
		return nil, err
	}
	if left, err := compare(text, derived); err != nil || len(left) > 0 {
		return nil, errors.Join(errors.New("the schema has keywords that have to be changed by hand"), err)
	}
	for _, part := range []string{"properties", "$defs"} {
		if doc, err = editTables(doc, index, []string{key, part}, old.node(part), merged.node(part)); err != nil {
			return nil, err
		}
	}
	return editKey(doc, index, []string{key}, "required", old.values["required"], merged.values["required"])
}

// mergeDifferent merges the derived schema into that of the author. It changes only the properties and definitions that disagree.
func mergeDifferent(old, want *schemaNode, differences []agreement.Difference) *schemaNode {
	disagrees := func(part, name string) bool {
		return slices.ContainsFunc(differences, func(d agreement.Difference) bool {
			return len(d.Path) > 1 && d.Path[0] == part && d.Path[1] == name
		})
	}
	out := merge(old, want)
	for _, part := range []string{"properties", "$defs"} {
		before, after := old.node(part), out.node(part)
		if before == nil || after == nil {
			continue
		}
		for _, name := range before.keys {
			if after.values[name] != nil && !disagrees(part, name) {
				after.set(name, before.values[name])
			}
		}
	}
	// A name that the author does not require stays optional, unless its property is new.
	required, listed := out.values["required"].([]any)
	names, _ := old.values["required"].([]any)
	declared := old.node("properties")
	required = slices.DeleteFunc(slices.Clone(required), func(v any) bool {
		return !slices.Contains(names, v) && declared != nil && declared.values[fmt.Sprint(v)] != nil
	})
	if listed {
		out.set("required", required)
	}
	for _, key := range out.keys {
		if key != "properties" && key != "$defs" && key != "required" {
			if v, ok := old.values[key]; ok {
				out.set(key, v)
			}
		}
	}
	return out
}

// editTables sets the schemas in properties or $defs to those of after.
func editTables(doc *tomlfile.Doc, index int, path []string, before, after *schemaNode) (*tomlfile.Doc, error) {
	if before == nil {
		before = &schemaNode{}
	}
	if after == nil {
		after = &schemaNode{}
	}
	for _, name := range after.keys {
		var err error
		if doc, err = editProperty(doc, index, append(slices.Clone(path), name), before.values[name], after.values[name]); err != nil {
			return nil, err
		}
	}
	for _, name := range before.keys {
		if after.values[name] == nil {
			var err error
			if doc, err = doc.SetSubtable("tools", index, append(slices.Clone(path), name), ""); err != nil {
				return nil, err
			}
		}
	}
	return doc, nil
}

// editKey sets a keyword at the top of a schema.
func editKey(doc *tomlfile.Doc, index int, path []string, key string, before, after any) (*tomlfile.Doc, error) {
	list, _ := after.([]any)
	if reflect.DeepEqual(before, after) || before == nil && len(list) == 0 {
		return doc, nil
	}
	text, err := inlineTOML(after)
	if err != nil {
		return nil, err
	}
	return doc.SetSubtableKey("tools", index, path, key, text)
}

// editProperty sets the schema of a property.
func editProperty(doc *tomlfile.Doc, index int, path []string, before, after any) (*tomlfile.Doc, error) {
	node, ok := after.(*schemaNode)
	if !ok || reflect.DeepEqual(before, after) {
		return doc, nil
	}
	text, err := node.tables(append([]string{"tools"}, path...))
	if err != nil {
		return nil, err
	}
	return doc.SetSubtable("tools", index, path, text)
}

// merge returns the derived schema want with the titles, descriptions, narrower bounds and the order of properties of the author's schema
// old. If the type differs, only the title and the description of old are kept.
func merge(old, want *schemaNode) *schemaNode {
	if len(want.keys) == 0 {
		return old
	}
	if !reflect.DeepEqual(old.values["type"], want.values["type"]) || old.values["type"] == nil {
		out := &schemaNode{values: map[string]any{}}
		for _, key := range []string{"title", "description"} {
			if v, ok := old.values[key]; ok {
				out.set(key, v)
			}
		}
		for _, key := range want.keys {
			if _, ok := out.values[key]; !ok {
				out.set(key, want.values[key])
			}
		}
		return out
	}
	out := &schemaNode{values: map[string]any{}}
	for _, key := range old.keys {
		out.set(key, old.values[key])
	}
	for _, key := range want.keys {
		have, ok := old.values[key]
		if !ok {
			out.set(key, want.values[key])
			continue
		}
		out.set(key, mergeKeyword(key, have, want.values[key], want))
	}
	if names, ok := old.values["required"].([]any); ok && want.values["required"] == nil {
		out.set("required", mergeRequired(names, nil, want))
	}
	if _, closed := want.values["properties"]; !closed && want.values["additionalProperties"] == false {
		out.remove("properties")
	}
	return out
}

func mergeKeyword(key string, have, want any, schema *schemaNode) any {
	oldNode, oldOK := have.(*schemaNode)
	newNode, newOK := want.(*schemaNode)
	switch key {
	case "properties", "$defs":
		if oldOK && newOK {
			return mergeProperties(oldNode, newNode, schema.values["additionalProperties"] == false)
		}
	case "items", "additionalProperties":
		if oldOK && newOK {
			return merge(oldNode, newNode)
		}
		if key == "additionalProperties" && want == false {
			return have // a schema that allows further members agrees with a struct
		}
	case "required":
		oldNames, _ := have.([]any)
		newNames, _ := want.([]any)
		return mergeRequired(oldNames, newNames, schema)
	case "enum":
		oldValues, _ := have.([]any)
		newValues, _ := want.([]any)
		kept := slices.DeleteFunc(slices.Clone(oldValues), func(v any) bool {
			return !slices.ContainsFunc(newValues, func(w any) bool { return reflect.DeepEqual(v, w) })
		})
		if len(kept) > 0 {
			return kept
		}
	case "minimum", "exclusiveMinimum", "minLength", "minItems":
		return narrower(have, want, 1)
	case "maximum", "exclusiveMaximum", "maxLength", "maxItems":
		return narrower(have, want, -1)
	case "title", "description", "default", "pattern", "format", "examples":
		return have
	}
	return want
}

func narrower(have, want any, sign int) any {
	a, _ := have.(json.Number)
	b, _ := want.(json.Number)
	x, okX := new(big.Float).SetString(a.String())
	y, okY := new(big.Float).SetString(b.String())
	if okX && okY && x.Cmp(y)*sign >= 0 {
		return have
	}
	return want
}

// mergeProperties merges properties in the order of old, with new ones after them.
func mergeProperties(old, want *schemaNode, closed bool) *schemaNode {
	out := &schemaNode{values: map[string]any{}}
	for _, name := range old.keys {
		i := slices.IndexFunc(want.keys, func(other string) bool { return strings.EqualFold(name, other) })
		if i < 0 {
			if !closed {
				out.set(name, old.values[name])
			}
			continue
		}
		have, oldOK := old.values[name].(*schemaNode)
		derived, newOK := want.values[want.keys[i]].(*schemaNode)
		if oldOK && newOK {
			out.set(name, merge(have, derived))
		} else {
			out.set(name, want.values[want.keys[i]])
		}
	}
	for _, name := range want.keys {
		if !slices.ContainsFunc(out.keys, func(other string) bool { return strings.EqualFold(name, other) }) {
			out.set(name, want.values[name])
		}
	}
	return out
}

// mergeRequired returns the names that the author or the type requires, except for those without a field.
func mergeRequired(old, want []any, schema *schemaNode) []any {
	out := []any{}
	for _, v := range append(slices.Clone(old), want...) {
		name, _ := v.(string)
		properties := schema.node("properties")
		isField := properties != nil && slices.ContainsFunc(properties.keys, func(other string) bool { return strings.EqualFold(name, other) })
		isListed := slices.ContainsFunc(out, func(other any) bool { return strings.EqualFold(name, other.(string)) })
		if isField && !isListed {
			out = append(out, v)
		}
	}
	return out
}
