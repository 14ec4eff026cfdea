package schema_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/protocol/schema"
)

func TestValidate(t *testing.T) {
	for name, c := range map[string]struct{ schema, value, want string }{
		"a value that fits has no error":             {`{"type":"object","required":["a"]}`, `{"a":1}`, ""},
		"a missing property is named":                {`{"type":"object","required":["id"]}`, `{}`, `missing property 'id'`},
		"several missing properties are one failure": {`{"required":["a","b"]}`, `{}`, `missing properties 'a', 'b'`},
		"a wrong type has its location":              {`{"properties":{"a":{"items":{"type":"string"}}}}`, `{"a":["x",1]}`, `/a/1: must be string, not number`},
		"all failures are listed, sorted by location": {`{"properties":{"a":{"type":"string"},"b":{"type":"integer"}},"additionalProperties":false}`,
			`{"b":1.5,"a":1,"z":0,"c":0}`, `/a: must be string, not number; /b: must be integer, not number; unknown properties 'c', 'z'`},
		"an enum lists the allowed values":             {`{"properties":{"s":{"enum":["open","done"]}}}`, `{"s":"x"}`, `/s: value must be one of 'open', 'done'`},
		"alternatives are one failure":                 {`{"properties":{"a":{"anyOf":[{"type":"string"},{"type":"null"}]}}}`, `{"a":1}`, `/a: must match one of: /a: must be string, not number | /a: must be null, not number`},
		"a pattern is shown and the value not":         {`{"properties":{"a":{"pattern":"^x$"}}}`, `{"a":"secret"}`, `/a: does not match the pattern ^x$`},
		"a large integer is not rounded":               {`{"const":9007199254740993}`, `9007199254740992`, `value must be 9007199254740993`},
		"a reference inside the schema is followed":    {`{"$defs":{"n":{"type":"integer"}},"properties":{"a":{"$ref":"#/$defs/n"}}}`, `{"a":"x"}`, `/a: must be integer, not string`},
		"a slash in a name is escaped":                 {`{"properties":{"a/b~":{"type":"string"}}}`, `{"a/b~":1}`, `/a~1b~0: must be string, not number`},
		"$schema selects a draft":                      {`{"$schema":"http://json-schema.org/draft-07/schema#","items":[{"type":"string"}]}`, `[1]`, `/0: must be string, not number`},
		"a boolean exclusiveMinimum":                   {`{"$schema":"http://json-schema.org/draft-04/schema#","minimum":1,"exclusiveMinimum":true}`, `1`, `exclusiveMinimum: got 1, want 1`},
		"a format is checked in older drafts":          {`{"$schema":"http://json-schema.org/draft-07/schema#","format":"date"}`, `"2020-13-01"`, `is not a valid date`},
		"a format is an annotation since 2019":         {`{"format":"date"}`, `"2020-13-01"`, ""},
		"an anchor is resolved":                        {`{"$defs":{"n":{"$anchor":"here","type":"integer"}},"items":{"$ref":"#here"}}`, `["x"]`, `/0: must be integer, not string`},
		"an embedded schema resource is resolved":      {`{"$id":"https://example.com/root","$defs":{"n":{"$id":"item","type":"integer"}},"items":{"$ref":"https://example.com/item"}}`, `["x"]`, `/0: must be integer, not string`},
		"a recursive schema":                           {`{"type":["array","null"],"items":{"$ref":"#"}}`, `[[null,[1]]]`, `/0/1/0: must be null or array, not number`},
		"a bound is exact":                             {`{"maximum":9007199254740992,"multipleOf":0.1}`, `9007199254740993`, `maximum: got 9007199254740993, want 9007199254740992`},
		"a decimal is a multiple of another":           {`{"multipleOf":0.1}`, `0.3`, ""},
		"two alternatives at once":                     {`{"oneOf":[{"type":"string"},{"minimum":1},{"maximum":9}]}`, `5`, `must match exactly one alternative of oneOf, but matches number 2 and number 3`},
		"a dependency names both properties":           {`{"dependentRequired":{"a":["b"]}}`, `{"a":1}`, `missing property 'b', required by 'a'`},
		"a property with an empty name has a location": {`{"properties":{"":{"type":"string"}}}`, `{"":1}`, `/: must be string, not number`},
		"numbers are equal by their value":             {`{"uniqueItems":true}`, `[1,{"a":[1.0]},{"a":[1]}]`, `items at 1 and 2 are equal`},
		"unevaluated properties":                       {`{"anyOf":[{"properties":{"a":true}},{"properties":{"b":true}}],"unevaluatedProperties":false}`, `{"a":1,"b":2,"c":3}`, `/c: is not allowed here`},
		"no JSON":                                      {`{}`, ``, `is not complete JSON`},
		"truncated JSON":                               {`{}`, `{"a":`, `is not complete JSON`},
		"two values":                                   {`{}`, `{} {}`, `is more than one JSON value`},
		"a number of huge magnitude":                   {`{"type":"integer"}`, `1e999999999`, `contains the number 1e999999999, which is out of range`},
		"an exponent that overflows int":               {`{"minimum":1}`, `[1e99999999999999999999]`, `contains the number 1e99999999999999999999, which is out of range`},
		"a duplicate member":                           {`{}`, `{"a":{"b":1,"b":2}}`, `has the duplicate member "b"`},
		"a property in other case":                     {`{"properties":{"id":{}}}`, `{"ID":1}`, `has "ID": write "id"`},
		"a property that folds to another":             {`{"properties":{"key":{}}}`, `{"\u212aey":1}`, `has "Key": write "key"`},
		"a value nested too deep":                      {`{}`, strings.Repeat("[", 600) + strings.Repeat("]", 600), `is nested more than 120 deep`},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := schema.Compile(json.RawMessage(c.schema))
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			if err := s.Validate(json.RawMessage(c.value)); err != nil {
				got = err.Error()
			}
			if got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestCompileRefuses(t *testing.T) {
	var many []string
	for i := range 200 {
		many = append(many, fmt.Sprintf(`{"pattern":"x{900}%d"}`, i))
	}
	for name, c := range map[string]struct{ schema, want string }{
		"an unknown type":             {`{"properties":{"a":{"type":"text"}}}`, "/properties/a/type"},
		"a remote reference":          {`{"$ref":"https://example.com/s.json"}`, "may refer only to itself"},
		"a reference to a file":       {`{"$ref":"file:///etc/passwd"}`, "may refer only to itself"},
		"a relative reference":        {`{"$ref":"other.json"}`, "may refer only to itself"},
		"a dangling reference":        {`{"$ref":"#/$defs/none"}`, "none"},
		"an unknown draft":            {`{"$schema":"https://example.com/draft"}`, "custom meta-schemas are not loaded"},
		"a broken pattern":            {`{"pattern":"("}`, "("},
		"patterns too large":          {`{"allOf":[` + strings.Join(many, ",") + `]}`, "too large"},
		"a long pattern":              {`{"pattern":"` + strings.Repeat("x", 2000) + `"}`, "longer than 1000 bytes"},
		"a dynamic anchor":            {`{"$defs":{"a":{"$dynamicAnchor":"x"}}}`, "$dynamicAnchor"},
		"a reference to a non-schema": {`{"$ref":"#/title","title":"x"}`, "there is no schema at this location"},
		"a duplicate anchor":          {`{"$defs":{"a":{"$anchor":"x"},"b":{"$anchor":"x"}}}`, "/$defs/b/$anchor: is a duplicate anchor"},
		"a duplicate URI":             {`{"$defs":{"a":{"$id":"x"},"b":{"$id":"x"}}}`, "/$defs/b/$id: is a duplicate schema URI"},
		"a negative length":           {`{"items":{"minLength":-1}}`, "/items/minLength: must be a non-negative integer"},
		"a duplicate required name":   {`{"required":["a","a"]}`, "/required/1: is a duplicate"},
		"no alternatives":             {`{"anyOf":[]}`, "/anyOf: must not be empty"},
		"a schema that is a string":   {`{"$defs":{"a":{"not":"x"}}}`, "/$defs/a/not: must be an object or a boolean"},
		"no JSON":                     {`{`, "not complete JSON"},
		"an array":                    {`[]`, "object"},
		"a schema too large":          {`{"title":"` + strings.Repeat("x", 300<<10) + `"}`, "larger than 256 KiB"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := schema.Compile(json.RawMessage(c.schema))
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "schema") {
				t.Errorf("got %v, want an error with %q", err, c.want)
			} else if len(err.Error()) > 4000 || strings.Contains(err.Error(), "schema:///") {
				t.Errorf("the error is too long or contains the internal URI: %v", err)
			}
		})
	}
}

