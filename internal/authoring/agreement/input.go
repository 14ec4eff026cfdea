package agreement

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// input reports values that all schemas in at accept, but the type to cannot decode.
func (c *comparison) input(at []place, to typed) { c.inputIn(at, to, false) }

// inputIn is input. If branch is set, at includes a branch of anyOf or oneOf. Then unset fields are not reported, since another branch may
// set them.
func (c *comparison) inputIn(at []place, to typed, branch bool) {
	c.step()
	c.depth++
	defer func() { c.depth-- }()
	target, _ := c.resolve(to)
	if target == nil || !c.isNew(at, *target, branch) {
		return
	}
	j := c.expand(at)
	if j.refuses || !c.inputTypes(j, *target) {
		return
	}
	accepted := c.typesOf(j)
	isObject := accepted&object != 0 && target.schema["type"] == "object"
	if isObject && !branch {
		c.inputUnset(j, *target)
	}
	if base, branches, single := j.branch(); single {
		for _, b := range branches {
			if both := append(slices.Clone(base), b); c.typesOf(c.expand(both))&^null != 0 {
				c.inputIn(both, *target, true)
			}
		}
		return
	}
	if values, path, found := j.values(); found {
		c.inputValues(values, path, *target)
		return
	}
	c.inputBounds(j, *target, accepted)
	if isObject {
		c.inputObject(j, *target)
	}
	if items, ok := target.schema["items"].(map[string]any); ok && accepted&list != 0 {
		c.inputItems(j, *target, target.child(items))
	}
}

// inputItems compares the items of an array.
func (c *comparison) inputItems(j conjunction, to, items typed) {
	schemas, open := j.itemSchemas()
	for _, p := range schemas {
		c.input([]place{p}, items)
	}
	if item, _ := c.resolve(items); open && item != nil && !j.opaque && !j.has("maxItems", json.Number("0")) {
		c.add(j.first.at("items"), fmt.Sprintf("write items = { type = %q }", item.schema["type"]), "is absent, so that items of any type are accepted, but %s", to.subject())
	}
}

// decodes returns the types that the Go type of a derived schema decodes.
func (t typed) decodes() types {
	name, _ := t.schema["type"].(string)
	accepted := typesOf(name) | null
	if t.schema["contentEncoding"] == "base64" {
		accepted |= list // encoding/json also decodes an array of numbers into bytes
	}
	return accepted
}

// inputTypes compares the types, and reports whether they agree.
func (c *comparison) inputTypes(j conjunction, to typed) bool {
	accepted, decoded := c.typesOf(j), to.decodes()
	bad := accepted &^ decoded
	if bad == 0 {
		return true
	}
	write := fmt.Sprintf("write type = %q, or change the field's type", to.schema["type"])
	if accepted != anyType {
		c.add(c.keyOf(j, "type"), write, "accepts %s, but %s, which decodes %s only", bad, to.subject(), decoded&^null)
	} else if !j.opaque {
		c.add(j.first.path, write, "accepts any type, but %s, which decodes %s only", to.subject(), decoded&^null)
	}
	return false
}

// keyOf returns the place of a keyword, or of the first schema if none has it.
func (c *comparison) keyOf(j conjunction, key string) []string {
	for _, k := range j.all {
		if _, ok := k.m[key]; ok {
			return k.at(key)
		}
	}
	if _, path, found := j.values(); found && key == "type" {
		return path // the types are those of the values
	}
	return j.first.path
}

// inputValues checks the values of an enum or const.
func (c *comparison) inputValues(values []any, path []string, to typed) {
	allowed, limited := to.schema["enum"].([]any)
	for _, v := range values {
		switch {
		case v == nil:
		case typeOfValue(v)&to.decodes() == 0:
			c.add(path, "remove the value, or change the field's type", "has the value %s, but %s", quoted(v), to.subject())
		case limited && !slices.ContainsFunc(allowed, func(a any) bool { return equal(a, v) }):
			c.add(path, "remove the value, or add it to the field's tag schema", "has the value %s, which the field's tag schema does not allow", quoted(v))
		case to.exceeds(v) != "":
			c.add(path, "remove the value, or change the field's type", "has the value %s, but %s and the %s %v", quoted(v), to.subject(), to.exceeds(v), to.schema[to.exceeds(v)])
		}
	}
}

