package sdk_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/sdk"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

type person struct {
	Name string `json:"name"`
}

func greet(_ context.Context, who person) (*sdk.ToolResult, error) {
	return sdk.Text("Hello, " + who.Name), nil
}

// dispatch returns the response to a request. The plugin has one tool called "t", whose handler is handle.
func dispatch[In any](handle func(context.Context, In) (*sdk.ToolResult, error), request string) string {
	p := sdk.New()
	sdk.HandleTool(p, "t", handle)
	return string(p.Dispatch([]byte(request)))
}

func call(params string) string { return `{"method":"tools/call","params":` + params + `}` }

func TestDispatchReportsErrors(t *testing.T) {
	fail := func(err error) func(context.Context, struct{}) (*sdk.ToolResult, error) {
		return func(context.Context, struct{}) (*sdk.ToolResult, error) { return nil, err }
	}
	cases := []struct{ name, got, want string }{
		{"an error of a handler is a result", dispatch(fail(errors.New("<no>")), call(`{"name":"t"}`)),
			`{"result":{"content":[{"type":"text","text":"<no>"}],"isError":true}}`},
		{"an *Error fails the request", dispatch(fail(fmt.Errorf("wrapped: %w", &sdk.Error{Code: -1, Message: "no", Data: json.RawMessage(`[1]`)})), call(`{"name":"t"}`)),
			`{"error":{"code":-1,"message":"no","data":[1]}}`},
		{"invalid data of an *Error is dropped", dispatch(fail(&sdk.Error{Code: -1, Message: "no", Data: json.RawMessage(`[`)}), call(`{"name":"t"}`)),
			`{"error":{"code":-1,"message":"no"}}`},
		{"a handler has to return something", dispatch(fail(nil), call(`{"name":"t"}`)),
			`{"error":{"code":-32603,"message":"the handler of tool \"t\" returned neither a result nor an error"}}`},
		{"invalid arguments are a result", dispatch(greet, call(`{"name":"t","arguments":{"name":1}}`)),
			`{"result":{"content":[{"type":"text","text":"invalid arguments: json: cannot unmarshal number into Go struct field person.name of type string"}],"isError":true}}`},
		{"an unknown tool", dispatch(greet, call(`{"name":"u"}`)), `{"error":{"code":-32602,"message":"no handler for tool \"u\""}}`},
		{"no name", dispatch(greet, call(`{}`)), `{"error":{"code":-32602,"message":"params.name is not a string"}}`},
		{"params that are no object", dispatch(greet, call(`7`)), `{"error":{"code":-32602,"message":"params: not a JSON object"}}`},
		{"an unknown method", dispatch(greet, `{"method":"prompts/list"}`), `{"error":{"code":-32601,"message":"no handler for prompts/list"}}`},
		{"a request that is no object", dispatch(greet, `[]`), `{"error":{"code":-32603,"message":"request: not a JSON object"}}`},
	}
	for _, test := range cases {
		if diff := cmp.Diff(test.want, test.got); diff != "" {
			t.Errorf("%s (-want +got)\n%s", test.name, diff)
		}
	}
}

func TestContextHasDeadlineAndMeta(t *testing.T) {
	handle := func(ctx context.Context, _ json.RawMessage) (*sdk.ToolResult, error) {
		deadline, ok := ctx.Deadline()
		return sdk.Text(fmt.Sprint(deadline.UnixMilli(), ok, " ", string(sdk.Meta(ctx)), " ", string(sdk.ProgressToken(ctx)), " ", ctx.Err())), nil
	}
	want := fmt.Sprint(1234, true, ` {\"progressToken\":\"a\"} \"a\" <nil>`)
	got := dispatch(handle, `{"method":"tools/call","deadline":1234,"params":{"name":"t","_meta":{"progressToken":"a"}}}`)
	if got != `{"result":{"content":[{"type":"text","text":"`+want+`"}]}}` {
		t.Errorf("got %s", got)
	}
	want = fmt.Sprint(time.Time{}.UnixMilli(), false, "   <nil>")
	if got := dispatch(handle, call(`{"name":"t"}`)); got != `{"result":{"content":[{"type":"text","text":"`+want+`"}]}}` {
		t.Errorf("without any: got %s", got)
	}
}

func TestContentIsEncodedAsMCPRequires(t *testing.T) {
	result := &sdk.ToolResult{
		Content: []sdk.Content{
			sdk.TextContent{Text: "a\"b"}, sdk.ImageContent{Data: []byte{1}, MIMEType: "image/png"}, sdk.AudioContent{Data: []byte{2}, MIMEType: "audio/wav"},
			sdk.ResourceLink{Resource: sdk.Resource{URI: "x:y", Name: "y"}}, sdk.EmbeddedResource{Resource: sdk.ResourceContents{URI: "x:z", Blob: []byte{3}}},
		},
		StructuredContent: map[string]int{"n": 1},
		Meta:              map[string]any{"m": true},
	}
	const want = `{"content":[{"type":"text","text":"a\"b"},{"type":"image","data":"AQ==","mimeType":"image/png"},` +
		`{"type":"audio","data":"Ag==","mimeType":"audio/wav"},{"type":"resource_link","uri":"x:y","name":"y"},` +
		`{"type":"resource","resource":{"uri":"x:z","blob":"Aw=="}}],"structuredContent":{"n":1},"_meta":{"m":true}}`
	got := dispatch(func(context.Context, struct{}) (*sdk.ToolResult, error) { return result, nil }, call(`{"name":"t"}`))
	if diff := cmp.Diff(`{"result":`+want+`}`, got); diff != "" {
		t.Errorf("Dispatch (-want +got)\n%s", diff)
	}
	if marshaled, err := json.Marshal(result); err != nil || string(marshaled) != want {
		t.Errorf("json.Marshal: got %s, %v", marshaled, err)
	}
}

func TestDuplicateToolPanics(t *testing.T) {
	p := sdk.New()
	sdk.HandleTool(p, "t", greet)
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	sdk.HandleTool(p, "t", greet)
}

func TestHostCallOutsideOfHostIsUnavailable(t *testing.T) {
	var refused *sdk.HostError
	if err := sdk.Lock("name"); !errors.As(err, &refused) || refused.Code != abi.HostUnavailable {
		t.Errorf("got %v", err)
	}
}

// In a plugin, package main calls Serve from an init function. This example calls Dispatch instead, to show the response to one request.
func Example() {
	p := sdk.New()
	sdk.HandleTool(p, "greet", func(_ context.Context, who struct{ Name string }) (*sdk.ToolResult, error) {
		return sdk.Text("Hello, " + who.Name), nil
	})
	sdk.Serve(p)
	fmt.Println(string(p.Dispatch([]byte(`{"method":"tools/call","params":{"name":"greet","arguments":{"Name":"Ada"}}}`))))
	// Output: {"result":{"content":[{"type":"text","text":"Hello, Ada"}]}}
}
