package typeschema

import (
	"reflect"
	"slices"
	"strings"
)

// field is a member of the JSON object of a struct type.
type field struct {
	name     string
	tagged   bool // the name is in the tag
	field    reflect.StructField
	optional bool // omitempty or omitzero
	absent   bool // in a struct that is embedded by a pointer: encoding/json leaves the member out if that is nil
	quoted   bool // the option string
	index    []int
}

// fieldsOf returns the members that encoding/json reads and writes for the struct type t, in the order of the declaration. Of the fields
// with the same name it uses the one that is embedded least deeply; among those, the one whose name is in a tag; and none if there are several.
func fieldsOf(t reflect.Type) []field {
	var all []field
	collect(t, nil, false, map[reflect.Type]bool{}, &all)
	byName := map[string][]field{}
	for _, f := range all {
		byName[f.name] = append(byName[f.name], f)
	}
	var out []field
	for _, f := range all {
		if best, ok := dominant(byName[f.name]); ok && slices.Equal(best.index, f.index) {
			out = append(out, f)
		}
	}
	return out
}

// dominant returns the field that encoding/json uses among fields with the same name.
func dominant(fields []field) (field, bool) {
	best, several := fields[0], false
	for _, f := range fields[1:] {
		switch {
		case len(f.index) < len(best.index), len(f.index) == len(best.index) && f.tagged && !best.tagged:
			best, several = f, false
		case len(f.index) == len(best.index) && f.tagged == best.tagged:
			several = true
		}
	}
	return best, !several
}

// collect appends the fields of t and of the structs that it embeds. outer contains the structs around t. absent is set if one of them is
// embedded by a pointer.
func collect(t reflect.Type, index []int, absent bool, outer map[reflect.Type]bool, all *[]field) {
	if outer[t] {
		return
	}
	outer[t] = true
	defer delete(outer, t)
	for i := range t.NumField() {
		f := t.Field(i)
		at := append(slices.Clone(index), i)
		tag := f.Tag.Get("json")
		if tag == "-" {
			continue
		}
		name, options, _ := strings.Cut(tag, ",")
		if !validName(name) {
			name = ""
		}
		target := f.Type
		if target.Kind() == reflect.Pointer && target.Name() == "" {
			target = target.Elem()
		}
		embedded := f.Anonymous && target.Kind() == reflect.Struct
		switch {
		case f.Anonymous && !f.IsExported() && target.Kind() != reflect.Struct, !f.Anonymous && !f.IsExported():
			continue
		case embedded && name == "":
			collect(target, at, absent || f.Type.Kind() == reflect.Pointer, outer, all)
			continue
		}
		tagged := name != ""
		if !tagged {
			name = f.Name
		}
		list := strings.Split(options, ",")
		*all = append(*all, field{name: name, tagged: tagged, field: f, index: at, quoted: slices.Contains(list, "string") && canQuote(target),
			absent: absent, optional: slices.Contains(list, "omitempty") || slices.Contains(list, "omitzero")})
	}
}

// canQuote reports whether the option string has an effect for a field of type t, or of a pointer to it.
func canQuote(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Bool, reflect.String, reflect.Float32, reflect.Float64:
		return true
	}
	return isInteger(t.Kind())
}

func isInteger(k reflect.Kind) bool { return k >= reflect.Int && k <= reflect.Uintptr }

// validName reports whether encoding/json uses the name in a tag; it ignores an invalid one. Code points beyond ASCII are assumed to be
// letters: the tables of package unicode would enlarge every module.
func validName(name string) bool { return name != "" && !strings.ContainsAny(name, "\"'`,\\") }