// exceeds returns the bound that a number exceeds; empty if there is none.
func (t typed) exceeds(v any) string {
	n := rational(v)
	if low := rational(t.schema["minimum"]); n != nil && low != nil && n.Cmp(low) < 0 {
		return "minimum"
	}
	if high := rational(t.schema["maximum"]); n != nil && high != nil && n.Cmp(high) > 0 {
		return "maximum"
	}
	return ""
}

// quoted encodes a value for a message.
func quoted(v any) string {
	text, err := json.Marshal(v)
	if err != nil || len(text) > 60 {
		return "that is too long to show"
	}
	return string(text)
}

// bound is a keyword that bounds values.
type bound struct {
	keyword   string
	of        types
	other     string // a keyword that has the same effect
	maximum   bool
	exclusive bool
}

var bounds = [...]bound{
	{keyword: "minimum", of: number, other: "exclusiveMinimum"},
	{keyword: "maximum", of: number, other: "exclusiveMaximum", maximum: true},
	{keyword: "exclusiveMinimum", of: number, other: "minimum", exclusive: true},
	{keyword: "exclusiveMaximum", of: number, other: "maximum", maximum: true, exclusive: true},
	{keyword: "minLength", of: text},
	{keyword: "maxLength", of: text, maximum: true},
	{keyword: "minItems", of: list},
	{keyword: "maxItems", of: list, maximum: true},
}

// inputBounds checks that the schemas have the bounds of the type and of the field's tag, or narrower ones.
func (c *comparison) inputBounds(j conjunction, to typed, accepted types) {
	for _, b := range bounds {
		want := rational(to.schema[b.keyword])
		if want == nil || accepted&b.of == 0 || b.keyword[:3] == "min" && !b.maximum && b.of != number && want.Sign() == 0 {
			continue
		}
		if !j.isWithin(b, to) && !j.opaque {
			c.add(c.keyOf(j, b.keyword), fmt.Sprintf("write %s = %v", b.keyword, to.schema[b.keyword]),
				"accepts values beyond the %s %v of the field: %s", b.keyword, to.schema[b.keyword], to.subject())
		}
	}
	if to.schema["uniqueItems"] == true && accepted&list != 0 && !j.has("uniqueItems", true) && !j.opaque {
		c.add(j.first.path, "write uniqueItems = true", "accepts equal items, which the field's tag schema does not allow")
	}
	restricts := j.hasKey("pattern") || j.hasKey("format")
	if pattern, ok := to.schema["pattern"].(string); ok && accepted&text != 0 && !restricts && !j.opaque {
		c.add(j.first.path, fmt.Sprintf("write pattern = '%s'", pattern), "accepts any string, but the field %s requires the pattern %s", strings.SplitN(to.field, " ", 2)[0], pattern)
	}
	if values, ok := to.schema["enum"].([]any); ok && !j.opaque {
		c.add(j.first.path, "write enum = "+quoted(values), "accepts other values than those of the field's tag schema")
	}
	if step := rational(to.schema["multipleOf"]); step != nil && accepted&number != 0 && !j.hasKey("multipleOf") && !j.opaque {
		c.add(j.first.path, fmt.Sprintf("write multipleOf = %v", to.schema["multipleOf"]), "accepts numbers that are not a multiple of %v, as the field's tag schema requires", to.schema["multipleOf"])
	}
}

