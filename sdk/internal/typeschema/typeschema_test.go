package typeschema_test

import (
	"encoding/json"
	"io"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/sdk/internal/typeschema"
)

type color string

type tree struct {
	Name     string `json:"name"`
	Children []tree `json:"children,omitempty"`
}

type forest struct {
	Main  *tree           `json:"main,omitempty"`
	Trees map[string]tree `json:"trees"`
}

type base struct {
	ID    int `json:"id"`
	Inner string
}

type derived struct {
	base
	*Shared
	Inner bool
	Named base `json:"named"`
}

type Shared struct {
	Note string `json:"note,omitzero"`
}

type Limits struct {
	Min int
	Max *int
}

// TestSchemas has types with their input and output schemas; an empty output schema is equal to the input schema.
func TestSchemas(t *testing.T) {
	for name, c := range map[string]struct {
		typ           reflect.Type
		input, output string
	}{
		"no fields": {typ: reflect.TypeFor[struct{}](), input: `{"type":"object","additionalProperties":false}`},
		"plain fields": {typ: reflect.TypeFor[struct {
			Name   string  `json:"name"`
			Count  int     `json:"count,omitempty"`
			Share  float32 `json:",omitzero"`
			Dry    bool
			Hidden int `json:"-"`
			Dash   int `json:"-,"` //lint:ignore SA5008 the comma makes it the name
			unseen int
		}](), input: `{"type":"object","required":["name","Dry","-"],"additionalProperties":false,"properties":{"name":{"type":"string"},"count":{"type":"integer"},"Share":{"type":"number"},"Dry":{"type":"boolean"},"-":{"type":"integer"}}}`},
		"sized integers": {typ: reflect.TypeFor[struct {
			A int8
			B uint16
			C uint
			D time.Duration
		}](), input: `{"type":"object","required":["A","B","C","D"],"additionalProperties":false,"properties":{"A":{"type":"integer","minimum":-128,"maximum":127},"B":{"type":"integer","minimum":0,"maximum":65535},"C":{"type":"integer","minimum":0},"D":{"type":"integer"}}}`},
		"pointers": {typ: reflect.TypeFor[*struct {
			A *int `json:",omitempty"`
			B *int
			C **string
		}](), input: `{"type":"object","additionalProperties":false,"properties":{"A":{"type":"integer"},"B":{"anyOf":[{"type":"integer"},{"type":"null"}]},"C":{"anyOf":[{"type":"string"},{"type":"null"}]}}}`,
			output: `{"type":"object","required":["B","C"],"additionalProperties":false,"properties":{"A":{"type":"integer"},"B":{"anyOf":[{"type":"integer"},{"type":"null"}]},"C":{"anyOf":[{"type":"string"},{"type":"null"}]}}}`},
		"lists and maps": {typ: reflect.TypeFor[struct {
			A []string
			B [2]bool
			C map[string]int
			D map[uint8][]*int
			E []byte
			F map[netip.Addr]any
		}](), input: `{"type":"object","required":["A","B","C","D","E","F"],"additionalProperties":false,"properties":{"A":{"type":"array","items":{"type":"string"}},"B":{"type":"array","minItems":2,"maxItems":2,"items":{"type":"boolean"}},"C":{"type":"object","additionalProperties":{"type":"integer"}},"D":{"type":"object","propertyNames":{"pattern":"^(0|[1-9][0-9]*)$"},"additionalProperties":{"type":"array","items":{"anyOf":[{"type":"integer"},{"type":"null"}]}}},"E":{"type":"string","contentEncoding":"base64"},"F":{"type":"object"}}}`},
		"types with methods": {typ: reflect.TypeFor[struct {
			A time.Time
			B json.RawMessage
			C netip.Addr
			D json.Number
			E any
			F json.Marshaler `json:"-"`
		}](), input: `{"type":"object","required":["A","B","C","D","E"],"additionalProperties":false,"properties":{"A":{"type":"string","format":"date-time"},"B":{},"C":{"type":"string"},"D":{"type":"number"},"E":{}}}`},
		"the option string": {typ: reflect.TypeFor[struct {
			A int  `json:",string"`
			B bool `json:",string,omitempty"`
		}](), input: `{"type":"object","required":["A"],"additionalProperties":false,"properties":{"A":{"type":"string","pattern":"^-?(0|[1-9][0-9]*)$"},"B":{"type":"string","enum":["true","false"]}}}`},
		"a struct embedded by a pointer": {typ: reflect.TypeFor[struct {
			*Limits
			Name string
		}](), input: `{"type":"object","required":["Name"],"additionalProperties":false,"properties":{"Min":{"type":"integer"},"Max":{"anyOf":[{"type":"integer"},{"type":"null"}]},"Name":{"type":"string"}}}`},
		"embedded structs": {typ: reflect.TypeFor[derived](),
			input: `{"type":"object","required":["id","Inner","named"],"additionalProperties":false,"properties":{"id":{"type":"integer"},"note":{"type":"string"},"Inner":{"type":"boolean"},"named":{"type":"object","required":["id","Inner"],"additionalProperties":false,"properties":{"id":{"type":"integer"},"Inner":{"type":"string"}}}}}`},
		"a recursive type": {typ: reflect.TypeFor[tree](),
			input: `{"type":"object","required":["name"],"additionalProperties":false,"properties":{"name":{"type":"string"},"children":{"type":"array","items":{"$ref":"#"}}}}`},
		"a recursive type in a type": {typ: reflect.TypeFor[forest](),
			input: `{"type":"object","required":["trees"],"additionalProperties":false,"properties":{"main":{"$ref":"#/$defs/tree"},"trees":{"type":"object","additionalProperties":{"$ref":"#/$defs/tree"}}},"$defs":{"tree":{"type":"object","required":["name"],"additionalProperties":false,"properties":{"name":{"type":"string"},"children":{"type":"array","items":{"$ref":"#/$defs/tree"}}}}}}`},
		"tags": {typ: reflect.TypeFor[struct {
			A string   `json:"a" jsonschema:"What to look for" schema:"minLength=1,maxLength=9,format=email,pattern=^a,b=c$"`
			B int      `json:"b" schema:"minimum=1,exclusiveMaximum=100,multipleOf=2,default=20"`
			C color    `json:"c" schema:"enum=red|green,default=red"`
			D *float64 `json:"d" jsonschema:"A share" schema:"exclusiveMinimum=0,maximum=1.5"`
			E []string `json:"e" schema:"minItems=1,maxItems=3,uniqueItems"`
		}](), input: `{"type":"object","required":["a","e"],"additionalProperties":false,"properties":{"a":{"type":"string","description":"What to look for","format":"email","pattern":"^a,b=c$","minLength":1,"maxLength":9},"b":{"type":"integer","default":20,"minimum":1,"exclusiveMaximum":100,"multipleOf":2},"c":{"type":"string","enum":["red","green"],"default":"red"},"d":{"description":"A share","anyOf":[{"type":"number","maximum":1.5,"exclusiveMinimum":0},{"type":"null"}]},"e":{"type":"array","minItems":1,"maxItems":3,"uniqueItems":true,"items":{"type":"string"}}}}`,
			output: `{"type":"object","required":["a","b","c","d","e"],"additionalProperties":false,"properties":{"a":{"type":"string","description":"What to look for","format":"email","pattern":"^a,b=c$","minLength":1,"maxLength":9},"b":{"type":"integer","default":20,"minimum":1,"exclusiveMaximum":100,"multipleOf":2},"c":{"type":"string","enum":["red","green"],"default":"red"},"d":{"description":"A share","anyOf":[{"type":"number","maximum":1.5,"exclusiveMinimum":0},{"type":"null"}]},"e":{"type":"array","minItems":1,"maxItems":3,"uniqueItems":true,"items":{"type":"string"}}}}`},
		"raw JSON":                  {typ: reflect.TypeFor[json.RawMessage](), input: `null`},
		"any value":                 {typ: reflect.TypeFor[any](), input: `null`},
		"a map with values of any":  {typ: reflect.TypeFor[map[string]any](), input: `{"type":"object"}`},
		"a type that decodes":       {typ: reflect.TypeFor[decodesItself](), input: `null`, output: `{"type":"object","required":["A"],"additionalProperties":false,"properties":{"A":{"type":"integer"}}}`},
		"an output of an interface": {typ: reflect.TypeFor[struct{ A io.Reader }](), input: `error`, output: `{"type":"object","required":["A"],"additionalProperties":false,"properties":{"A":{}}}`},
	} {
		t.Run(name, func(t *testing.T) {
			if c.output == "" {
				c.output = c.input
			}
			for what, derive := range map[string]func(reflect.Type) (*typeschema.Schema, error){"input": typeschema.Input, "output": typeschema.Output} {
				want := map[string]string{"input": c.input, "output": c.output}[what]
				s, err := derive(c.typ)
				if err != nil {
					if want != "error" {
						t.Error(err)
					}
					continue
				}
				if diff := cmp.Diff(want, encode(t, s)); diff != "" {
					t.Errorf("%s: %s", what, diff)
				}
			}
		})
	}
}

