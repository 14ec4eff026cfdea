package sdk_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/sdk"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

type count struct {
	Words []string       `json:"words"`
	Index map[string]int `json:"index"`
}

func TestHandleStructuredTool(t *testing.T) {
	p := sdk.New()
	sdk.HandleStructuredTool(p, "value", func(_ context.Context, in struct{ Text string }) (count, error) {
		return count{Words: []string{in.Text}}, nil
	})
	sdk.HandleStructuredTool(p, "pointer", func(_ context.Context, in struct{ Fail bool }) (*count, error) {
		if in.Fail {
			return nil, errors.New("no words")
		}
		return nil, nil
	})
	sdk.HandleStructuredTool(p, "map", func(context.Context, json.RawMessage) (map[string]any, error) { return nil, nil })
	for _, c := range []struct{ params, want string }{
		{`{"name":"value","arguments":{"Text":"<tea>"}}`, `{"result":{"content":[{"type":"text","text":"{\"words\":[\"<tea>\"],\"index\":{}}"}],"structuredContent":{"words":["<tea>"],"index":{}}}}`},
		{`{"name":"pointer","arguments":{"Fail":true}}`, `{"result":{"content":[{"type":"text","text":"no words"}],"isError":true}}`},
		{`{"name":"pointer"}`, `{"result":{"content":[{"type":"text","text":"the handler returned neither a result nor an error"}],"isError":true}}`},
		{`{"name":"map"}`, `{"result":{"content":[{"type":"text","text":"{}"}],"structuredContent":{}}}`},
	} {
		got := p.Dispatch([]byte(`{"method":"tools/call","params":` + c.params + `}`))
		if diff := cmp.Diff(c.want, string(got)); diff != "" {
			t.Errorf("%s: %s", c.params, diff)
		}
	}
}

func TestHandleStructuredToolRefusesOtherTypes(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("a tool that returns a list is accepted")
		}
	}()
	sdk.HandleStructuredTool(sdk.New(), "t", func(context.Context, struct{}) ([]int, error) { return nil, nil })
}

func TestDescribe(t *testing.T) {
	p := sdk.New()
	sdk.HandleStructuredTool(p, "typed", func(context.Context, struct {
		Text string `json:"text"`
	}) (struct{ N int }, error) {
		return struct{ N int }{}, nil
	})
	sdk.HandleTool(p, "raw", func(context.Context, json.RawMessage) (*sdk.ToolResult, error) { return nil, nil })
	sdk.HandleTool(p, "wrong", func(context.Context, struct{ A func() }) (*sdk.ToolResult, error) { return nil, nil })
	const plain = `{"result":{"tools":["raw","typed","wrong"],"prompts":false,"resources":false,"completions":false`
	for request, want := range map[string]string{
		`{"method":"bulkhead/describe"}`:                            plain + `}}`,
		`{"method":"bulkhead/describe","params":{}}`:                plain + `}}`,
		`{"method":"bulkhead/describe","params":{"schemas":false}}`: plain + `}}`,
		`{"method":"bulkhead/describe","params":{"schemas":true}}`: plain + `,"schemas":{"typed":{"input":{"type":"object","required":["text"],"additionalProperties":false,"properties":{"text":{"$comment":"struct.Text string","type":"string"}}},` +
			`"output":{"type":"object","required":["N"],"additionalProperties":false,"properties":{"N":{"$comment":"struct.N int","type":"integer"}}}},` +
			`"wrong":{"error":"arguments: struct { A func() }: the field A has the type func(), which cannot be used: JSON has no such value (` + "`json:\\\"-\\\"`" + ` leaves the field out)"}}}}`,
	} {
		if diff := cmp.Diff(want, string(p.Dispatch([]byte(request)))); diff != "" {
			t.Errorf("%s: %s", request, diff)
		}
	}
	if !json.Valid(p.Dispatch([]byte(`{"method":"` + abi.MethodDescribe + `","params":[]}`))) {
		t.Error("invalid parameters have no response")
	}
}
