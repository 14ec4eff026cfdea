package interaction

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

func form(schema string) string {
	return `{"requests":{"q":{"method":"elicitation/create","params":{"message":"m","requestedSchema":` + schema + `}}}}`
}

func sampling(params string) string {
	return `{"requests":{"q":{"method":"sampling/createMessage","params":` + params + `}}}`
}

func many(n int) string {
	var out []string
	for i := range n {
		out = append(out, fmt.Sprintf(`"%d":{"method":"roots/list"}`, i))
	}
	return `{"requests":{` + strings.Join(out, ",") + `}}`
}

func TestParse(t *testing.T) {
	for name, c := range map[string]struct{ ask, needs, err string }{
		"a form":                          {form(`{"type":"object","properties":{"a":{"type":"string","format":"date-time"},"b":{"type":"array","items":{"enum":["x"]}}}}`), "elicitation by forms", ""},
		"a form with its mode":            {`{"requests":{"q":{"method":"elicitation/create","params":{"mode":"form","message":"m","requestedSchema":{"type":"object","properties":{}}}}}}`, "elicitation by forms", ""},
		"a URL":                           {`{"requests":{"q":{"method":"elicitation/create","params":{"mode":"url","message":"m","url":"https://example.com/x?y"}}}}`, "elicitation by URLs", ""},
		"sampling":                        {sampling(`{"messages":[{"role":"user","content":{}}],"maxTokens":5}`), "sampling", ""},
		"sampling with tools":             {sampling(`{"messages":[],"maxTokens":5,"tools":[]}`), "sampling with tools", ""},
		"roots without params":            {many(1), "roots", ""},
		"as many requests as are allowed": {many(16), "roots", ""},
		"a state alone":                   {`{"state":""}`, "", ""},
		"unknown members":                 {`{"state":"","more":1}`, "", ""},

		"no object":               {`[]`, "", "it is not an object"},
		"nothing":                 {`{}`, "", "it has neither requests nor a state"},
		"no requests":             {`{"requests":{}}`, "", "it has neither requests nor a state"},
		"requests twice":          {`{"requests":{},"requests":{}}`, "", "requests is a duplicate"},
		"requests in an array":    {`{"requests":[]}`, "", "requests is not an object"},
		"a state that is none":    {`{"state":1}`, "", "state is not a string"},
		"a long state":            {`{"state":"` + strings.Repeat("x", abi.MaxAskState+1) + `"}`, "", "its state has 262145 bytes, and the limit is 262144"},
		"too many requests":       {many(17), "", "it has more than 16 requests"},
		"large requests":          {sampling(`{"messages":[],"maxTokens":1,"x":"` + strings.Repeat("x", abi.MaxAskBytes) + `"}`), "", "the parameters of its requests have 1048613 bytes, and the limit is 1048576"},
		"an id twice":             {`{"requests":{"q":{"method":"roots/list"},"q":{"method":"roots/list"}}}`, "", `the id "q" is a duplicate`},
		"an empty id":             {`{"requests":{"":{"method":"roots/list"}}}`, "", "an id of a request does not have 1 to 128 bytes"},
		"an unknown method":       {`{"requests":{"q":{"method":"ping"}}}`, "", `request "q": method is none of elicitation/create, sampling/createMessage, roots/list`},
		"params that are none":    {`{"requests":{"q":{"method":"roots/list","params":[]}}}`, "", `request "q": params is not an object`},
		"a method twice":          {`{"requests":{"q":{"method":"roots/list","Method":"roots/list"}}}`, "", `request "q": the member "Method" is a duplicate of "method"`},
		"no message":              {`{"requests":{"q":{"method":"elicitation/create","params":{}}}}`, "", `request "q": params.message is not a text`},
		"an unknown mode":         {`{"requests":{"q":{"method":"elicitation/create","params":{"mode":"x","message":"m"}}}}`, "", `request "q": params.mode is neither form nor url`},
		"a form without a schema": {form(`{}`), "", `request "q": params.requestedSchema is not a schema with type "object"`},
		"a nested form":           {form(`{"type":"object","properties":{"a":{"type":"object"}}}`), "", `request "q": the type of the field "a" is none of string, number, integer, boolean, array`},
		"a URL of a file":         {`{"requests":{"q":{"method":"elicitation/create","params":{"mode":"url","message":"m","url":"file:///etc/passwd"}}}}`, "", `request "q": params.url is not an https or http URL`},
		"a mode twice":            {`{"requests":{"q":{"method":"elicitation/create","params":{"mode":"form","Mode":"url","message":"m"}}}}`, "", `request "q": the member "Mode" of params is ambiguous`},
		"a URL with a password":   {`{"requests":{"q":{"method":"elicitation/create","params":{"mode":"url","message":"m","url":"https://ada:x@example.com/"}}}}`, "", `request "q": params.url has a user or a password, which a URL for a user must not have`},
		"a URL of a script":       {`{"requests":{"q":{"method":"elicitation/create","params":{"mode":"url","message":"m","url":"javascript:alert(1)"}}}}`, "", `request "q": params.url is not an https or http URL`},
		"a field for a password":  {form(`{"type":"object","properties":{"a":{"type":"string","format":"password"}}}`), "", `request "q": the format of the field "a" is none of email, uri, date, date-time: ask for a secret with mode url`},
		"sampling without tokens": {sampling(`{"messages":[]}`), "", `request "q": params.maxTokens is not a number`},
		"a message without role":  {sampling(`{"messages":[{}],"maxTokens":5}`), "", `request "q": params.messages[0].role is neither user nor assistant`},
		"deep nesting":            {sampling(`{"messages":[],"maxTokens":1,"x":` + strings.Repeat("[", 65) + strings.Repeat("]", 65) + `}`), "", "is nested more than 64 deep"},
	} {
		t.Run(name, func(t *testing.T) {
			ask, err := Parse([]byte(c.ask))
			got := ""
			if err != nil {
				got = err.Error()
			}
			if got != c.err {
				t.Fatalf("got the error %q, want %q", got, c.err)
			}
			if err != nil {
				return
			}
			if missing := (Client{}).Missing(ask); missing.String() != c.needs {
				t.Errorf("it needs %q, want %q", missing, c.needs)
			}
		})
	}
}

