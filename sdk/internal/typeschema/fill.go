package typeschema

import (
	"reflect"
	"slices"
	"strings"
)

// Fill replaces the nil slices and maps in the value to which the pointer value refers by empty ones. encoding/json encodes them as null, which
// the schema of an array or object does not accept. Values that encode themselves, and fields that are not encoded, are not changed.
func Fill(value any) {
	f := filler{}
	f.fill(reflect.ValueOf(value).Elem(), 0)
}

// filler has the pointers whose values are filled. Without it, values that refer to each other would be filled again on each path.
type filler map[target]bool

type target struct {
	address uintptr
	typ     reflect.Type
}

// maxFill is the depth to which fill descends. encoding/json refuses values with deeper cycles of pointers.
const maxFill = 1000

func (f filler) fill(v reflect.Value, depth int) {
	if depth > maxFill || new(deriver).encodesItself(v.Type()) {
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		if at := (target{v.Pointer(), v.Type()}); !v.IsNil() && !f[at] {
			f[at] = true
			f.fill(v.Elem(), depth+1)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if field := v.Type().Field(i); isEncoded(field, v.Field(i)) && (v.Field(i).CanSet() || field.Anonymous && field.Type.Kind() == reflect.Struct) {
				f.fill(v.Field(i), depth+1)
			}
		}
	case reflect.Slice:
		if v.IsNil() {
			if v.CanSet() {
				v.Set(reflect.MakeSlice(v.Type(), 0, 0))
			}
			return
		}
		f.fillItems(v, depth)
	case reflect.Array:
		f.fillItems(v, depth)
	case reflect.Map:
		f.fillMap(v, depth)
	}
}

// isEncoded reports whether encoding/json encodes a field that has the value v.
func isEncoded(f reflect.StructField, v reflect.Value) bool {
	tag := f.Tag.Get("json")
	_, options, _ := strings.Cut(tag, ",")
	return tag != "-" && !(v.IsZero() && slices.Contains(strings.Split(options, ","), "omitzero"))
}

func (f filler) fillItems(v reflect.Value, depth int) {
	if !hasParts(v.Type().Elem().Kind()) {
		return
	}
	for i := range v.Len() {
		f.fill(v.Index(i), depth+1)
	}
}

func (f filler) fillMap(v reflect.Value, depth int) {
	if v.IsNil() {
		if v.CanSet() {
			v.Set(reflect.MakeMap(v.Type()))
		}
		return
	}
	if !hasParts(v.Type().Elem().Kind()) {
		return
	}
	for _, key := range v.MapKeys() {
		item := reflect.New(v.Type().Elem()).Elem() // items of a map cannot be set in place
		item.Set(v.MapIndex(key))
		f.fill(item, depth+1)
		v.SetMapIndex(key, item)
	}
}

// hasParts reports whether values of a kind can contain slices or maps with a known type.
func hasParts(k reflect.Kind) bool {
	switch k {
	case reflect.Struct, reflect.Map, reflect.Slice, reflect.Array, reflect.Pointer:
		return true
	}
	return false
}
