package paramheader

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

func TestFind(t *testing.T) {
	for schema, want := range map[string]any{
		`{"type":"object"}`: []Param(nil),
		`{"properties":{"a":{"type":"string","x-mcp-header":"Region"}}}`:                                                          []Param{{"Mcp-Param-Region", []string{"a"}}},
		`{"properties":{"o":{"type":"object","properties":{"b":{"type":["integer","null"],"x-mcp-header":"n"}}}}}`:                []Param{{"Mcp-Param-N", []string{"o", "b"}}},
		`{"properties":{"x-mcp-header":{"type":"string"}},"default":{"x-mcp-header":1},"enum":[{"x-mcp-header":1}]}`:              []Param(nil),
		`{"properties":{"a":{"type":"string","x-mcp-header":""}}}`:                                                                "must be the end of a header name",
		`{"properties":{"a":{"type":"string","x-mcp-header":1}}}`:                                                                 "must be the end of a header name",
		`{"properties":{"a":{"type":"string","x-mcp-header":"a b"}}}`:                                                             "must be the end of a header name",
		`{"properties":{"a":{"type":"string","x-mcp-header":"ü"}}}`:                                                               "must be the end of a header name",
		`{"properties":{"a":{"type":"string","x-mcp-header":"a\r\nb"}}}`:                                                          "must be the end of a header name",
		`{"properties":{"a":{"type":"number","x-mcp-header":"A"}}}`:                                                               "type is string, integer or boolean",
		`{"properties":{"a":{"x-mcp-header":"A"}}}`:                                                                               "type is string, integer or boolean",
		`{"properties":{"a":{"type":["null"],"x-mcp-header":"A"}}}`:                                                               "type is string, integer or boolean",
		`{"properties":{"a":{"type":"string","x-mcp-header":"A"},"b":{"type":"string","x-mcp-header":"a"}}}`:                      "same header",
		`{"type":"string","x-mcp-header":"A"}`:                                                                                    "only the keyword properties leads to",
		`{"properties":{"a":{"items":{"type":"string","x-mcp-header":"A"}}}}`:                                                     "only the keyword properties leads to",
		`{"anyOf":[{"properties":{"a":{"type":"string","x-mcp-header":"A"}}}]}`:                                                   "only the keyword properties leads to",
		`{"$defs":{"a":{"type":"string","x-mcp-header":"A"}}}`:                                                                    "only the keyword properties leads to",
		`{"properties":{"a":{"if":{"properties":{"b":{"type":"string","x-mcp-header":"A"}}}}}}`:                                   "only the keyword properties leads to",
		`{"properties":{"a":{"type":"string","x-mcp-header":"` + strings.Repeat("a", 200) + `"}}}`:                                "must be the end of a header name",
		`{"properties":{"a":{"type":"object","additionalProperties":{"properties":{"b":{"type":"string","x-mcp-header":"A"}}}}}}`: "only the keyword properties leads to",
	} {
		found, err := Find(json.RawMessage(schema))
		if text, ok := want.(string); ok {
			if err == nil || !strings.Contains(err.Error(), text) {
				t.Errorf("%s: got %v, want %s", schema, err, text)
			}
		} else if err != nil || !reflect.DeepEqual(found, want) {
			t.Errorf("%s: got %v, %v, want %v", schema, found, err, want)
		}
	}
}

func TestCheck(t *testing.T) {
	params := []Param{{"Mcp-Param-A", []string{"a"}}, {"Mcp-Param-B", []string{"o", "b"}}}
	for _, c := range []struct {
		arguments, a, b string
		equal           bool
	}{
		{`{"a":"x","o":{"b":true}}`, "x", "true", true},
		{`{"a":"x","o":{"b":false}}`, "x", "true", false},
		{`{"a":"x","o":{"b":"true"}}`, "x", "true", true},
		{`{"a":1,"o":1}`, "1.0", "", true},
		{`{"a":-7}`, "-7", "", true},
		{`{"a":100}`, "1e2", "", true},
		{`{"a":0}`, "-0", "", true},
		{`{"a":9007199254740991}`, "9007199254740991", "", true},
		{`{"a":9007199254740992}`, "9007199254740992", "", false},
		{`{"a":-9007199254740992}`, "-9007199254740992", "", false},
		{`{"a":42}`, "+42", "", false},
		{`{"a":42}`, "042", "", false},
		{`{"a":42}`, "42,42", "", false},
		{`{"a":42}`, "4_2", "", false},
		{`{"a":42}`, "=?base64?NDI=?=", "", true},
		{`{"a":42}`, "=?base64?NDI?=", "", false},
		{`{"a":42}`, "=?base64?NDJ=?=", "", false},
		{`{"a":"x"}`, "=?base64?eA==", "", false},
		{`{"a":"NaN"}`, "NaN", "", true},
		{`{"a":true}`, "TRUE", "", false},
		{`{"a":9007199254740993}`, "9007199254740992", "", false},
		{`{"a":1e400}`, "1e400", "", false},
		{`{"a":0.5}`, "0.5", "", false},
		{`{"a":16}`, "0x10", "", false},
		{`{"a":"1"}`, "1.0", "", false},
		{`{"a":{}}`, "{}", "", false},
		{`{"A":"x"}`, "x", "", false},
		{`{"a":"x","A":"y"}`, "x", "", false},
		{`{"a":"é"}`, "=?base64?w6k=?=", "", true},
		{`{"a":"é"}`, "é", "", false},
		{`{"a":"=?base64?eA==?="}`, "=?base64?eA==?=", "", false},
		{`[]`, "", "", true},
		{``, "", "", true},
	} {
		h := map[string][]string{}
		if c.a != "" {
			h["Mcp-Param-A"] = []string{c.a}
		}
		if c.b != "" {
			h["Mcp-Param-B"] = []string{c.b}
		}
		if why := Check(params, h, []byte(c.arguments)); (why == "") != c.equal {
			t.Errorf("%s with %q, %q: got %q", c.arguments, c.a, c.b, why)
		}
	}
}

func FuzzFind(f *testing.F) {
	f.Add([]byte(`{"properties":{"a":{"type":"string","x-mcp-header":"Region"}}}`), []byte(`{"a":"x"}`), "x")
	f.Fuzz(func(t *testing.T, schema, arguments []byte, header string) {
		if !json.Valid(schema) || !json.Valid(arguments) {
			return
		}
		params, err := Find(schema)
		for _, p := range params {
			if err == nil && !strings.HasPrefix(p.Header, prefix) {
				t.Errorf("header %q", p.Header)
			}
		}
		Check(params, map[string][]string{"Mcp-Param-Region": {header}}, arguments)
	})
}
