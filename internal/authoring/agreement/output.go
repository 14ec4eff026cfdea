package agreement

import (
	"fmt"
	"maps"
	"slices"
)

// output reports values that the type from can encode, but a schema in at refuses.
func (c *comparison) output(at []place, from typed) {
	c.step()
	c.depth++
	defer func() { c.depth-- }()
	source, nullable := c.resolve(from)
	if source == nil || !c.isNew(at, *source, false) {
		return
	}
	j := c.expand(at)
	accepted := c.typesOf(j)
	name, _ := source.schema["type"].(string)
	encoded := typesOf(name)
	if encoded&^accepted != 0 {
		c.add(c.keyOf(j, "type"), fmt.Sprintf("write type = %q, or change the field's type", name), "accepts %s, but %s, which is encoded as %s", accepted.orNothing(), source.subject(), encoded)
		return
	}
	if nullable && accepted&null == 0 {
		c.add(j.first.path, "add omitempty to the field's tag json, or accept null with anyOf", "does not accept null, but %s, which is encoded as null if it is nil", source.subject())
	}
	j = c.choose(j, encoded)
	if j.opaque || j.hasBranches() {
		return
	}
	c.outputValues(j, *source)
	if name == "object" {
		c.outputObject(j, *source)
	}
	if items, ok := source.schema["items"].(map[string]any); ok {
		schemas, _ := j.itemSchemas()
		for _, p := range schemas {
			c.output([]place{p}, source.child(items))
		}
	}
}

func (t types) orNothing() string {
	if t == 0 {
		return "no value"
	}
	return t.String()
}

// choose adds the branch of an anyOf or oneOf that accepts the types, if there is exactly one, such as the branch beside null.
func (c *comparison) choose(j conjunction, encoded types) conjunction {
	base, branches, single := j.branch()
	if !single {
		return j
	}
	var fitting []place
	for _, b := range branches {
		if c.typesOf(c.expand([]place{b}))&encoded != 0 {
			fitting = append(fitting, b)
		}
	}
	if len(fitting) != 1 {
		return j
	}
	out := c.expand(append(base, fitting[0]))
	out.first, out.opaque = j.first, out.opaque || j.opaque
	return out
}

func (j conjunction) hasBranches() bool {
	return slices.ContainsFunc(j.all, func(k keywords) bool { return len(k.branches()) > 0 })
}

// outputValues checks that an enum accepts all values that the field's tag allows.
func (c *comparison) outputValues(j conjunction, from typed) {
	accepted, path, found := j.values()
	returned, limited := from.schema["enum"].([]any)
	if !found || !limited {
		return
	}
	for _, v := range returned {
		if !slices.ContainsFunc(accepted, func(a any) bool { return equal(a, v) }) {
			c.add(path, "add the value, or remove it from the field's tag schema", "lacks the value %s, which the field's tag schema allows", quoted(v))
		}
	}
}

// outputObject compares the members of an object.
func (c *comparison) outputObject(j conjunction, from typed) {
	declared := c.properties(j)
	others, _ := j.additional()
	for _, name := range slices.Sorted(maps.Keys(from.properties())) {
		member, _ := from.property(name, false)
		i := slices.IndexFunc(declared, func(v variants) bool { return v.name == name })
		switch {
		case i >= 0:
			c.output(declared[i].always, member)
		case len(others) > 0:
			if !j.hasKey("patternProperties") {
				c.output(others, member)
			}
		default:
			if path := j.refusing(name, declared); path != nil {
				c.add(path, fmt.Sprintf("add the property %s, or remove the field", name), "is false and there is no property %q, which %s has", name, from.owner())
			}
		}
	}
	if values, ok := from.schema["additionalProperties"].(map[string]any); ok {
		for _, p := range others {
			c.output([]place{p}, from.child(values))
		}
	}
	c.outputMissing(j, declared, from)
}

// outputMissing reports members that a schema requires or declares, and that results do not have.
func (c *comparison) outputMissing(j conjunction, declared []variants, from typed) {
	always, _ := from.schema["required"].([]any)
	for _, k := range j.all {
		required, _ := k.m["required"].([]any)
		for _, r := range required {
			name, _ := r.(string)
			_, has := from.property(name, false)
			switch {
			case !has && from.isClosed():
				c.add(k.at("required"), fmt.Sprintf("add a field with the tag `json:%q`, or remove the name", name), "names %q, and %s has no field for it", name, from.owner())
			case has && !slices.Contains(always, r):
				c.add(k.at("required"), "remove omitempty or omitzero from the field's tag json, or remove the name", "names %q, but its field in %s is left out if it is empty", name, from.owner())
			}
		}
	}
	if !from.isClosed() {
		return
	}
	for _, v := range declared {
		if _, has := from.property(v.name, false); !has && v.always[0].schema != false {
			c.add(v.always[0].path, fmt.Sprintf("add a field with the tag `json:%q`, or remove the property", v.name), "%s has no field for it, so that no result has it", from.owner())
		}
	}
}