type decodesItself struct{ A int }

func (*decodesItself) UnmarshalJSON([]byte) error { return nil }

// encode encodes a schema without comments.
func encode(t *testing.T, s *typeschema.Schema) string {
	t.Helper()
	if s != nil {
		plain(s)
	}
	raw, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func plain(s *typeschema.Schema) {
	s.Comment = ""
	for _, ps := range []typeschema.Properties{s.Properties, s.Defs} {
		for _, p := range ps {
			plain(p.Schema)
		}
	}
	for _, one := range append(s.AnyOf, s.Items) {
		if one != nil {
			plain(one)
		}
	}
	if a, ok := s.AdditionalProperties.(*typeschema.Schema); ok {
		plain(a)
	}
}

func TestCommentsNameFields(t *testing.T) {
	s, err := typeschema.Input(reflect.TypeFor[forest]())
	if err != nil {
		t.Fatal(err)
	}
	if got, want := s.Comment+"; "+s.Properties[0].Schema.Comment, "typeschema_test.forest; forest.Main *typeschema_test.tree"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

type unexported struct{ A int }

type endless [1]*endless

func TestInputRefusesTypes(t *testing.T) {
	for want, typ := range map[string]reflect.Type{
		"is not a JSON object: use a struct":                                                        reflect.TypeFor[[]int](),
		"the field A has the type chan int, which cannot be used: JSON has no such value":           reflect.TypeFor[struct{ A chan int }](),
		"the field B has the type func(), which cannot be used: JSON has no such value":             reflect.TypeFor[struct{ B []func() }](),
		"the field A has the type map[bool]int, which cannot be used: its keys are neither strings": reflect.TypeFor[struct{ A map[bool]int }](),
		"the field A has the type io.Reader, which cannot be used: encoding/json cannot":            reflect.TypeFor[struct{ A io.Reader }](),
		"unexported.A cannot be decoded: encoding/json cannot set an embedded pointer":              reflect.TypeFor[struct{ *unexported }](),
		`field A: tag schema: minimun: is not one of minimum`: reflect.TypeFor[struct {
			A int `schema:"minimun=1"`
		}](),
		`field A: tag schema: minimum: does not apply to a value of type "string"`: reflect.TypeFor[struct {
			A string `schema:"minimum=1"`
		}](),
		`field A: tag schema: minimum: "x" is not a number`: reflect.TypeFor[struct {
			A int `schema:"minimum=x"`
		}](),
		`field A: tag schema: minLength: "-1" is not a count: write an integer from 0 on`: reflect.TypeFor[struct {
			A string `schema:"minLength=-1"`
		}](),
		`field A: tag schema: default: "1.5" is not a value of type integer`: reflect.TypeFor[struct {
			A int `schema:"default=1.5"`
		}](),
		`field A: tag schema: enum: "maybe" is not a value of type boolean`: reflect.TypeFor[struct {
			A bool `schema:"enum=true|maybe"`
		}](),
		`field A: tag schema: minimum: uniqueItems must not have a value`: reflect.TypeFor[struct {
			A int `schema:"minimum"`
		}](),
		"Children: the tag schema has no effect for a type that contains itself": reflect.TypeFor[badTree](),
		"is too large for a schema": bulky(12),
	} {
		s, err := typeschema.Input(typ)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, %v, want %s", typ, s, err, want)
		}
	}
	if s, err := typeschema.Input(reflect.TypeFor[struct{ A endless }]()); err != nil {
		t.Errorf("a recursive array: got %v, %v", s, err)
	}
}

type badTree struct {
	Children *badTree `schema:"minItems=1"`
}

// bulky returns a type whose schema has more than 2^depth nodes.
func bulky(depth int) reflect.Type {
	t := reflect.TypeFor[int]()
	for range depth {
		t = reflect.StructOf([]reflect.StructField{{Name: "A", Type: t}, {Name: "B", Type: t}, {Name: "C", Type: t}})
	}
	return t
}

func TestFill(t *testing.T) {
	type part struct {
		Names []string
		Index map[string][]int
	}
	v := struct {
		part
		Parts []part
		ByKey map[string]part
		Ptr   *part
		Nil   *part
		Raw   json.RawMessage
		Any   any
		skip  []int
	}{ByKey: map[string]part{"a": {}}, Parts: []part{{Index: map[string][]int{"x": nil}}}, Ptr: &part{}}
	typeschema.Fill(&v)
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"Names":[],"Index":{},"Parts":[{"Names":[],"Index":{"x":[]}}],"ByKey":{"a":{"Names":[],"Index":{}}},"Ptr":{"Names":[],"Index":{}},"Nil":null,"Raw":null,"Any":null}`
	if diff := cmp.Diff(want, string(raw)); diff != "" || v.skip != nil {
		t.Error(diff)
	}
}
