package schema_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/protocol/schema"
)

// The failure names the expected type and the value. If there is a valid correction, the failure shows the corrected value.
func TestValidateArgumentsShowsCorrection(t *testing.T) {
	types := func(names string) string { return `{"type":` + names + `}` }
	integer, boolean, object := types(`"integer"`), types(`"boolean"`), types(`"object"`)
	for name, c := range map[string]struct{ schema, value, want string }{
		"integer in a string":               {integer, `"3"`, `must be integer, not string "3": write 3`},
		"integer with a fraction of zero":   {integer, `"3.0"`, `must be integer, not string "3.0": write 3`},
		"integer with spaces":               {integer, `" -7 "`, `must be integer, not string " -7 ": write -7`},
		"integer with a sign and zeros":     {integer, `"+007"`, `must be integer, not string "+007": write 7`},
		"zero":                              {integer, `"-000"`, `must be integer, not string "-000": write 0`},
		"large integer":                     {integer, `"9007199254740993"`, `must be integer, not string "9007199254740993": write 9007199254740993`},
		"fraction for an integer":           {integer, `"3.5"`, `must be integer, not string`},
		"number that is no integer":         {integer, `3.5`, `must be integer, not number 3.5`},
		"word for an integer":               {integer, `"many"`, `must be integer, not string`},
		"boolean for an integer":            {integer, `true`, `must be integer, not boolean true`},
		"integer in an array":               {integer, `[3]`, `must be integer, not array: write 3`},
		"two integers in an array":          {integer, `[3,4]`, `must be integer, not array`},
		"number in a string":                {types(`"number"`), `"2.50"`, `must be number, not string "2.50": write 2.50`},
		"number with an exponent":           {types(`"number"`), `"1e3"`, `must be number, not string "1e3": write 1e3`},
		"number of huge magnitude":          {types(`"number"`), `"1e999999999"`, `must be number, not string`},
		"hexadecimal number":                {types(`"number"`), `"0x10"`, `must be number, not string`},
		"yes":                               {boolean, `"yes"`, `must be boolean, not string "yes": write true`},
		"True":                              {boolean, `"True"`, `must be boolean, not string "True": write true`},
		"off":                               {boolean, `"off"`, `must be boolean, not string "off": write false`},
		"1 in a string":                     {boolean, `"1"`, `must be boolean, not string "1": write true`},
		"1":                                 {boolean, `1`, `must be boolean, not number 1: write true`},
		"0":                                 {boolean, `0`, `must be boolean, not number 0: write false`},
		"2":                                 {boolean, `2`, `must be boolean, not number 2`},
		"word for a boolean":                {boolean, `"maybe"`, `must be boolean, not string`},
		"null in a string":                  {types(`["integer","null"]`), `"null"`, `must be null or integer, not string "null": write null`},
		"None":                              {types(`"null"`), `"None"`, `must be null, not string "None": write null`},
		"null that is required":             {integer, `null`, `must be integer, not null`},
		"number for a string":               {types(`"string"`), `12`, `must be string, not number 12: write "12"`},
		"boolean for a string":              {types(`"string"`), `false`, `must be string, not boolean false: write "false"`},
		"array for a string":                {types(`"string"`), `["a<b"]`, `must be string, not array: write "a<b"`},
		"object for a string":               {types(`"string"`), `{"a":"b"}`, `must be string, not object: write "{\"a\":\"b\"}"`},
		"object in a string":                {object, `"{\"a\": 1}"`, `must be object, not string "{\"a\": 1}": write {"a":1}`},
		"object in a string that is broken": {object, `"{\"a\":"`, `must be object, not string`},
		"object in an array":                {object, `[{"a":1}]`, `must be object, not array: write {"a":1}`},
		"array in a string":                 {types(`"array"`), `"[\"a\",\"b\"]"`, `must be array, not string "[\"a\",\"b\"]": write ["a","b"]`},
		"string for an array":               {`{"type":"array","items":{"type":"string"}}`, `"a"`, `must be array, not string "a": write ["a"]`},
		"number for an array":               {`{"type":"array","items":{"type":"integer"}}`, `1`, `must be array, not number 1: write [1]`},
		"object for an array":               {types(`"array"`), `{"a":1}`, `must be array, not object: write [{"a":1}]`},
		"value for an array of others":      {`{"type":"array","items":{"type":"integer"}}`, `"a"`, `must be array, not string`},
		"correction beyond the maximum":     {`{"type":"integer","maximum":2}`, `"3"`, `must be integer, not string`},
		"correction outside of the enum":    {`{"type":"integer","enum":[1,2]}`, `"2"`, `must be integer, not string "2": write 2`},
		"property":                          {`{"properties":{"limit":{"type":"integer"}},"required":["limit"]}`, `{"limit":"3"}`, `/limit: must be integer, not string "3": write 3`},
		"item":                              {`{"items":{"type":"boolean"}}`, `[true,"no"]`, `/1: must be boolean, not string "no": write false`},
		"optional property that is null":    {`{"properties":{"limit":{"type":"integer"}}}`, `{"limit":null}`, `/limit: must be integer, not null: leave it out`},
		"optional property that is empty":   {`{"properties":{"limit":{"type":"integer"}}}`, `{"limit":""}`, `/limit: must be integer, not string "": leave it out`},
		"required property that is null":    {`{"properties":{"limit":{"type":"integer"}},"required":["limit"]}`, `{"limit":null}`, `/limit: must be integer, not null`},
		"alternatives":                      {`{"anyOf":[{"type":"integer"},{"type":"null"}]}`, `"3"`, `must match one of: must be integer, not string "3": write 3 | must be null, not string`},
		"reference":                         {`{"$defs":{"n":{"type":"integer"}},"items":{"$ref":"#/$defs/n"}}`, `["3"]`, `/0: must be integer, not string "3": write 3`},
		"valid value":                       {integer, `3`, ``},
		"other failures":                    {`{"required":["a"],"properties":{"b":{"pattern":"^x$"}}}`, `{"b":"secret"}`, `/b: does not match the pattern ^x$; missing property 'a'`},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := schema.Compile(json.RawMessage(c.schema))
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			if err := validateArguments(s, c.value); err != nil {
				got = err.Error()
			}
			if got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			if err := s.Validate(json.RawMessage(c.value)); (err == nil) != (c.want == "") || err != nil && strings.Contains(err.Error(), "write") {
				t.Errorf("Validate: %v", err)
			}
		})
	}
}

