package schema

import "fmt"

// referenceKeywords reads the keywords that refer to other schemas.
func (r *reader) referenceKeywords(n *node) {
	for _, key := range []string{"$ref", "$dynamicRef", "$recursiveRef"} {
		if to, ok := r.text(key); ok && (key == "$ref" || r.c.draft == 2020 && key == "$dynamicRef" || r.c.draft == 2019 && key == "$recursiveRef") {
			r.c.pending = append(r.c.pending, reference{from: n, key: key, to: to, in: r.at.in, where: r.at.at})
		}
	}
	n.refsOnly = r.c.ignoresSiblings(r.o)
}

// annotations checks the types of annotation keywords. Their values have no other effect.
func (r *reader) annotations() {
	for _, key := range []string{"title", "description", "$comment", "format", "contentEncoding", "contentMediaType"} {
		r.text(key)
	}
	for _, key := range []string{"deprecated", "readOnly", "writeOnly"} {
		r.flag(key)
	}
	_, _ = read[[]any](r, "examples", "array")
	r.schema("contentSchema")
}

func (r *reader) types(key string) typeSet {
	v, ok := r.value(key)
	if !ok {
		return 0
	}
	if name, ok := v.(string); ok {
		return r.typeOf(name, r.at.member(key))
	}
	list, ok := v.([]any)
	if !ok || len(list) == 0 {
		r.fail(key, "must be a type name or an array of type names")
		return 0
	}
	var types typeSet
	for i, name := range r.stringsOf(list, r.at.member(key)) {
		types |= r.typeOf(name, r.at.member(key).item(i))
	}
	return types
}

func (r *reader) typeOf(name string, at scope) typeSet {
	for i, known := range typeNames {
		if name == known {
			return 1 << i
		}
	}
	if r.err == nil {
		r.err = at.errorf("%s is not one of the types %s", quoted(name), "null, boolean, number, integer, string, array, object")
	}
	return 0
}

func (r *reader) enumKeywords(n *node) {
	if list, ok := read[[]any](r, "enum", "array"); ok {
		if first, second, found := (&evaluation{}).duplicate(list); found && r.c.draft < 2019 {
			r.fail("enum", fmt.Sprintf("items at %d and %d are equal", first, second))
		}
		n.enums = append(n.enums, newEnum(list))
	}
	if v, ok := r.value("const"); ok && r.c.draft >= 6 {
		n.enums = append(n.enums, newEnum([]any{v}))
	}
}

func (r *reader) formatKeyword(n *node) {
	if name, ok := r.text("format"); ok && r.c.draft < 2019 { // in later drafts, format is only an annotation
		n.format, n.formatName = formats(name), name
	}
}

func (r *reader) numberKeywords(n *node) {
	var rules numberRules
	rules.minimum, rules.maximum, rules.multipleOf = r.number("minimum"), r.number("maximum"), r.number("multipleOf")
	if rules.multipleOf != nil && rules.multipleOf.Sign() <= 0 {
		r.fail("multipleOf", "must be more than 0")
	}
	if r.c.draft < 6 {
		if r.flag("exclusiveMinimum") {
			rules.exclusiveMinimum, rules.minimum = rules.minimum, nil
		}
		if r.flag("exclusiveMaximum") {
			rules.exclusiveMaximum, rules.maximum = rules.maximum, nil
		}
	} else {
		rules.exclusiveMinimum, rules.exclusiveMaximum = r.number("exclusiveMinimum"), r.number("exclusiveMaximum")
	}
	if rules != (numberRules{}) {
		n.number = &rules
	}
}

func (r *reader) stringKeywords(n *node) {
	rules := stringRules{minLength: r.count("minLength"), maxLength: r.count("maxLength")}
	if text, ok := r.text("pattern"); ok {
		rules.pattern = r.pattern(text, r.at.member("pattern"))
	}
	if rules != (stringRules{minLength: -1, maxLength: -1}) {
		n.str = &rules
	}
}

func (r *reader) arrayKeywords(n *node) {
	rules := arrayRules{minItems: r.count("minItems"), maxItems: r.count("maxItems"), unique: r.flag("uniqueItems"),
		minContains: -1, maxContains: -1}
	_, tuple := r.o["items"].([]any)
	switch {
	case r.c.draft >= 2020:
		rules.prefixItems, rules.items = r.list("prefixItems"), r.schema("items")
	case tuple:
		for i, v := range r.o["items"].([]any) {
			rules.prefixItems = append(rules.prefixItems, r.compiled(v, r.at.member("items").item(i)))
		}
		rules.items = r.schema("additionalItems")
	default:
		rules.items = r.schema("items")
		r.schema("additionalItems")
	}
	if r.c.draft >= 6 {
		rules.contains = r.schema("contains")
	}
	if r.c.draft >= 2019 {
		rules.minContains, rules.maxContains = r.count("minContains"), r.count("maxContains")
		rules.containsEvaluates = r.c.draft >= 2020
	}
	if rules.minItems >= 0 || rules.maxItems >= 0 || rules.unique || rules.prefixItems != nil || rules.items != nil || rules.contains != nil {
		n.array = &rules
	}
}

func (r *reader) objectKeywords(n *node) {
	rules := objectRules{minProperties: r.count("minProperties"), maxProperties: r.count("maxProperties"),
		required: r.strings("required"), properties: r.schemas("properties"), additionalProperties: r.schema("additionalProperties")}
	if object, ok := read[map[string]any](r, "patternProperties", "object"); ok {
		for _, text := range sorted(object) {
			at := r.at.member("patternProperties").member(text)
			rules.patternProperties = append(rules.patternProperties, patternRule{r.pattern(text, at), r.compiled(object[text], at)})
		}
	}
	if r.c.draft >= 6 {
		rules.propertyNames = r.schema("propertyNames")
	}
	r.dependencies("dependencies", &rules, true, true)
	if r.c.draft >= 2019 {
		r.dependencies("dependentRequired", &rules, true, false)
		r.dependencies("dependentSchemas", &rules, false, true)
	}
	if rules.minProperties >= 0 || rules.maxProperties >= 0 || len(rules.required)+len(rules.patternProperties)+len(rules.dependentRequired)+len(rules.dependentSchemas) > 0 ||
		rules.properties != nil || rules.additionalProperties != nil || rules.propertyNames != nil {
		n.object = &rules
	}
}

// dependencies reads a keyword of the dependencies family. If a certain property is present, such a keyword requires other properties,
// or applies a subschema.
func (r *reader) dependencies(key string, rules *objectRules, required, schemas bool) {
	object, _ := read[map[string]any](r, key, "object")
	for _, name := range sorted(object) {
		at := r.at.member(key).member(name)
		list, isList := object[name].([]any)
		switch {
		case r.err != nil:
			return
		case isList && required:
			rules.dependentRequired = append(rules.dependentRequired, dependentRequired{name, r.stringsOf(list, at)})
		case schemas:
			rules.dependentSchemas = append(rules.dependentSchemas, dependentSchema{name, r.compiled(object[name], at)})
		default:
			r.err = at.errorf("must be array")
		}
	}
}

func (r *reader) applicatorKeywords(n *node) {
	rules := applicators{allOf: r.list("allOf"), anyOf: r.list("anyOf"), oneOf: r.list("oneOf"), not: r.schema("not")}
	if r.c.draft >= 7 {
		rules.condition, rules.then, rules.other = r.schema("if"), r.schema("then"), r.schema("else")
	}
	if len(rules.allOf)+len(rules.anyOf)+len(rules.oneOf) > 0 || rules.not != nil || rules.condition != nil {
		n.applicators = &rules
	}
}
