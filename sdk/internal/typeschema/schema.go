// Package typeschema derives JSON Schemas from Go types: Input derives the schema of what encoding/json decodes into a type, and Output that of
// what it encodes. Both run only when a build asks a module for its schemas. Fill runs in calls: it makes a result agree with its schema.
package typeschema

import (
	"bytes"
	"encoding/json"
)

// Schema is a JSON Schema of draft 2020-12. Only the keywords that Input and Output use have fields. The zero value accepts every value.
type Schema struct {
	Ref         string `json:"$ref,omitempty"`
	Comment     string `json:"$comment,omitempty"` // the Go type; for a property, the field and its type. It is for messages to the author.
	Type        string `json:"type,omitempty"`
	Description string `json:"description,omitempty"`
	Format      string `json:"format,omitempty"`
	Encoding    string `json:"contentEncoding,omitempty"`
	Pattern     string `json:"pattern,omitempty"`
	Enum        []any  `json:"enum,omitempty"`
	Default     any    `json:"default,omitempty"` // a json.RawMessage

	Minimum          json.Number `json:"minimum,omitempty"`
	Maximum          json.Number `json:"maximum,omitempty"`
	ExclusiveMinimum json.Number `json:"exclusiveMinimum,omitempty"`
	ExclusiveMaximum json.Number `json:"exclusiveMaximum,omitempty"`
	MultipleOf       json.Number `json:"multipleOf,omitempty"`
	MinLength        json.Number `json:"minLength,omitempty"`
	MaxLength        json.Number `json:"maxLength,omitempty"`
	MinItems         json.Number `json:"minItems,omitempty"`
	MaxItems         json.Number `json:"maxItems,omitempty"`
	UniqueItems      bool        `json:"uniqueItems,omitempty"`

	Items                *Schema    `json:"items,omitempty"`
	PropertyNames        *Schema    `json:"propertyNames,omitempty"`
	Required             []string   `json:"required,omitempty"`
	AdditionalProperties any        `json:"additionalProperties,omitempty"` // false, a *Schema, or nil
	Properties           Properties `json:"properties,omitempty"`
	AnyOf                []*Schema  `json:"anyOf,omitempty"`
	Defs                 Properties `json:"$defs,omitempty"`
}

// Property is a named schema.
type Property struct {
	Name   string
	Schema *Schema
}

// Properties are encoded as an object in their order.
type Properties []Property

// MarshalJSON implements json.Marshaler.
func (ps Properties) MarshalJSON() ([]byte, error) {
	var out bytes.Buffer
	for i, p := range ps {
		name, err := json.Marshal(p.Name)
		if err != nil {
			return nil, err
		}
		value, err := json.Marshal(p.Schema)
		if err != nil {
			return nil, err
		}
		out.WriteByte("{,"[min(i, 1)])
		out.Write(name)
		out.WriteByte(':')
		out.Write(value)
	}
	if len(ps) == 0 {
		out.WriteByte('{')
	}
	out.WriteByte('}')
	return out.Bytes(), nil
}

// acceptsAll reports whether the schema accepts every value.
func (s *Schema) acceptsAll() bool {
	return s.Ref == "" && s.Type == "" && s.AnyOf == nil && s.Enum == nil
}
