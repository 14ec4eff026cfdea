package build

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/authoring/agreement"
	"github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// compareSchemas reports differences between the schemas of the manifest and those that the module derives from the types of its handlers.
func (s *source) compareSchemas(derived map[string]abi.ToolSchemas) tomlfile.Problems {
	var all []schemaDifference
	users := map[string]int{} // by the type of the arguments: number of tools
	unset := map[string]int{} // by that type and a field: number of tools that never set the field
	for i, table := range s.doc.Root().Tables("tools") {
		if i >= len(s.m.Tools) {
			break
		}
		tool := s.m.Tools[i]
		types := derived[tool.Name]
		users[string(types.Input)]++
		if types.Error != "" {
			all = append(all, schemaDifference{Problem: tomlfile.Problem{Line: table.LineOf("name"), Key: table.Path("name"),
				What: "the types of the tool's handler cannot be used: " + types.Error, Remedy: "change the type, or handle json.RawMessage"}})
		}
		in := s.compareSchema(table, tool, "input", tool.Input, types.Input, agreement.Input)
		for j := range in {
			if in[j].unset != "" {
				in[j].arguments, in[j].unset = string(types.Input), string(types.Input)+" "+in[j].unset
				unset[in[j].unset]++
			}
		}
		all = append(append(all, in...), s.compareSchema(table, tool, "output", tool.Output, types.Output, agreement.Output)...)
	}
	var ps tomlfile.Problems
	for _, d := range all {
		if d.unset == "" || unset[d.unset] == users[d.arguments] { // otherwise another tool with this type sets the field
			d.File = s.file
			ps = append(ps, d.Problem)
		}
	}
	return ps
}

// schemaDifference is a difference between a schema and a type.
type schemaDifference struct {
	tomlfile.Problem
	arguments string // derived schema of the arguments, which identifies their type
	unset     string // arguments and a field that is never set; empty for any other difference
}

type comparer func(manifest, derived json.RawMessage) ([]agreement.Difference, error)

// compareSchema reports the differences between have, the schema of the manifest at key, and derived.
func (s *source) compareSchema(t *tomlfile.Table, tool manifest.Tool, key string, have, derived json.RawMessage, compare comparer) []schemaDifference {
	if have == nil || derived == nil {
		return nil
	}
	differences, err := compare(have, derived)
	var out []schemaDifference
	for _, d := range differences {
		p := schemaProblem(t, key, d.Path)
		p.What, p.Remedy = d.What, fmt.Sprintf("%s; `bulkhead plugin schema %s --write` makes the schemas follow the types", d.Remedy, s.dir)
		out = append(out, schemaDifference{Problem: p, unset: d.Unset})
	}
	if err != nil {
		p := schemaProblem(t, key, nil)
		p.What, p.Warning = err.Error(), true
		p.Remedy = fmt.Sprintf("see `bulkhead plugin schema %s --tool %s`", s.dir, tool.Name)
		out = append(out, schemaDifference{Problem: p})
	}
	return out
}

// schemaProblem returns a problem with the line and the key of a path in the schema at key of a tool.
func schemaProblem(tool *tomlfile.Table, key string, path []string) tomlfile.Problem {
	if !tool.Has(key) {
		if asText := key + "_json"; tool.Has(asText) {
			p := tomlfile.Problem{Line: tool.LineOf(asText), Key: tool.Path(asText)}
			if len(path) > 0 {
				p.Key += " /" + strings.Join(path, "/")
			}
			return p
		}
		return tomlfile.Problem{Line: tool.Line(), Key: tool.Path(key)}
	}
	t := tool
	for len(path) > 0 && t.Has(key) && !t.IsArray(key) {
		inner := t.Table(key)
		if !inner.Present() || !inner.Has(path[0]) {
			break
		}
		t, key, path = inner, path[0], path[1:]
	}
	p := tomlfile.Problem{Line: t.LineOf(key), Key: t.Path(key)}
	for _, part := range path {
		if _, err := strconv.Atoi(part); err == nil {
			p.Key += "[" + part + "]"
		} else {
			p.Key += "." + tomlfile.Key(part)
		}
	}
	return p
}
