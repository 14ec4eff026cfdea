package typeschema

import (
	"encoding"
	"encoding/json"
	"reflect"
)

// Fill replaces the nil slices and maps in the value to which the pointer value refers by empty ones. encoding/json encodes them as null, which
// the schema of an array or object does not accept. Values that encode themselves are not changed.
func Fill(value any) { fill(reflect.ValueOf(value).Elem(), 0) }

// maxFill is the depth up to which fill descends. encoding/json refuses pointers that are nested more deeply.
const maxFill = 1000

func fill(v reflect.Value, depth int) {
	if depth > maxFill || encodesItself(v.Type()) {
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			fill(v.Elem(), depth+1)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); v.Field(i).CanSet() || f.Anonymous && f.Type.Kind() == reflect.Struct {
				fill(v.Field(i), depth+1)
			}
		}
	case reflect.Slice:
		if v.IsNil() {
			if v.CanSet() {
				v.Set(reflect.MakeSlice(v.Type(), 0, 0))
			}
			return
		}
		fillItems(v, depth)
	case reflect.Array:
		fillItems(v, depth)
	case reflect.Map:
		fillMap(v, depth)
	}
}

func fillItems(v reflect.Value, depth int) {
	if !hasParts(v.Type().Elem().Kind()) {
		return
	}
	for i := range v.Len() {
		fill(v.Index(i), depth+1)
	}
}

func fillMap(v reflect.Value, depth int) {
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
		fill(item, depth+1)
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

func encodesItself(t reflect.Type) bool {
	return t.Implements(reflect.TypeFor[json.Marshaler]()) || reflect.PointerTo(t).Implements(reflect.TypeFor[json.Marshaler]()) ||
		t.Implements(reflect.TypeFor[encoding.TextMarshaler]()) || reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextMarshaler]())
}
