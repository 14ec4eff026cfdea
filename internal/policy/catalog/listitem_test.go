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
