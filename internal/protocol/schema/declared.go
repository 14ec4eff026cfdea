package schema

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
	"github.com/bulkhead-mcp/bulkhead/internal/base/visible"
	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

// Undeclared is an argument that a schema does not declare. Most schemas permit such arguments, and most tools ignore them, so a misspelled
// optional argument has no effect and causes no error.
type Undeclared struct {
	Name    string `json:"name"`                   // truncated if it is long
	Nearest string `json:"did_you_mean,omitempty"` // the declared name that Name is most likely a misspelling of
}

// maxUndeclared is the maximum number of undeclared arguments that are reported.
const maxUndeclared = 8

// declaredBy returns the names of the properties that the schema root declares, itself or in a subschema for the same instance. Names in a
// subschema that applies only to some instances count, too. It returns nil if root declares no properties, or says which further ones it
// permits: then no name is undeclared.
func declaredBy(root *node) map[string]bool {
	var names map[string]bool
	seen, open := map[*node]bool{}, false
	var add func(n *node)
	add = func(n *node) {
		if n == nil || seen[n] {
			return
		}
		seen[n] = true
		open = open || permits(n.unevaluatedProperties)
		subschemas := slices.Clone(n.refs)
		if r := n.object; r != nil {
			open = open || len(r.patternProperties) > 0 || permits(r.additionalProperties)
			if names == nil && r.properties != nil {
				names = map[string]bool{}
			}
			for name := range r.properties {
				names[name] = true
			}
			for _, dependent := range r.dependentSchemas {
				subschemas = append(subschemas, dependent.node)
			}
		}
		if a := n.applicators; a != nil {
			subschemas = slices.Concat(subschemas, a.allOf, a.anyOf, a.oneOf, []*node{a.not, a.condition, a.then, a.other})
		}
		for _, subschema := range subschemas {
			add(subschema)
		}
	}
	add(root)
	if open {
		return nil
	}
	return names
}

// permits reports whether a schema for further properties is set and permits any.
func permits(n *node) bool { return n != nil && (n.boolean == nil || *n.boolean) }

// undeclared returns the Undeclared of names that s does not declare.
func (s *Schema) undeclared(names []string) []Undeclared {
	if len(names) == 0 {
		return nil
	}
	slices.Sort(names)
	declared := slices.Sorted(maps.Keys(s.declared))
	var out []Undeclared
	for _, name := range names {
		out = append(out, Undeclared{Name: visible.Truncate(name, visible.MaxName), Nearest: usage.Nearest(name, declared)})
	}
	return out
}

// Undeclared returns the arguments that s does not declare. raw is a JSON object that need not match s. Nothing is decoded: Undeclared makes
// one pass, which allocates nothing unless it finds an undeclared argument.
func (s *Schema) Undeclared(raw json.RawMessage) []Undeclared {
	if s.declared == nil {
		return nil
	}
	var names []string
	rawjson.NewScanner(raw).Object(func(key []byte) {
		if !s.declared[string(key)] && len(names) < maxUndeclared {
			names = append(names, string(key))
		}
	})
	return s.undeclared(names)
}

// undeclaredIn is Undeclared for a decoded value. A map has no order, so that of too many names those that sort first are reported.
func (s *Schema) undeclaredIn(v any) []Undeclared {
	object, _ := v.(map[string]any)
	if s.declared == nil {
		return nil
	}
	var names []string
	for name := range object {
		if i, _ := slices.BinarySearch(names, name); i < maxUndeclared && !s.declared[name] {
			names = slices.Insert(names[:min(len(names), maxUndeclared-1)], i, name)
		}
	}
	return s.undeclared(names)
}
