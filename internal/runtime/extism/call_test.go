package extism

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/internal/protocol/call"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

// exporting returns a plugin that exports some functions.
func exporting(v Version, names ...string) Plugin {
	return Plugin{Version: v, Exports: func(name string) bool { return slices.Contains(names, name) }}
}

func complete(v Version) Plugin { return exporting(v, v.Exports()...) }

func TestDetect(t *testing.T) {
	for exports, want := range map[string]Version{
		"call describe": V1, "call describe list_tools": V1, "call_tool list_tools": V2, "list_prompts": V2, "read_resource": V2,
		"call": 0, "describe": 0, "greet": 0, "": 0,
	} {
		got, err := Detect(exporting(0, strings.Fields(exports)...).Exports)
		if got != want || (err == nil) != (want != 0) {
			t.Errorf("%q: version %d, error %v; want version %d", exports, got, err, want)
		}
	}
}

func TestInputsOfRequests(t *testing.T) {
	for _, c := range []struct {
		version              Version
		method, params       string
		export, input, reply string
	}{
		{V1, "tools/call", `{"name":"a","arguments":{"x":[1,null]},"_meta":{"progressToken":1}}`, "call", `{"params":{"name":"a","arguments":{"x":[1,null]}}}`, ""},
		{V1, "tools/call", "", "call", `{"params":{}}`, ""},
		{V1, "bulkhead/describe", "", "describe", "", ""},
		{V1, "prompts/list", "{}", "", "", `{"result":{"prompts":[]}}`},
		{V1, "resources/templates/list", "", "", "", `{"result":{"resourceTemplates":[]}}`},
		{V1, "prompts/get", `{"name":"p"}`, "", "", `{"error":{"code":-32601,"message":"the plugin has no function for prompts/get"}}`},
		{V2, "tools/call", `{"_meta":{"k":"v"},"name":"a"}`, "call_tool", `{"request":{"name":"a"},"context":{"id":"0","_meta":{"k":"v"}}}`, ""},
		{V2, "tools/call", `{"_meta":"no object","name":"a"}`, "call_tool", `{"request":{"name":"a"},"context":{"id":"0","_meta":{}}}`, ""},
		{V2, "bulkhead/describe", "", "list_tools", `{"context":{"id":"0","_meta":{}}}`, ""},
		{V2, "prompts/list", `{"cursor":"c"}`, "list_prompts", `{"context":{"id":"0","_meta":{}}}`, ""},
		{V2, "prompts/get", `{"name":"p","arguments":{"a":"b"}}`, "get_prompt", `{"request":{"name":"p","arguments":{"a":"b"}},"context":{"id":"0","_meta":{}}}`, ""},
		{V2, "resources/list", "", "list_resources", `{"context":{"id":"0","_meta":{}}}`, ""},
		{V2, "resources/templates/list", "", "list_resource_templates", `{"context":{"id":"0","_meta":{}}}`, ""},
		{V2, "resources/read", `{"uri":"a:b"}`, "read_resource", `{"request":{"uri":"a:b"},"context":{"id":"0","_meta":{}}}`, ""},
		{V2, "completion/complete", `{"ref":{"name":"p","type":"ref/prompt"},"argument":{"name":"a","value":"v"}}`, "complete",
			`{"request":{"ref":{"type":"prompt","name":"p"},"argument":{"name":"a","value":"v"}},"context":{"id":"0","_meta":{}}}`, ""},
		{V2, "completion/complete", `{"ref":{"type":"ref/resource","uri":"u"}}`, "complete", `{"request":{"ref":{"type":"resource","uri":"u"}},"context":{"id":"0","_meta":{}}}`, ""},
		{V2, "unknown", "", "", "", `{"error":{"code":-32601,"message":"the plugin has no function for unknown"}}`},
	} {
		got := Translate(complete(c.version), call.Request{Method: c.method, Params: []byte(c.params)})
		if got.Export != c.export || string(got.Input) != c.input || string(got.Answer) != c.reply {
			t.Errorf("version %d, %s %s: runs %q with %s or answers %s; want %q, %s, %s", c.version, c.method, c.params, got.Export, got.Input, got.Answer, c.export, c.input, c.reply)
		}
	}
}