// isWithin reports whether a schema has the bound b of the type, or a narrower one.
func (j conjunction) isWithin(b bound, to typed) bool {
	want := rational(to.schema[b.keyword])
	whole := to.schema["type"] == "integer"
	for _, k := range j.all {
		for _, keyword := range []string{b.keyword, b.other} {
			have := rational(k.m[keyword])
			if have == nil {
				continue
			}
			excludes := strings.HasPrefix(keyword, "exclusive")
			if excludes && whole && !b.exclusive { // for integers, exclusiveMinimum = -1 is minimum = 0
				one := rational(json.Number("1"))
				if b.maximum {
					one.Neg(one)
				}
				have.Add(have, one)
			}
			order := have.Cmp(want)
			if b.maximum {
				order = -order
			}
			if order > 0 || order == 0 && (!b.exclusive || excludes) {
				return true
			}
		}
	}
	return false
}

func (j conjunction) has(key string, value any) bool {
	return slices.ContainsFunc(j.all, func(k keywords) bool { return k.m[key] == value })
}

func (j conjunction) hasKey(key string) bool {
	return slices.ContainsFunc(j.all, func(k keywords) bool { _, ok := k.m[key]; return ok })
}

// inputObject compares the members of an object.
func (c *comparison) inputObject(j conjunction, to typed) {
	declared := c.properties(j)
	others, isMap := to.schema["additionalProperties"].(map[string]any)
	for _, v := range declared {
		property, ok := to.property(v.name, true)
		switch {
		case !ok && isMap:
			property = to.child(others)
		case !ok && to.isClosed():
			c.unknownMember(v, to)
			continue
		case !ok:
			continue
		}
		for _, places := range v.combined() {
			c.input(places, property)
		}
	}
	if isMap {
		schemas, open := j.additional()
		for _, p := range schemas {
			c.input([]place{p}, to.child(others))
		}
		if value, _ := c.resolve(to.child(others)); open && value != nil && !j.opaque && !j.hasKey("propertyNames") {
			c.add(j.first.at("additionalProperties"), fmt.Sprintf("write additionalProperties = { type = %q }", value.schema["type"]),
				"is absent, so that members of any type are accepted, but %s", to.subject())
		}
	}
	isDeclared := declares(declared)
	for _, k := range j.all {
		required, _ := k.m["required"].([]any)
		for _, r := range required {
			name, _ := r.(string)
			if _, ok := to.property(name, true); !ok && to.isClosed() && !isDeclared(name) {
				c.add(k.at("required"), fmt.Sprintf("add a field with the tag `json:%q`, or remove the name", name), "names %q, and %s has no field for it", name, to.owner())
			}
		}
	}
}

// declares returns a function that reports whether a property is declared, whatever the case of its name.
func declares(declared []variants) func(name string) bool {
	return func(name string) bool {
		return slices.ContainsFunc(declared, func(v variants) bool { return strings.EqualFold(v.name, name) })
	}
}

// unknownMember reports a property for which the type has no field, unless its schema is false.
func (c *comparison) unknownMember(v variants, to typed) {
	p := append(v.always, v.branches...)[0]
	if p.schema == false {
		return
	}
	c.add(p.path, fmt.Sprintf("add a field with the tag `json:%q`, or remove the property", v.name), "%s has no field for it, so that the handler never gets it", to.owner())
}

// inputUnset reports fields that no arguments set, because the schemas refuse the members.
func (c *comparison) inputUnset(j conjunction, to typed) {
	declared := c.properties(j)
	isDeclared := declares(declared)
	for _, name := range slices.Sorted(maps.Keys(to.properties())) {
		path := j.refusing(name, declared)
		if path == nil || isDeclared(name) {
			continue
		}
		subject := fmt.Sprintf("the field for it in %s", to.owner())
		property, _ := to.properties()[name].(map[string]any)
		comment, _ := property["$comment"].(string)
		if field, _, found := strings.Cut(comment, " "); found {
			subject = "the field " + field
		}
		n := len(c.differences)
		c.add(path, fmt.Sprintf("add the property %s, or remove the field", name), "is false and there is no property %q, so that %s is never set", name, subject)
		for i := n; i < len(c.differences); i++ {
			c.differences[i].Unset = name
		}
	}
}
