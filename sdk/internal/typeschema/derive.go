package typeschema

import (
	"cmp"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	// maxNodes bounds the schemas in a derived schema. Types that occur several times are repeated, unless they are recursive.
	maxNodes = 10_000
	// maxDepth bounds the nesting of types.
	maxDepth = 100
)

// Input returns the schema of the arguments that encoding/json decodes into t. The schema is nil if t decodes itself, or accepts any value.
// A member is required unless its field is a pointer, has omitempty, omitzero or a default, or is in a struct that is embedded by a pointer.
func Input(t reflect.Type) (*Schema, error) { return derive(t, &deriver{input: true}) }

// Output returns the schema of what encoding/json encodes from t if nil slices and maps are encoded as empty ones. The schema is nil if t
// encodes itself. A member is required unless its field has omitempty or omitzero, or is in a struct that is embedded by a pointer.
func Output(t reflect.Type) (*Schema, error) { return derive(t, &deriver{}) }

func derive(t reflect.Type, d *deriver) (*Schema, error) {
	for t.Kind() == reflect.Pointer && t.Name() == "" {
		t = t.Elem()
	}
	d.root = t
	s, err := d.schema(t, nil)
	if err != nil {
		return nil, err
	}
	if s.acceptsAll() {
		return nil, nil
	}
	if s.Type != "object" {
		return nil, fmt.Errorf("the type %s is not a JSON object: use a struct", t)
	}
	s.Defs = d.defs
	if t.Name() != "" {
		s.Comment = t.String()
	}
	return s, nil
}

// deriver is the state of one derivation.
type deriver struct {
	input     bool
	root      reflect.Type
	open      []reflect.Type          // the named types that enclose the current one
	recursive map[reflect.Type]string // names in $defs of types that contain themselves
	defs      Properties
	nodes     int
}

var (
	timeType   = reflect.TypeFor[time.Time]()
	numberType = reflect.TypeFor[json.Number]()
)

// schema returns the schema of t. at is the field that has the type; nil if there is none.
func (d *deriver) schema(t reflect.Type, at *reflect.StructField) (*Schema, error) {
	if d.nodes++; d.nodes > maxNodes || len(d.open) > maxDepth {
		return nil, fmt.Errorf("the type %s is too large for a schema: decode parts of it from json.RawMessage", d.root)
	}
	switch {
	case t.Kind() == reflect.Pointer && t.Name() == "":
		return d.schema(t.Elem(), at)
	case t == timeType:
		return &Schema{Type: "string", Format: "date-time"}, nil
	case t == numberType:
		return &Schema{Type: "number"}, nil
	case d.converts(t, reflect.TypeFor[json.Unmarshaler](), reflect.TypeFor[json.Marshaler]()):
		return &Schema{}, nil
	case d.converts(t, reflect.TypeFor[encoding.TextUnmarshaler](), reflect.TypeFor[encoding.TextMarshaler]()):
		return &Schema{Type: "string"}, nil
	}
	if t.Name() == "" {
		return d.composite(t, at)
	}
	if slices.Contains(d.open, t) {
		return &Schema{Ref: d.reference(t)}, nil
	}
	d.open = append(d.open, t)
	s, err := d.composite(t, at)
	d.open = d.open[:len(d.open)-1]
	if name := d.recursive[t]; err == nil && name != "" && t != d.root {
		if !slices.ContainsFunc(d.defs, func(p Property) bool { return p.Name == name }) {
			d.defs = append(d.defs, Property{name, s})
		}
		return &Schema{Ref: "#/$defs/" + name}, nil
	}
	return s, err
}

// converts reports whether t, or a pointer to it, has the method with which encoding/json decodes or encodes.
func (d *deriver) converts(t, decodes, encodes reflect.Type) bool {
	method := encodes
	if d.input {
		method = decodes
	}
	return t.Kind() != reflect.Interface && reflect.PointerTo(t).Implements(method) // the method set of *t includes that of t
}