func TestAbsentFunctions(t *testing.T) {
	p := exporting(V2, "call_tool")
	for method, want := range map[string]string{
		"bulkhead/describe":   `{"result":{"tools":[],"prompts":false,"resources":false,"completions":false,"version":2,"list":[]}}`,
		"resources/list":      `{"result":{"resources":[]}}`,
		"resources/read":      `{"error":{"code":-32601,"message":"the plugin has no function for resources/read"}}`,
		"completion/complete": `{"error":{"code":-32601,"message":"the plugin has no function for completion/complete"}}`,
	} {
		if got := Translate(p, call.Request{Method: method}); string(got.Answer) != want || got.Export != "" {
			t.Errorf("%s: %s, want %s", method, got.Answer, want)
		}
	}
}

func TestResponses(t *testing.T) {
	const rpc = `{"error":{"code":-32603,"message":`
	tool := func(text string) string {
		return `{"result":{"content":[{"type":"text","text":` + text + `}],"isError":true}}`
	}
	for _, c := range []struct {
		method          string
		code            int32
		output, message string
		want            string
	}{
		{"tools/call", 0, `{"content":[{"type":"text","text":"a","annotations":null}],"isError":null}`, "", `{"result":{"content":[{"type":"text","text":"a"}]}}`},
		{"tools/call", 0, ` {"content" : [ ] } `, "", `{"result": {"content" : [ ] } }`},
		{"tools/call", -1, `{"content":[]}`, "no \"such\" file", tool(`"no \"such\" file"`)},
		{"tools/call", 0, `{"content":[]}`, "set although it returned 0", tool(`"set although it returned 0"`)},
		{"tools/call", 7, `{"content":[]}`, "", tool(`"the function call_tool failed with the code 7 and without an error message"`)},
		{"tools/call", -1, "", "\xff", tool(`"` + "\uFFFD" + `"`)},
		{"tools/call", 0, "", "", tool(`"the function call_tool returned output that is not a JSON object"`)},
		{"tools/call", 0, `{}},"ask":{"requests":{}`, "", tool(`"the function call_tool returned output that is not a JSON object"`)},
		{"tools/call", 0, `[]`, "", tool(`"the function call_tool returned output that is not a JSON object"`)},
		{"prompts/get", -1, "", "no such prompt", rpc + `"no such prompt"}}`},
		{"prompts/list", 3, "", "", rpc + `"the function list_prompts failed with the code 3 and without an error message"}}`},
		{"resources/read", 0, `{"contents":[{"uri":"a:b","text":"null","mimeType":null}]}`, "", `{"result":{"contents":[{"uri":"a:b","text":"null"}]}}`},
		{"bulkhead/describe", 0, `{"tools":[{"name":"a","title":null,"inputSchema":{"default":null}},{"name":7}]}`, "",
			`{"result":{"tools":["a",""],"prompts":true,"resources":true,"completions":true,"version":2,"list":[{"name":"a","inputSchema":{"default":null}},{"name":7}]}}`},
		{"bulkhead/describe", 0, `{"tools":"none"}`, "", `{"result":{"tools":[],"prompts":true,"resources":true,"completions":true,"version":2,"list":[]}}`},
	} {
		got := Translate(complete(V2), call.Request{Method: c.method}).Response(c.code, []byte(c.output), []byte(c.message))
		if diff := cmp.Diff(c.want, string(got)); diff != "" {
			t.Errorf("%s %d %s %s (-want +got):\n%s", c.method, c.code, c.output, c.message, diff)
		}
		if !json.Valid(got) {
			t.Errorf("%s is not JSON", got)
		}
	}
}

