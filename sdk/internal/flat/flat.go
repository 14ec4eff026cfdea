// Package flat decodes small JSON objects into structs of plain fields. The arguments of most tools are such objects. If the package cannot
// decode an object, it reports that, and the caller uses encoding/json instead. In a module, encoding/json takes longer for the arguments of
// a small call than all other work of that call.
package flat

import (
	"reflect"
	"strconv"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

// Decoder decodes objects into values of one struct type. A nil Decoder decodes nothing.
type Decoder struct {
	fields map[string]field
}

type field struct {
	index int
	kind  reflect.Kind
}

// For returns the decoder for the struct type t. It returns nil if a field has an unsupported kind, is embedded, or has a tag with more than
// a name and omitempty.
func For(t reflect.Type) *Decoder {
	if t.Kind() != reflect.Struct || t.NumField() > 64 || reflect.PointerTo(t).Implements(unmarshaler) {
		return nil
	}
	d := &Decoder{fields: map[string]field{}}
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case !f.IsExported() || f.Anonymous || name == "-" || options != "" && options != "omitempty":
			return nil
		case name == "":
			name = f.Name
		}
		if _, duplicate := d.fields[name]; duplicate || !isSupported(f.Type) {
			return nil
		}
		d.fields[name] = field{i, f.Type.Kind()}
	}
	return d
}

var unmarshaler = reflect.TypeFor[interface{ UnmarshalJSON([]byte) error }]()

// isSupported reports whether Decoder can set fields of type t. Named types are not supported, because they may have
// methods that encoding/json would call.
func isSupported(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.String, reflect.Bool, reflect.Int, reflect.Int64, reflect.Float64:
		return t.PkgPath() == ""
	}
	return false
}

// Decode sets the fields of the struct v as encoding/json would. It returns false if it cannot do that; some fields of v may then be set.
// object must be valid JSON.
func (d *Decoder) Decode(object []byte, v reflect.Value) bool {
	if d == nil {
		return false
	}
	decoded := true
	err := rawjson.ScanObject(object, func(key, value []byte) {
		f, ok := d.fields[string(key)]
		decoded = decoded && ok && set(v.Elem().Field(f.index), f.kind, value)
	})
	return err == nil && decoded
}

func set(v reflect.Value, kind reflect.Kind, value []byte) bool {
	if string(value) == "null" {
		return true
	}
	switch kind {
	case reflect.String:
		s, ok := rawjson.Unquote(value)
		v.SetString(s)
		return ok
	case reflect.Bool:
		v.SetBool(string(value) == "true")
		return value[0] == 't' || value[0] == 'f'
	case reflect.Float64:
		n, err := strconv.ParseFloat(string(value), 64)
		v.SetFloat(n)
		return err == nil && isNumber(value)
	}
	n, err := strconv.ParseInt(string(value), 10, v.Type().Bits())
	v.SetInt(n)
	return err == nil && isNumber(value)
}

// isNumber reports whether value is a JSON number. strconv also accepts other strings, such as Inf and +1.
func isNumber(value []byte) bool { return value[0] == '-' || value[0] >= '0' && value[0] <= '9' }