// The length of shown values and the cost of parsing values are bounded.
func TestCorrectionsAreBounded(t *testing.T) {
	long := strings.Repeat("x", 100)
	for name, c := range map[string]struct{ schema, value, want string }{
		"long object in a string":      {`{"type":"object"}`, fmt.Sprintf(`"{\"token\":\"%s\"}"`, long), `must be object, not string: write the object itself, not a string that contains it`},
		"long array in a string":       {`{"type":"array"}`, fmt.Sprintf(`"[\"%s\"]"`, long), `must be array, not string: write the array itself, not a string that contains it`},
		"long string for an array":     {`{"type":"array"}`, `"` + long + `"`, `must be array, not string: write an array with this item`},
		"long string in an array":      {`{"type":"string"}`, `["` + long + `"]`, `must be string, not array: write the item itself, not in an array`},
		"long object for a string":     {`{"type":"string"}`, `{"token":"` + long + `"}`, `must be string, not object: write it as a string`},
		"string too long to be parsed": {`{"type":"object"}`, `"{` + strings.Repeat(" ", 70_000) + `}"`, `must be object, not string`},
		"string with too many values":  {`{"type":"object"}`, `"{\"a\":[` + strings.Repeat("1,", 5000) + `1]}"`, `must be object, not string`},
		"deep JSON in a string":        {`{"type":"array"}`, `"` + strings.Repeat("[", 1000) + strings.Repeat("]", 1000) + `"`, `must be array, not string: write an array with this item`},
		"array too large to be shown":  {`{"type":"array","items":{"type":"array"}}`, `{"a":[` + strings.Repeat("1,", 70_000) + `1]}`, `must be array, not object`},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := schema.Compile(json.RawMessage(c.schema))
			if err != nil {
				t.Fatal(err)
			}
			if err := validateArguments(s, c.value); err == nil || err.Error() != c.want {
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
		})
	}
	s, err := schema.Compile(json.RawMessage(`{"items":{"type":"integer"}}`))
	if err != nil {
		t.Fatal(err)
	}
	many := `["` + strings.Repeat(`3","`, 100_000) + `3"]`
	if err := validateArguments(s, many); err == nil || len(err.Error()) > 4000 || !strings.Contains(err.Error(), "write 3") {
		t.Errorf("got %d bytes", len(fmt.Sprint(err)))
	}
}

// The cost of corrections does not count toward the work limit of the validation. If corrections cost too much, they are omitted.
func TestCorrectionsAreNoReasonToRefuse(t *testing.T) {
	s, err := schema.Compile(json.RawMessage(`{"items":{"anyOf":[{"type":"object"},{"type":"array","items":{"type":"object"}}]}}`))
	if err != nil {
		t.Fatal(err)
	}
	text := `"` + strings.Repeat(" ", 60_000) + `1"`
	value := "[" + strings.Repeat(text+",", 1100) + text + "]"
	if err := validateArguments(s, value); err == nil || !strings.Contains(err.Error(), "/0: must match one of: /0: must be object, not string | ") {
		t.Errorf("got %.200v", err)
	}
}
