package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

var errTooMuch = errors.New("takes too long to check against the schema")

// inRange refuses a number that would take the validator unbounded time.
func inRange(n json.Number) error {
	_, exponent, _ := strings.Cut(strings.ToLower(string(n)), "e")
	e, err := strconv.Atoi(exponent)
	if len(n) > maxNumber || exponent != "" && (err != nil || e > maxNumber || e < -maxNumber) {
		return refusal(fmt.Sprintf("holds the number %s, which is out of range", shorten(string(n), 40)))
	}
	return nil
}

// meter makes every subschema count a step when it is applied. The validator has no bound of its own and
// cannot be interrupted; but it calls a schema's format first of all that can be deep, so each subschema
// gets a format that counts and then does what the one that was there did.
func (s *Schema) meter() {
	seen := map[*jsonschema.Schema]bool{}
	var visit func(v reflect.Value)
	visit = func(v reflect.Value) {
		switch v.Kind() {
		case reflect.Interface:
			if !v.IsNil() {
				visit(v.Elem())
			}
		case reflect.Slice:
			for i := range v.Len() {
				visit(v.Index(i))
			}
		case reflect.Map:
			for it := v.MapRange(); it.Next(); {
				visit(it.Value())
			}
		case reflect.Pointer:
			sub, ok := reflect.TypeAssert[*jsonschema.Schema](v)
			if !ok && !v.IsNil() && v.Type().Elem().PkgPath() == schemaPackage && v.Elem().Kind() == reflect.Struct {
				visitFields(v.Elem(), visit)
			}
			if !ok || sub == nil || seen[sub] {
				return
			}
			seen[sub] = true
			sub.Format = s.counting(sub.Format)
			visitFields(v.Elem(), visit)
		}
	}
	visit(reflect.ValueOf(s.compiled))
}

var schemaPackage = reflect.TypeFor[jsonschema.Schema]().PkgPath()

func visitFields(v reflect.Value, visit func(reflect.Value)) {
	for i := range v.NumField() {
		if v.Type().Field(i).IsExported() {
			visit(v.Field(i))
		}
	}
}

func (s *Schema) counting(f *jsonschema.Format) *jsonschema.Format {
	out := &jsonschema.Format{Validate: func(any) error { return nil }}
	if f != nil {
		out.Name, out.Validate = f.Name, f.Validate
	}
	next := out.Validate
	out.Validate = func(v any) error {
		if s.steps++; s.steps > maxSteps {
			panic(errTooMuch)
		}
		return next(v)
	}
	return out
}

// dynamicAnchor is a keyword in doc whose target the meter could not see, or "".
func dynamicAnchor(doc any) string {
	switch doc := doc.(type) {
	case map[string]any:
		for key, v := range doc {
			if key == "$dynamicAnchor" || key == "$recursiveAnchor" {
				return key
			}
			if found := dynamicAnchor(v); found != "" {
				return found
			}
		}
	case []any:
		for _, v := range doc {
			if found := dynamicAnchor(v); found != "" {
				return found
			}
		}
	}
	return ""
}