// doubling returns a schema of n levels. Each level applies the next level twice.
func doubling(n int, last string) json.RawMessage {
	var b strings.Builder
	b.WriteString(`{"$ref":"#/$defs/l0","$defs":{`)
	for i := range n {
		fmt.Fprintf(&b, `"l%d":{"anyOf":[{"$ref":"#/$defs/l%d"},{"$ref":"#/$defs/l%d"}]},`, i, i+1, i+1)
	}
	fmt.Fprintf(&b, `"l%d":%s}}`, n, last)
	return json.RawMessage(b.String())
}

func TestWorkIsBounded(t *testing.T) {
	for name, raw := range map[string]json.RawMessage{
		"references that double":              doubling(60, `{"type":"null"}`),
		"references that double inside a not": json.RawMessage(strings.Replace(string(doubling(60, `{"type":"null"}`)), `{"$ref":"#/$defs/l0"`, `{"not":{"$ref":"#/$defs/l0"}`, 1)),
		"a schema that is itself":             json.RawMessage(`{"$ref":"#"}`),
		"a recursion that doubles with depth": json.RawMessage(`{"$ref":"#/$defs/a","$defs":{"a":{"allOf":[{"items":{"$ref":"#/$defs/a"}},{"items":{"$ref":"#/$defs/a"}}]}}}`),
	} {
		t.Run(name, func(t *testing.T) {
			s, err := schema.Compile(raw)
			if err != nil {
				t.Fatal(err)
			}
			value := json.RawMessage(strings.Repeat("[", 100) + strings.Repeat("]", 100))
			if err := s.Validate(value); err == nil || !strings.Contains(err.Error(), "too long to check") {
				t.Errorf("got %v", err)
			}
			if err := s.Validate(json.RawMessage(`{`)); err == nil {
				t.Error("after an evaluation that was too costly, the schema is not usable")
			}
		})
	}
}

