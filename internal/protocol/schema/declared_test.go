package schema_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/internal/protocol/schema"
)

// validateArguments validates without a low limit, and returns the error only.
func validateArguments(s *schema.Schema, value string) error {
	_, err := s.ValidateArguments(json.RawMessage(value), 1<<20)
	return err
}

func TestUndeclaredArguments(t *testing.T) {
	const limits = `{"type":"object","properties":{"limit":{"type":"integer"},"maxResults":{}}}`
	for name, c := range map[string]struct {
		schema, arguments string
		want              string // names, each with the nearest one
	}{
		"all are declared":                {limits, `{"limit":3,"maxResults":[{"limt":1}]}`, ""},
		"none":                            {limits, `{}`, ""},
		"no object":                       {limits, `[{"limt":3}]`, ""},
		"misspelled":                      {limits, `{"limt":3}`, "limt→limit"},
		"misspelled with an escape":       {limits, `{"li\u006dt":3}`, "limt→limit"},
		"another style":                   {limits, `{"max_results":3}`, "max_results→maxResults"},
		"several, in order":               {limits, `{"z":3,"limits":[],"limit":1}`, "limits→limit z→"},
		"an empty list of properties":     {`{"properties":{}}`, `{"a":1}`, "a→"},
		"no list of properties":           {`{"type":"object"}`, `{"a":1}`, ""},
		"further ones are permitted":      {`{"properties":{"a":{}},"additionalProperties":true}`, `{"b":1}`, ""},
		"further ones have a schema":      {`{"properties":{"a":{}},"additionalProperties":{"type":"integer"}}`, `{"b":1}`, ""},
		"further ones are forbidden":      {`{"properties":{"alpha":{}},"additionalProperties":false}`, `{"alhpa":1}`, "alhpa→alpha"},
		"unevaluated ones are permitted":  {`{"properties":{"a":{}},"unevaluatedProperties":{}}`, `{"b":1}`, ""},
		"names with a pattern":            {`{"properties":{"a":{}},"patternProperties":{"^b":{}}}`, `{"c":1}`, ""},
		"declared in allOf":               {`{"properties":{"a":{}},"allOf":[{"properties":{"b":{}}}]}`, `{"b":1,"c":2}`, "c→"},
		"declared in one of alternatives": {`{"anyOf":[{"properties":{"a":{}}},{"properties":{"b":{}}}]}`, `{"a":1,"b":2,"c":3}`, "c→"},
		"declared under a condition":      {`{"if":{"properties":{"a":{}}},"then":{"properties":{"b":{}}},"else":{"properties":{"c":{}}}}`, `{"a":1,"b":2,"c":3,"d":4}`, "d→"},
		"declared by a reference":         {`{"$ref":"#/$defs/x","$defs":{"x":{"properties":{"a":{}},"allOf":[{"$ref":"#"}]}}}`, `{"a":1,"b":2}`, "b→"},
		"declared with another property":  {`{"properties":{"a":{}},"dependentSchemas":{"a":{"properties":{"b":{}}}}}`, `{"a":1,"b":2,"c":3}`, "c→"},
		"permitted in a subschema":        {`{"properties":{"a":{}},"oneOf":[{"additionalProperties":true}]}`, `{"b":1}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := schema.Compile(json.RawMessage(c.schema))
			if err != nil {
				t.Fatal(err)
			}
			validated, _ := s.ValidateArguments(json.RawMessage(c.arguments), 1000) // an error is no reason not to report
			scanned := s.Undeclared(json.RawMessage(c.arguments))
			if diff := cmp.Diff(validated, scanned); diff != "" {
				t.Errorf("ValidateArguments and Undeclared differ:\n%s", diff)
			}
			var got []string
			for _, u := range scanned {
				got = append(got, u.Name+"→"+u.Nearest)
			}
			if got := strings.Join(got, " "); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestUndeclaredArgumentsAreBounded(t *testing.T) {
	s, err := schema.Compile(json.RawMessage(`{"properties":{}}`))
	if err != nil {
		t.Fatal(err)
	}
	var members []string
	for i := range 1000 {
		members = append(members, fmt.Sprintf("%q:0", fmt.Sprint(i)+strings.Repeat("n", 1000)))
	}
	arguments := json.RawMessage("{" + strings.Join(members, ",") + "}")
	validated, err := s.ValidateArguments(arguments, 2000)
	for _, undeclared := range [][]schema.Undeclared{validated, s.Undeclared(arguments)} {
		if len(undeclared) != 8 || len(undeclared[0].Name) > 128+len("…") || err != nil {
			t.Errorf("got %d names, the first of %d bytes, %v", len(undeclared), len(undeclared[0].Name), err)
		}
	}
}

// Calls with the same arguments are reported alike, although a decoded object has no order.
func TestSameUndeclaredArgumentsAreReportedEachTime(t *testing.T) {
	s, err := schema.Compile(json.RawMessage(`{"properties":{"b":{}}}`))
	if err != nil {
		t.Fatal(err)
	}
	for range 50 {
		undeclared, err := s.ValidateArguments(json.RawMessage(`{"l":0,"k":0,"j":0,"i":0,"h":0,"g":0,"f":0,"e":0,"d":0,"c":0,"b":0,"a":0}`), 100)
		got := ""
		for _, u := range undeclared {
			got += u.Name
		}
		if got != "acdefghi" || err != nil {
			t.Fatalf("got %q, %v", got, err)
		}
	}
}

// Declared arguments cost no allocation beyond those of the validation.
func TestDeclaredArgumentsCostNoAllocation(t *testing.T) {
	arguments := json.RawMessage(`{"limit":3,"name":"a","nested":{"b":[1,2,3]}}`)
	var allocations []float64
	for _, more := range []string{"", `,"additionalProperties":true`} { // with true, nothing is undeclared, so nothing is looked for
		s, err := schema.Compile(json.RawMessage(`{"properties":{"limit":{},"name":{},"nested":{}}` + more + `}`))
		if err != nil {
			t.Fatal(err)
		}
		allocations = append(allocations, testing.AllocsPerRun(100, func() { _ = validateArguments(s, string(arguments)) }))
		if n := testing.AllocsPerRun(100, func() { _ = s.Undeclared(arguments) }); n != 0 {
			t.Errorf("Undeclared allocates %v times", n)
		}
	}
	if allocations[0] != allocations[1] {
		t.Errorf("ValidateArguments allocates %v times where it looks for undeclared arguments, and else %v times", allocations[0], allocations[1])
	}
}