func TestClient(t *testing.T) {
	for capabilities, want := range map[string]string{
		`{}`:                                     `{}`,
		`[]`:                                     `{}`,
		`{"elicitation":{}}`:                     `{"elicitation":{"form":{}}}`,
		`{"elicitation":{"url":{}}}`:             `{"elicitation":{"url":{}}}`,
		`{"elicitation":{"url":{},"form":{}}}`:   `{"elicitation":{"form":{},"url":{}}}`,
		`{"elicitation":true,"sampling":null}`:   `{}`,
		`{"sampling":{"tools":{},"context":{}}}`: `{"sampling":{"tools":{},"context":{}}}`,
		`{"roots":{"listChanged":true}}`:         `{"roots":{}}`,
	} {
		if got := string(ParseClient([]byte(capabilities)).JSON()); got != want {
			t.Errorf("%s: got %s, want %s", capabilities, got, want)
		}
	}
	all := Client{Form: true, URL: true, Sampling: true, SamplingTools: true, SamplingContext: true, Roots: true}
	if diff := cmp.Diff(all, all.Restrict(Kinds)); diff != "" {
		t.Error(diff)
	}
	if got := string(all.Restrict([]Kind{Roots}).JSON()); got != `{"roots":{}}` {
		t.Errorf("restricted to roots: %s", got)
	}
}

func TestCheckAnswer(t *testing.T) {
	for _, c := range []struct {
		kind         Kind
		answer, want string
	}{
		{Elicitation, `{"action":"accept","content":{}}`, ""},
		{Elicitation, `{"action":"cancel","content":null}`, ""},
		{Elicitation, `{"action":"yes"}`, "action is none of accept, decline, cancel"},
		{Elicitation, `{"action":"accept","content":[]}`, "content is not an object"},
		{Elicitation, `{"action":"accept","action":"accept"}`, `the member "action" is ambiguous`},
		{Elicitation, `{"action":"accept","CONTENT":[]}`, `the member "CONTENT" is ambiguous`},
		{Sampling, `{"role":"assistant","content":[],"Role":"x"}`, `the member "Role" is ambiguous`},
		{Roots, `{"roots":[],"Roots":7}`, `the member "Roots" is ambiguous`},
		{Roots, `{"roots":[{"uri":"file:///","URI":7}]}`, `the member "URI" of roots[0] is ambiguous`},
		{Elicitation, `7`, "it is not an object"},
		{Sampling, `{"role":"assistant","content":[],"model":"m"}`, ""},
		{Sampling, `{"content":{}}`, "role is neither user nor assistant"},
		{Sampling, `{"role":"user","content":"x"}`, "content is neither an object nor an array"},
		{Roots, `{"roots":[{"uri":"file:///"}]}`, ""},
		{Roots, `{}`, "roots is not an array"},
		{Roots, `{"roots":[{}]}`, "roots[0].uri is not a string"},
	} {
		if got := CheckAnswer(c.kind, []byte(c.answer)); got != c.want {
			t.Errorf("%s %s: got %q, want %q", c.kind, c.answer, got, c.want)
		}
	}
}