// The work of comparing, matching and hashing is bounded, as is the work of applying subschemas.
func TestWorkWithinOneSchemaIsBounded(t *testing.T) {
	numbers := func(n int) string { return "[" + strings.Repeat("1,", n) + "1]" }
	text := `"` + strings.Repeat("a", 8<<20) + `"`
	for name, c := range map[string]struct{ schema, value string }{
		"patterns on a long string":        {`{"allOf":[` + strings.Repeat(`{"pattern":"(a?){300}b"},`, 10) + `{}]}`, text},
		"an enum for many items":           {`{"items":{"enum":` + numbers(50_000) + `}}`, `[` + strings.Repeat(`"x",`, 100_000) + `1]`},
		"the same items hashed each level": {`{"$ref":"#/$defs/a","$defs":{"a":{"uniqueItems":true,"items":{"$ref":"#/$defs/a"}}}}`, strings.Repeat(`[1,`, 110) + strings.Repeat(text+",", 5) + `1` + strings.Repeat(`]`, 110)},
		"names required of many objects":   {`{"items":{"required":["a"` + manyNames(20_000) + `]}}`, `[` + strings.Repeat(`{},`, 100_000) + `{}]`},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := schema.Compile(json.RawMessage(c.schema))
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Validate(json.RawMessage(c.value)); err == nil || !strings.Contains(err.Error(), "too long to check") {
				t.Errorf("got %v", err)
			}
		})
	}
}

func manyNames(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `,"n%d"`, i)
	}
	return b.String()
}

func TestErrorTextIsBounded(t *testing.T) {
	s, err := schema.Compile(json.RawMessage(`{"items":{"type":"string"},"additionalProperties":false}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, value := range []string{
		"[" + strings.Repeat("1,", 5000) + "1]",
		`{"` + strings.Repeat("é", 5000) + `":1}`,
	} {
		err := s.Validate(json.RawMessage(value))
		if err == nil || len(err.Error()) > 4000 {
			t.Errorf("got %d bytes", len(fmt.Sprint(err)))
		}
	}
}

func TestConcurrentUse(t *testing.T) {
	s, err := schema.Compile(json.RawMessage(`{"type":"object","properties":{"a":{"type":"string"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 100 {
				if err := s.Validate(json.RawMessage(`{"a":"x"}`)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}

func FuzzValidate(f *testing.F) {
	f.Add(`{"type":"object","properties":{"a":{"enum":[1,2]}}}`, `{"a":1}`)
	f.Add(`{"$ref":"#"}`, `{}`)
	f.Add(`{"items":{"type":["integer","boolean","array"]}}`, `["3","yes","[1]",{},[2]]`)
	f.Add(`{"minimum":1e300,"multipleOf":0.1}`, `1e5`)
	f.Add(`{"not":{"oneOf":[true,{"pattern":"^a+$"}]}}`, `"aaa"`)
	f.Add(`{"$schema":"http://json-schema.org/draft-04/schema#","items":[{}],"additionalItems":false}`, `[1,2]`)
	f.Fuzz(func(t *testing.T, sch, value string) {
		s, err := schema.Compile(json.RawMessage(sch))
		if err != nil {
			return
		}
		err = s.Validate(json.RawMessage(value))
		corrected := validateArguments(s, value)
		if (err == nil) != (corrected == nil) {
			t.Errorf("Validate: %v; ValidateArguments: %v", err, corrected)
		}
		for _, err := range []error{err, corrected} {
			if err != nil && (err.Error() == "" || len(err.Error()) > 4000) {
				t.Errorf("the error has %d bytes, which is too long", len(err.Error()))
			}
		}
	})
}
