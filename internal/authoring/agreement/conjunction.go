package agreement

import (
	"maps"
	"slices"
	"strconv"
)

// place is a schema of the manifest with its path.
type place struct {
	schema any // an object or a boolean
	path   []string
}

func (p place) at(keys ...string) []string { return append(slices.Clone(p.path), keys...) }

// member returns the schema of a keyword.
func (p place) member(keys ...string) place {
	v := p.schema
	for _, key := range keys {
		m, _ := v.(map[string]any)
		v = m[key]
	}
	return place{v, p.at(keys...)}
}

// items returns the schemas in the array of a keyword.
func (p place) items(key string) []place {
	m, _ := p.schema.(map[string]any)
	all, _ := m[key].([]any)
	var out []place
	for i, v := range all {
		out = append(out, place{v, p.at(key, strconv.Itoa(i))})
	}
	return out
}

// conjunction is a set of schemas that all apply to the same value, with those that $ref and allOf add.
type conjunction struct {
	first   place
	all     []keywords
	opaque  bool // there are keywords that restrict the value in a way that is not understood
	refuses bool // a schema is false
}

// keywords are the keywords of one schema.
type keywords struct {
	place
	m map[string]any
}

// expand collects the schemas that apply.
func (c *comparison) expand(at []place) conjunction {
	out := conjunction{first: at[0]}
	open := slices.Clone(at)
	seen := map[string]bool{} // paths, so that references that form a cycle end
	for len(open) > 0 {
		c.step()
		p := open[0]
		open = open[1:]
		if p.schema == false {
			out.refuses = true
		}
		m, ok := p.schema.(map[string]any)
		if !ok {
			continue
		}
		if ref, ok := m["$ref"].(string); ok {
			target := lookup(c.manifest, ref)
			switch {
			case target == nil:
				out.opaque = true
			case !seen[ref]:
				seen[ref] = true
				open = append(open, place{target, tokens(ref[1:])})
			}
		}
		for _, key := range []string{"not", "if", "$dynamicRef", "$recursiveRef"} {
			if _, has := m[key]; has {
				out.opaque = true
			}
		}
		open = append(open, p.items("allOf")...)
		out.all = append(out.all, keywords{p, m})
	}
	return out
}

// branches returns the schemas of the keywords that apply conditionally.
func (k keywords) branches() []place {
	out := append(k.items("anyOf"), k.items("oneOf")...)
	for _, key := range []string{"then", "else"} {
		if _, ok := k.m[key]; ok {
			out = append(out, k.member(key))
		}
	}
	if dependent, ok := k.m["dependentSchemas"].(map[string]any); ok {
		for _, name := range slices.Sorted(maps.Keys(dependent)) {
			out = append(out, k.member("dependentSchemas", name))
		}
	}
	return out
}

// branch separates the branches of an anyOf or oneOf from the other keywords. single reports whether there is exactly one such keyword. If
// there are several, branch marks j as opaque.
func (j *conjunction) branch() (base, branches []place, single bool) {
	groups := 0
	for _, k := range j.all {
		rest := maps.Clone(k.m)
		delete(rest, "allOf") // expand has added these
		delete(rest, "$ref")
		for _, key := range []string{"anyOf", "oneOf"} {
			if _, ok := rest[key]; ok {
				groups++
				branches = k.items(key)
				delete(rest, key)
			}
		}
		base = append(base, place{rest, k.path})
	}
	j.opaque = j.opaque || groups > 1
	return base, branches, groups == 1
}

// typesOf returns the types of the values that the schemas accept.
func (c *comparison) typesOf(j conjunction) types {
	c.step()
	c.depth++
	defer func() { c.depth-- }()
	if j.refuses {
		return 0
	}
	accepted := types(anyType)
	for _, k := range j.all {
		switch t := k.m["type"].(type) {
		case string:
			accepted &= typesOf(t)
		case []any:
			some := types(0)
			for _, name := range t {
				name, _ := name.(string)
				some |= typesOf(name)
			}
			accepted &= some
		}
		if values, ok := k.values(); ok {
			some := types(0)
			for _, v := range values {
				some |= typeOfValue(v)
			}
			accepted &= some
		}
		for _, key := range []string{"anyOf", "oneOf"} {
			if branches := k.items(key); len(branches) > 0 {
				some := types(0)
				for _, b := range branches {
					some |= c.typesOf(c.expand([]place{b}))
				}
				accepted &= some
			}
		}
	}
	return accepted
}

