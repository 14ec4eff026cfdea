package typeschema

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// annotate adds to a schema what the tags of its field state. The tag jsonschema is a description. The tag schema is a list of keywords
// with values, such as minimum=1,default=20. The values of enum are separated by |. A pattern extends to the end of the tag.
func annotate(s *Schema, f reflect.StructField) error {
	s.Description = f.Tag.Get("jsonschema")
	rest := f.Tag.Get("schema")
	if rest != "" && s.Ref != "" {
		return errors.New("the tag schema has no effect for a type that contains itself")
	}
	for rest != "" {
		var item string
		if strings.HasPrefix(rest, "pattern=") {
			item, rest = rest, ""
		} else {
			item, rest, _ = strings.Cut(rest, ",")
		}
		key, value, hasValue := strings.Cut(item, "=")
		if err := s.set(key, value, hasValue); err != nil {
			return fmt.Errorf("tag schema: %s: %w", key, err)
		}
	}
	return nil
}

// appliesTo lists the types of values to which a keyword applies, separated by spaces; empty if the keyword is unknown.
func appliesTo(keyword string) string {
	switch keyword {
	case "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf":
		return "integer number"
	case "minLength", "maxLength", "pattern", "format":
		return "string"
	case "minItems", "maxItems", "uniqueItems":
		return "array"
	case "enum":
		return "string integer number boolean"
	case "default":
		return "string integer number boolean array object"
	}
	return ""
}

func (s *Schema) set(key, value string, hasValue bool) error {
	types := appliesTo(key)
	switch {
	case types == "":
		return errors.New("is not one of minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf, minLength, maxLength, pattern, format, minItems, maxItems, uniqueItems, enum, default")
	case s.Type == "" || !strings.Contains(types, s.Type):
		return fmt.Errorf("does not apply to a value of type %q", s.Type)
	case hasValue == (key == "uniqueItems"):
		return errors.New("uniqueItems must not have a value, and all other keywords need one: write keyword=value")
	}
	switch key {
	case "uniqueItems":
		s.UniqueItems = true
	case "format":
		s.Format = value
	case "pattern":
		s.Pattern = value // the host compiles it
	case "enum":
		for _, one := range strings.Split(value, "|") {
			encoded, err := s.value(one)
			if err != nil {
				return err
			}
			s.Enum = append(s.Enum, encoded)
		}
	case "default":
		encoded, err := s.value(value)
		if err != nil {
			return err
		}
		s.Default = encoded
	default:
		return s.setNumber(key, value)
	}
	return nil
}

func (s *Schema) setNumber(key, value string) error {
	number := json.Number(value)
	if _, err := number.Float64(); err != nil || !json.Valid([]byte(value)) {
		return fmt.Errorf("%q is not a number", value)
	}
	if strings.HasSuffix(key, "Length") || strings.HasSuffix(key, "Items") {
		if _, err := strconv.ParseUint(value, 10, 31); err != nil {
			return fmt.Errorf("%q is not a count: write an integer from 0 on", value)
		}
	}
	*map[string]*json.Number{
		"minimum": &s.Minimum, "maximum": &s.Maximum, "exclusiveMinimum": &s.ExclusiveMinimum, "exclusiveMaximum": &s.ExclusiveMaximum,
		"multipleOf": &s.MultipleOf, "minLength": &s.MinLength, "maxLength": &s.MaxLength, "minItems": &s.MinItems, "maxItems": &s.MaxItems,
	}[key] = number
	return nil
}

// value encodes the value of a tag as JSON. A value for a string is the string itself, and any other value is JSON.
func (s *Schema) value(text string) (json.RawMessage, error) {
	if s.Type == "string" {
		return json.Marshal(text)
	}
	raw := json.RawMessage(text)
	fits := json.Valid(raw)
	switch s.Type {
	case "boolean":
		fits = text == "true" || text == "false"
	case "integer":
		_, err := strconv.ParseInt(text, 10, 64)
		fits = fits && err == nil
	case "number":
		_, err := strconv.ParseFloat(text, 64)
		fits = fits && err == nil
	case "array":
		fits = fits && strings.HasPrefix(text, "[")
	case "object":
		fits = fits && strings.HasPrefix(text, "{")
	}
	if !fits {
		return nil, fmt.Errorf("%q is not a value of type %s", text, s.Type)
	}
	return raw, nil
}