func TestWithoutNulls(t *testing.T) {
	for in, want := range map[string]string{
		`null`: `null`, `[null]`: `[null]`, `{"a":null}`: `{}`, `{"a":null,"b":1}`: `{"b":1}`, `{"b":1,"a":null}`: `{"b":1}`,
		`{"b":1 , "a" : null , "c" : {"x":null,"y":[{"z":null},"null"]} }`:        `{"b":1,"c":{"y":[{},"null"]}}`,
		`{"structuredContent":{"a":null},"_meta":null,"isError":null}`:            `{"structuredContent":{"a":null}}`,
		`{"x":"{\"a\":null}","\u0061":null}`:                                      `{"x":"{\"a\":null}"}`,
		`[{"inputSchema":{"x":[{"y":null}]},"outputSchema":null},null,-1.5e3,""]`: `[{"inputSchema":{"x":[{"y":null}]}},null,-1.5e3,""]`,
	} {
		if got := string(withoutNulls([]byte(in))); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}

func TestWithoutNullsTakesDeepNesting(t *testing.T) {
	const depth = 9000
	in := strings.Repeat(`{"a":[`, depth/2) + `{"b":null}` + strings.Repeat(`]}`, depth/2)
	want := strings.Repeat(`{"a":[`, depth/2) + `{}` + strings.Repeat(`]}`, depth/2)
	if got := string(withoutNulls([]byte(in))); got != want {
		t.Errorf("nested JSON became %.80s…", got)
	}
}

// FuzzWithoutNulls compares the result with that of decoding.
func FuzzWithoutNulls(f *testing.F) {
	for _, seed := range []string{`{"a":null,"b":[{"c":null}, null ],"_meta":{"a":null}}`, ` [ ] `, `{"a\"":null,"x":{"y":null}}`, `null`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if !rawjson.Valid(text) || rawjson.Bound(text, 1000, 100) != nil {
			t.Skip()
		}
		var want, got any
		if json.Unmarshal(text, &want) != nil {
			t.Skip()
		}
		out := withoutNulls(text)
		if err := json.Unmarshal(out, &got); err != nil {
			t.Fatalf("%s became %s: %v", text, out, err)
		}
		if hasDuplicates(text) {
			return // decoding uses the last of two members, which may be null
		}
		if diff := cmp.Diff(dropNulls(want), got); diff != "" {
			t.Errorf("%s became %s:\n%s", text, out, diff)
		}
	})
}

func dropNulls(value any) any {
	switch value := value.(type) {
	case map[string]any:
		for key, member := range value {
			if member == nil {
				delete(value, key)
			} else if !slices.Contains(opaque, key) {
				value[key] = dropNulls(member)
			}
		}
	case []any:
		for i := range value {
			value[i] = dropNulls(value[i])
		}
	}
	return value
}

func hasDuplicates(value []byte) bool {
	seen := map[string]bool{}
	for key, member := range rawjson.Members(value) {
		if seen[key] || hasDuplicates(member) {
			return true
		}
		seen[key] = true
	}
	for _, element := range rawjson.Elements(value) {
		if hasDuplicates(element) {
			return true
		}
	}
	return false
}

// FuzzResponse checks that no output makes a module's response ask the client, or be two values.
func FuzzResponse(f *testing.F) {
	f.Add("tools/call", int32(0), []byte(`{"content":[]}`), []byte(""))
	f.Add("bulkhead/describe", int32(0), []byte(`{"tools":[{"name":"a"}]}`), []byte(""))
	f.Add("prompts/get", int32(0), []byte(`{}},"ask":{`), []byte("x"))
	f.Fuzz(func(t *testing.T, method string, code int32, output, message []byte) {
		for _, v := range []Version{V1, V2} {
			c := Translate(complete(v), call.Request{Method: method})
			got := c.Answer
			if c.Export != "" {
				got = c.Response(code, output, message)
			}
			var r abi.Response
			if err := json.Unmarshal(got, &r); err != nil || r.Ask != nil || (r.Result == nil) == (r.Error == nil) {
				t.Errorf("%q with %q became %q: %v", method, output, got, err)
			}
		}
	})
}