// values returns the values of enum or const. found reports whether there is such a keyword.
func (k keywords) values() (values []any, found bool) {
	if v, ok := k.m["const"]; ok {
		return []any{v}, true
	}
	values, found = k.m["enum"].([]any)
	return values, found
}

// values returns the values of the first enum or const, and its place.
func (j conjunction) values() (values []any, at []string, found bool) {
	for _, k := range j.all {
		if values, found = k.values(); found {
			key := "enum"
			if _, ok := k.m["const"]; ok {
				key = "const"
			}
			return values, k.at(key), true
		}
	}
	return nil, nil, false
}

// variants are the schemas of a property: those that always apply, and each of those that apply in a branch.
type variants struct {
	name     string
	always   []place
	branches []place
}

// combined returns the sets of schemas that can apply to the property together.
func (v variants) combined() [][]place {
	if len(v.branches) == 0 {
		return [][]place{v.always}
	}
	var out [][]place
	for _, b := range v.branches {
		out = append(out, append(slices.Clone(v.always), b))
	}
	return out
}

// properties returns the properties that the schemas declare, sorted by name.
func (c *comparison) properties(j conjunction) []variants {
	byName := map[string]*variants{}
	c.collect(j, byName, false)
	var out []variants
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		out = append(out, *byName[name])
	}
	return out
}

func (c *comparison) collect(j conjunction, into map[string]*variants, inBranch bool) {
	c.step()
	c.depth++
	defer func() { c.depth-- }()
	for _, k := range j.all {
		properties, _ := k.m["properties"].(map[string]any)
		for name := range properties {
			v := into[name]
			if v == nil {
				v = &variants{name: name}
				into[name] = v
			}
			if p := k.member("properties", name); inBranch {
				v.branches = append(v.branches, p)
			} else {
				v.always = append(v.always, p)
			}
		}
		for _, b := range k.branches() {
			c.collect(c.expand([]place{b}), into, true)
		}
	}
}

// refusing returns the path of a keyword that refuses the member name because no property declares it; nil if there is none.
func (j conjunction) refusing(name string, declared []variants) []string {
	for _, k := range j.all {
		if _, ok := k.m["patternProperties"]; ok {
			return nil
		}
	}
	for _, k := range j.all {
		properties, _ := k.m["properties"].(map[string]any)
		if _, own := properties[name]; !own && k.m["additionalProperties"] == false {
			return k.at("additionalProperties")
		}
		isDeclared := slices.ContainsFunc(declared, func(v variants) bool { return v.name == name })
		if !isDeclared && k.m["unevaluatedProperties"] == false {
			return k.at("unevaluatedProperties")
		}
	}
	return nil
}

// additional returns the schemas of members that no property declares. open reports whether such members can have any value.
func (j conjunction) additional() (schemas []place, open bool) {
	open = true
	for _, k := range j.all {
		for _, key := range []string{"additionalProperties", "unevaluatedProperties"} {
			switch k.m[key].(type) {
			case map[string]any:
				schemas, open = append(schemas, k.member(key)), false
			case bool:
				open = open && k.m[key] == true
			}
		}
		patterns, _ := k.m["patternProperties"].(map[string]any)
		for _, pattern := range slices.Sorted(maps.Keys(patterns)) {
			schemas = append(schemas, k.member("patternProperties", pattern))
		}
	}
	return schemas, open
}

// itemSchemas returns the schemas of the items of an array. open reports whether some items can have any type.
func (j conjunction) itemSchemas() (schemas []place, open bool) {
	open = true
	for _, k := range j.all {
		schemas = append(schemas, k.items("prefixItems")...)
		schemas = append(schemas, k.items("items")...) // before draft 2020-12
		for _, key := range []string{"items", "additionalItems", "unevaluatedItems"} {
			switch k.m[key].(type) {
			case map[string]any:
				schemas, open = append(schemas, k.member(key)), false
			case bool:
				open = open && k.m[key] == true
			}
		}
		if _, ok := k.m["contains"]; ok {
			open = false // not understood
		}
	}
	return schemas, open
}
