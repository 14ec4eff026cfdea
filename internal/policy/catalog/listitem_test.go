package catalog

import (
	"strings"
	"testing"
)

func TestItemsOfLists(t *testing.T) {
	for name, c := range map[string]struct{ item, want string }{
		"have all that MCP knows":             {`{"name":"n","title":"t","description":"d","uri":"u","uriTemplate":"u","mimeType":"m","size":1,"icons":[],"annotations":{},"_meta":{},"arguments":[{"name":"a","required":true}]}`, ""},
		"may have more":                       {`{"name":"n","x":null,"Y":[]}`, ""},
		"are objects":                         {`"n"`, "it is not an object"},
		"have a name":                         {`{"title":"t"}`, "name is missing"},
		"have a description that is a string": {`{"name":"n","description":5}`, "description is of the wrong type"},
		"have a size that is a number":        {`{"name":"n","size":"5"}`, "size is of the wrong type"},
		"have arguments in an array":          {`{"name":"n","arguments":{}}`, "arguments is of the wrong type"},
		"have arguments that are objects":     {`{"name":"n","arguments":["a"]}`, "arguments[0]: it is not an object"},
		"have arguments with names":           {`{"name":"n","arguments":[{"name":"a"},{}]}`, "arguments[1]: name is missing"},
		"may be nested":                       {`{"name":"[[\\"[","x":` + strings.Repeat("[", 63) + strings.Repeat("]", 63) + `}`, ""},
		"are not nested without end":          {`{"name":"n","x":` + strings.Repeat("[", 64) + strings.Repeat("]", 64) + `}`, "it is nested more than 64 deep"},
		"have no second name for some":        {`{"name":"n","Name":"another's"}`, `"Name" differs only in case from a member that MCP defines`},
		"have each member once":               {`{"name":"n","uri":"u","name":"another's"}`, "name occurs twice"},
		"have arguments with one name":        {`{"name":"n","arguments":[{"name":"a","name":"b"}]}`, "arguments[0]: name occurs twice"},
		"have no second URI for some":         {`{"name":"n","uri":"u","URI":"another's"}`, `"URI" differs only in case from a member that MCP defines`},
	} {
		t.Run(name, func(t *testing.T) {
			if got := checkItem([]byte(c.item)); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// What clients show hides nothing. Identifiers, which clients send back, are not changed.
func TestItemsOfListsAreSanitized(t *testing.T) {
	for name, c := range map[string]struct{ item, want string }{
		"visible text":         {`{"name":"n","description":"a\n\u00e4\"ä 👍🏽 بي"}`, `{"name":"n","description":"a\n\u00e4\"ä 👍🏽 بي"}`},
		"visible arguments":    {`{"name":"n","arguments":[{"name":"ä","description":"ö"}],"x":1}`, `{"name":"n","arguments":[{"name":"ä","description":"ö"}],"x":1}`},
		"a title":              {`{"name":"n","title":"a\u202Eb","x":"\u202E"}`, `{"title":"a·b","name":"n","x":"\u202E"}`},
		"a description":        {"{\"name\":\"n\",\"description\":\"a\u200bb\U000e0041\"}", `{"description":"a·b·","name":"n"}`},
		"an escaped character": {`{"name":"n","description":"a\bb"}`, `{"description":"a·b","name":"n"}`},
		"an argument":          {`{"name":"n","arguments":[{"name":"a"},{"name":"b","description":"\u200b"}]}`, `{"arguments":[{"name":"a"},{"description":"·","name":"b"}],"name":"n"}`},
		"a name":               {`{"name":"n\u200b"}`, ""},
		"an argument's name":   {`{"name":"n","arguments":[{"name":"a\u200b"}]}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, hidden := sanitize([]byte(c.item), "name")
			if string(got) != c.want || hidden != (c.want == "") {
				t.Errorf("got %s, %t, want %s", got, hidden, c.want)
			}
		})
	}
	if got, hidden := sanitize([]byte(`{"uri":"u://x","name":"a\u200b"}`), "uri"); hidden || string(got) != `{"name":"a·","uri":"u://x"}` {
		t.Errorf("the name of a resource: got %s, %t", got, hidden)
	}
	if got, hidden := sanitize([]byte(`{"uri":"u://\u200b","name":"a"}`), "uri"); !hidden {
		t.Errorf("a URI: got %s", got)
	}
}