// reference returns the reference to a type that contains itself.
func (d *deriver) reference(t reflect.Type) string {
	if t == d.root {
		return "#"
	}
	if d.recursive == nil {
		d.recursive = map[reflect.Type]string{}
	}
	name := d.recursive[t]
	if name == "" {
		name = strings.Map(func(r rune) rune {
			if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' {
				return r
			}
			return '_'
		}, t.Name())
		base := name
		for n := 2; d.isTaken(name); n++ {
			name = base + strconv.Itoa(n)
		}
		d.recursive[t] = name
	}
	return "#/$defs/" + name
}

func (d *deriver) isTaken(name string) bool {
	for _, used := range d.recursive {
		if used == name {
			return true
		}
	}
	return false
}

// composite returns the schema of t by its kind.
func (d *deriver) composite(t reflect.Type, at *reflect.StructField) (*Schema, error) {
	switch kind := t.Kind(); kind {
	case reflect.Bool:
		return &Schema{Type: "boolean"}, nil
	case reflect.String:
		return &Schema{Type: "string"}, nil
	case reflect.Float32, reflect.Float64:
		return &Schema{Type: "number"}, nil
	case reflect.Interface:
		if d.input && t.NumMethod() > 0 {
			return nil, unusable(t, at, "encoding/json cannot decode into it")
		}
		return &Schema{}, nil
	case reflect.Pointer:
		return d.schema(t.Elem(), at)
	case reflect.Struct:
		return d.object(t)
	case reflect.Map:
		return d.mapping(t, at)
	case reflect.Slice, reflect.Array:
		return d.list(t, at)
	default:
		if isInteger(kind) {
			return integer(kind, t.Bits()), nil
		}
		return nil, unusable(t, at, "JSON has no such value")
	}
}

func unusable(t reflect.Type, at *reflect.StructField, why string) error {
	if at == nil {
		return fmt.Errorf("the type %s cannot be used: %s", t, why)
	}
	return fmt.Errorf("the field %s has the type %s, which cannot be used: %s (`json:\"-\"` leaves the field out)", at.Name, t, why)
}

// integer returns the schema of an integer type. Types of 64 bits have no maximum: it is of no use to a model, and validators that use
// floating-point numbers round it.
func integer(kind reflect.Kind, bits int) *Schema {
	s := &Schema{Type: "integer"}
	if kind >= reflect.Uint {
		s.Minimum = "0"
		if bits < 64 {
			s.Maximum = json.Number(strconv.FormatUint(1<<bits-1, 10))
		}
	} else if bits < 64 {
		s.Minimum = json.Number(strconv.FormatInt(-1<<(bits-1), 10))
		s.Maximum = json.Number(strconv.FormatInt(1<<(bits-1)-1, 10))
	}
	return s
}

func (d *deriver) list(t reflect.Type, at *reflect.StructField) (*Schema, error) {
	if t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8 && !d.encodesItself(t.Elem()) {
		return &Schema{Type: "string", Encoding: "base64"}, nil
	}
	items, err := d.element(t.Elem(), at)
	if err != nil {
		return nil, err
	}
	s := &Schema{Type: "array", Items: items}
	if t.Kind() == reflect.Array {
		s.MinItems = json.Number(strconv.Itoa(t.Len()))
		s.MaxItems = s.MinItems
	}
	return s, nil
}

// encodesItself reports whether encoding/json uses a method of t, or of a pointer to it. The elements of a slice of bytes can have one, so that
// the slice is an array.
func (d *deriver) encodesItself(t reflect.Type) bool {
	return d.converts(t, reflect.TypeFor[json.Unmarshaler](), reflect.TypeFor[json.Marshaler]()) ||
		d.converts(t, reflect.TypeFor[encoding.TextUnmarshaler](), reflect.TypeFor[encoding.TextMarshaler]())
}

// element returns the schema of an element of a slice, array or map. An element that is a pointer may be null.
func (d *deriver) element(t reflect.Type, at *reflect.StructField) (*Schema, error) {
	s, err := d.schema(t, at)
	if err != nil || t.Kind() != reflect.Pointer || s.acceptsAll() {
		return s, err
	}
	return nullable(s), nil
}

