package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/bulkhead-mcp/bulkhead/host"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

func TestQuestionsOnTheTerminal(t *testing.T) {
	form := func(required, properties string) string {
		return `{"mode":"form","message":"Who?","requestedSchema":{"type":"object","required":[` + required + `],"properties":{` + properties + `}}}`
	}
	const name, age = `"name":{"type":"string","minLength":2}`, `"age":{"type":"integer","minimum":1}`
	for title, c := range map[string]struct{ params, typed, want, shown string }{
		"a text":                                       {form(`"name"`, name), "Ada\n", `{"action":"accept","content":{"name":"Ada"}}`, "The plugin asks (q): Who?"},
		"an invalid value is asked for again":          {form(`"name"`, name), "\nA\nAda\n", `{"action":"accept","content":{"name":"Ada"}}`, "minLength"},
		"an optional field is left out":                {form(``, name), "\n", `{"action":"accept","content":{}}`, "(optional)"},
		"an empty line means the default":              {form(``, `"name":{"type":"string","default":"Eve"}`), "\n", `{"action":"accept","content":{"name":"Eve"}}`, `["Eve"]`},
		"a number":                                     {form(``, age), "x\n0\n7\n", `{"action":"accept","content":{"age":7}}`, "write a number"},
		"a boolean":                                    {form(``, `"ok":{"type":"boolean"}`), "maybe\nyes\n", `{"action":"accept","content":{"ok":true}}`, "(y or n)"},
		"a choice by its number":                       {form(``, `"c":{"type":"string","enum":["red","blue"],"enumNames":["Rot","Blau"]}`), "2\n", `{"action":"accept","content":{"c":"blue"}}`, "2  Blau"},
		"a choice by its title":                        {form(``, `"c":{"type":"string","oneOf":[{"const":"r","title":"Red"}]}`), "green\nRed\n", `{"action":"accept","content":{"c":"r"}}`, "1  Red"},
		"several choices":                              {form(``, `"c":{"type":"array","items":{"type":"string","enum":["a","b","c"]}}`), "1, c\n", `{"action":"accept","content":{"c":["a","c"]}}`, "with commas"},
		"titles of several choices":                    {form(``, `"c":{"type":"array","items":{"anyOf":[{"const":"a","title":"A"}]}}`), "A\n", `{"action":"accept","content":{"c":["a"]}}`, ""},
		"a default of another type is none":            {form(``, `"age":{"type":"integer","default":"x"}`), "\n", `{"action":"accept","content":{}}`, "age (optional)"},
		"a default that violates the schema is none":   {form(`"age"`, `"age":{"type":"integer","minimum":1,"default":0}`), "\n7\n", `{"action":"accept","content":{"age":7}}`, "age: "},
		"not all of many choices are shown":            {form(``, `"c":{"type":"string","enum":[`+strings.Repeat(`"a",`, 9_999)+`"z"]}`), "z\n", `{"action":"accept","content":{"c":"z"}}`, "  50  a\n  (and 9950 more)\nc (optional): "},
		"a long message is cut":                        {`{"message":"` + strings.Repeat("x", 5000) + `","requestedSchema":{"properties":{}}}`, "y\n", `{"action":"accept","content":{}}`, "x… (and 1000 more characters)\n"},
		"a form without fields":                        {form(``, ``), "y\n", `{"action":"accept","content":{}}`, "Do you agree?"},
		"no agreement":                                 {form(``, ``), "\n", `{"action":"decline"}`, ""},
		"declined":                                     {form(`"name"`, name), "!\n", `{"action":"decline"}`, "Enter ! to decline"},
		"the end of the input cancels":                 {form(`"name"`, name+`,`+age), "Ada\n", `{"action":"cancel"}`, ""},
		"an unfinished line is no answer":              {form(`"name"`, name), "Ada", `{"action":"cancel"}`, ""},
		"an invalid schema":                            {form(``, `"a":{"type":7}`), "x\n", `{"action":"cancel"}`, "The form is invalid"},
		"control characters of a plugin are not shown": {`{"message":"\u001b[31mWho?","requestedSchema":{"properties":{}}}`, "y\n", `{"action":"accept","content":{}}`, "·[31mWho?"},
		"a URL":                    {`{"mode":"url","message":"Log in","url":"https://example.com/login?x=1"}`, "y\n", `{"action":"accept"}`, "  https://example.com/login?x=1"},
		"a URL that is not opened": {`{"mode":"url","message":"Log in","url":"https://ex\u0430mple.com/"}`, "\n", `{"action":"decline"}`, `"exаmple.com"`},
	} {
		t.Run(title, func(t *testing.T) {
			var shown bytes.Buffer
			q := &questions{stdin: iotest.OneByteReader(strings.NewReader(c.typed)), terminal: true, to: &shown, before: func() {}}
			got, err := q.answer(t.Context(), host.Question{ID: "q", Method: abi.MethodElicit, Params: json.RawMessage(c.params)})
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != c.want {
				t.Errorf("got %s, want %s; shown: %s", got, c.want, shown.String())
			}
			if !strings.Contains(shown.String(), c.shown) {
				t.Errorf("shown: %q, want it to contain %q", shown.String(), c.shown)
			}
		})
	}
}