func nullable(s *Schema) *Schema { return &Schema{AnyOf: []*Schema{s, {Type: "null"}}} }

func (d *deriver) mapping(t reflect.Type, at *reflect.StructField) (*Schema, error) {
	s := &Schema{Type: "object"}
	switch key := t.Key(); {
	case d.converts(key, reflect.TypeFor[encoding.TextUnmarshaler](), reflect.TypeFor[encoding.TextMarshaler]()), key.Kind() == reflect.String:
	case isInteger(key.Kind()):
		s.PropertyNames = &Schema{Pattern: integerPattern(key.Kind())}
	default:
		return nil, unusable(t, at, "its keys are neither strings nor integers")
	}
	values, err := d.element(t.Elem(), at)
	if err != nil {
		return nil, err
	}
	if !values.acceptsAll() {
		s.AdditionalProperties = values
	}
	return s, nil
}

func integerPattern(kind reflect.Kind) string {
	if kind >= reflect.Uint {
		return `^(0|[1-9][0-9]*)$`
	}
	return `^-?(0|[1-9][0-9]*)$`
}

// object returns the schema of a struct type.
func (d *deriver) object(t reflect.Type) (*Schema, error) {
	s := &Schema{Type: "object", AdditionalProperties: false}
	for _, f := range fieldsOf(t) {
		if owner, err := ownerOf(t, f.index, d.input); err != nil {
			return nil, fmt.Errorf("the field %s.%s cannot be decoded: %w", owner, f.field.Name, err)
		}
		property, required, err := d.member(f)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", t, err)
		}
		property.Comment = fmt.Sprintf("%s.%s %s", cmp.Or(t.Name(), "struct"), f.field.Name, f.field.Type)
		s.Properties = append(s.Properties, Property{f.name, property})
		if required {
			s.Required = append(s.Required, f.name)
		}
	}
	return s, nil
}

// ownerOf returns the struct that declares the field at index in t. If the field is to be decoded, it is an error if encoding/json would
// have to allocate an embedded struct of an unexported type.
func ownerOf(t reflect.Type, index []int, input bool) (reflect.Type, error) {
	for _, i := range index[:len(index)-1] {
		f := t.Field(i)
		if t = f.Type; t.Kind() == reflect.Pointer {
			if t = t.Elem(); input && !f.IsExported() {
				return t, errors.New("encoding/json cannot set an embedded pointer to a struct of an unexported type: embed the struct")
			}
		}
	}
	return t, nil
}

// member returns the schema of a field and whether the member is required.
func (d *deriver) member(f field) (*Schema, bool, error) {
	t, pointer := f.field.Type, f.field.Type.Kind() == reflect.Pointer
	base, err := d.schema(t, &f.field)
	if err != nil {
		return nil, false, err
	}
	if f.quoted && base.Type != "" && base.Encoding == "" {
		base = quotedSchema(t)
	}
	if err := annotate(base, f.field); err != nil {
		return nil, false, fmt.Errorf("field %s: %w", f.field.Name, err)
	}
	required := !f.optional && !f.absent && !(d.input && (pointer || base.Default != nil))
	if !pointer || f.optional || base.acceptsAll() {
		return base, required, nil
	}
	outer := nullable(base)
	outer.Description, base.Description = base.Description, ""
	outer.Default, base.Default = base.Default, nil
	return outer, required, nil
}

// quotedSchema returns the schema of a field with the option string of the tag json, which encodes the value in a JSON string.
func quotedSchema(t reflect.Type) *Schema {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch kind := t.Kind(); {
	case kind == reflect.Bool:
		return &Schema{Type: "string", Enum: []any{"true", "false"}}
	case kind == reflect.String && t != numberType:
		return &Schema{Type: "string", Pattern: `^".*"$`}
	case isInteger(kind):
		return &Schema{Type: "string", Pattern: integerPattern(kind)}
	}
	return &Schema{Type: "string", Pattern: `^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`}
}
