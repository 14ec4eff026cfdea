package child

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/call"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/schema"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/engine"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/worker/wire"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// parsed returns the result of a response, or its error: an *askedClient, an *abi.Error or an *engine.Error.
func parsed(t testing.TB, v responses, r call.Request, response engine.Held) (json.RawMessage, error) {
	t.Helper()
	kind, body := v.parse(&r, response)
	var err error
	switch kind {
	case call.OK, call.ToolError:
		return body, nil
	case call.Asks:
		return nil, &askedClient{body}
	case call.RPCError:
		own := new(abi.Error)
		if err = json.Unmarshal(body, own); err == nil {
			return nil, own
		}
	case call.Failed:
		var f wire.Failure
		if err = json.Unmarshal(body, &f); err == nil {
			return nil, &engine.Error{Code: engine.Code(f.Code), Message: f.Message}
		}
	}
	t.Fatalf("the result of kind %d is invalid: %s, %v", kind, body, err)
	return nil, nil
}

type askedClient struct{ json []byte }

func (*askedClient) Error() string { return "the module asks the client" }

func TestWithFaults(t *testing.T) {
	faults := []error{errors.New(`write "a\nb": no space left`), errors.New("second")}
	const item = `{"text":"bulkhead: write \"a\\nb\": no space left\nbulkhead: second","type":"text"}`
	for name, c := range map[string]struct{ result, want string }{
		"the content of an error": {`{"content":[{"type":"text","text":"it did not work"}],"isError":true,"x":1}`,
			`{"content":[{"type":"text","text":"it did not work"},` + item + `],"isError":true,"x":1}`},
		"an error with empty content":                     {`{"content":[],"isError": true}`, `{"content":[` + item + `],"isError":true}`},
		"a success is unchanged":                          {`{"content":[],"isError":false}`, `{"content":[],"isError":false}`},
		"a result without isError is unchanged":           {`{"content":[]}`, `{"content":[]}`},
		"content that is not an array is unchanged":       {`{"content":"x","isError":true}`, `{"content":"x","isError":true}`},
		"an error that lacks content is unchanged":        {`{"isError":true}`, `{"isError":true}`},
		"a result that is not an object is unchanged":     {`[1]`, `[1]`},
		"a result whose isError is a string is unchanged": {`{"content":[],"isError":"true"}`, `{"content":[],"isError":"true"}`},
		"large integers are unchanged":                    {`{"content":[{"n":9007199254740993}],"isError":true}`, `{"content":[{"n":9007199254740993},` + item + `],"isError":true}`},
	} {
		t.Run(name, func(t *testing.T) {
			if got := string(withFaults(json.RawMessage(c.result), faults)); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestParse(t *testing.T) {
	invalid := func(what string) error {
		return &engine.Error{Code: engine.CodeInvalidResponse, Message: what}
	}
	const neither, notOfABI = "returned a response with neither a result nor an error", "returned an error that violates the ABI"
	fault := []error{errors.New("disk full")}
	for name, c := range map[string]struct {
		body   string
		faults []error
		want   string
		err    error
	}{
		"a result is returned unchanged":      {body: `{"result":{"b": 1, "content":[ ]}}`, want: `{"b": 1, "content":[ ]}`},
		"an error result contains the faults": {body: `{"result":{"content":[],"isError":true}}`, faults: fault, want: `{"content":[{"text":"bulkhead: disk full","type":"text"}],"isError":true}`},
		"a success with faults is unchanged":  {body: `{"result":{"content": []}}`, faults: fault, want: `{"content": []}`},
		"an error of the plugin": {body: `{"error":{"code":-7,"message":"m","data":[1]}}`,
			err: &abi.Error{Code: -7, Message: "m", Data: json.RawMessage("[1]")}},
		"an error of the plugin contains the faults": {body: `{"error":{"code":-7,"message":"m"}}`, faults: fault,
			err: &abi.Error{Code: -7, Message: "m\nbulkhead: disk full"}},
		"a result and an error": {body: `{"result":{},"error":{"code":1,"message":"m"}}`, err: &abi.Error{Code: 1, Message: "m"}},
		"malformed JSON":        {body: `{"result":`, err: invalid("returned a response that is not JSON")},
		"a result that is nested too deep": {body: `{"result":{"content":` + strings.Repeat("[", 119) + strings.Repeat("]", 119) + `}}`,
			err: invalid("returned a response that some clients cannot read: it is nested more than 120 deep")},
		"an error with data nested too deep": {body: `{"error":{"code":1,"message":"m","data":` + strings.Repeat("[", 119) + strings.Repeat("]", 119) + `}}`,
			err: invalid("returned a response that some clients cannot read: it is nested more than 120 deep")},
		"an ask that is nested too deep": {body: `{"ask":{"state":"","x":` + strings.Repeat("[", 119) + strings.Repeat("]", 119) + `}}`,
			err: invalid("returned a response that some clients cannot read: it is nested more than 120 deep")},
		"a number above all floats": {body: `{"result":{"content":[],"structuredContent":{"n":-1e999}}}`,
			err: invalid("returned a response that some clients cannot read: it has a number that exceeds the range of 64-bit floats")},
		"an empty response":              {body: ``, err: invalid("returned a response that is not JSON")},
		"two values":                     {body: `{} {}`, err: invalid("returned a response that is not JSON")},
		"an empty object":                {body: `{}`, err: invalid(neither)},
		"an array":                       {body: `["result"]`, err: invalid(neither)},
		"a key in upper case":            {body: `{"Result":{}}`, err: invalid(neither)},
		"an error that is a string":      {body: `{"error":"no"}`, err: invalid(notOfABI)},
		"an error that is null":          {body: `{"error":null}`, err: invalid(notOfABI)},
		"an error code that is a string": {body: `{"error":{"code":"1","message":"m"}}`, err: invalid(notOfABI)},
		"an ask where it is not allowed": {body: `{"ask":{"state":"s"}}`, err: invalid("asked the client in its response to m, where the ABI does not allow that")},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := parsed(t, responses{}, call.Request{Method: "m"}, engine.Held{Result: call.Result{Body: []byte(c.body)}, Faults: c.faults})
			if string(got) != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
			if diff := cmp.Diff(c.err, err, cmpopts.EquateEmpty()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestParseAsk(t *testing.T) {
	for body, want := range map[string]string{
		`{"ask":{"requests":{"r":{"method":"roots/list"}}}}`:    `ask {"requests":{"r":{"method":"roots/list"}}}`,
		`{"ask":{"state":""},"more":1}`:                         `ask {"state":""}`,
		`{"ask":{}}`:                                            "asked the client, but the ask violates the ABI: it has neither requests nor a state",
		`{"ask":null}`:                                          "asked the client, but the ask violates the ABI: it is not an object",
		`{"ask":{"state":""},"result":{}}`:                      "returned a response with both a result and an ask",
		`{"ask":{"state":""},"error":{"code":1,"message":"m"}}`: "m (1)",
		`{"ask":{"state":""}`:                                   "returned a response that is not JSON",
	} {
		_, err := parsed(t, responses{}, call.Request{Method: abi.MethodToolsCall}, engine.Held{Result: call.Result{Body: []byte(body)}})
		got := fmt.Sprint(err)
		if ask := (*askedClient)(nil); errors.As(err, &ask) {
			got = "ask " + string(ask.json)
		}
		if !strings.Contains(got, want) {
			t.Errorf("%s: got %q, want %q", body, got, want)
		}
	}
}

func defaults() wire.Limits { return wire.Limits{Memory: 64 << 20, Output: 8 << 20} }

// checkOutput returns why a tool's result violates the schema of an object.
func checkOutput(result string, l wire.Limits) string {
	v := newResponses(wire.Setup{Limits: l, Schemas: []json.RawMessage{[]byte(`{"type":"object"}`)}})
	kind, body := v.parse(&call.Request{Method: abi.MethodToolsCall, Output: 1}, engine.Held{Result: call.Result{Body: []byte(`{"result":` + result + `}`)}})
	if kind == call.OK {
		return ""
	}
	var f wire.Failure
	_ = json.Unmarshal(body, &f) // f is empty then, which no test expects
	return f.Message
}

func TestResultsAreValidated(t *testing.T) {
	v := newResponses(wire.Setup{Limits: defaults(), Schemas: []json.RawMessage{[]byte(`{"required":["a"]}`), []byte(`{"type":7}`)}})
	const without = `{"content":[],"structuredContent":{}}`
	for name, c := range map[string]struct {
		output       int
		result, want string
	}{
		"a result that the schema allows":     {1, `{"content":[],"structuredContent":{"a":1}}`, ""},
		"a result that violates the schema":   {1, without, "returned structuredContent that violates its output schema: "},
		"a result without structured content": {1, `{"content":[]}`, "returned a result without the structuredContent that its output schema requires"},
		"a result that reports an error":      {1, `{"content":[],"isError":true}`, ""},
		"a result that MCP does not allow":    {1, `{"content":7,"structuredContent":{"a":1}}`, "returned an invalid result: "},
		"a schema that is invalid":            {2, without, "has an output schema"},
		"no schema":                           {0, without, ""},
		"a number above those of the schemas": {3, without, ""},
		"no schema, and an invalid result":    {0, `{"content":7}`, "returned an invalid result: "},
	} {
		_, err := parsed(t, v, call.Request{Method: abi.MethodToolsCall, Output: c.output}, engine.Held{Result: call.Result{Body: []byte(`{"result":` + c.result + `}`)}})
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
}

// manyObjects returns a JSON array of about size bytes with three bytes per item.
func manyObjects(size int) string { return "[" + strings.Repeat("{},", size/3) + "{}]" }

func TestStructuredContentIsBoundedBeforeItIsDecoded(t *testing.T) {
	limits := defaults()
	limits.Output = 64 << 20
	v := newResponses(wire.Setup{Limits: limits, Schemas: []json.RawMessage{[]byte(`{"type":"object"}`)}})
	result := []byte(`{"result":{"content":[],"structuredContent":{"a":` + manyObjects(12<<20) + `}}}`)
	why := ""
	allocated := testenv.AllocatedBy(func() {
		_, err := parsed(t, v, call.Request{Method: abi.MethodToolsCall, Output: 1}, engine.Held{Result: call.Result{Body: result}})
		why = strings.TrimPrefix(fmt.Sprint(err), `plugin "" `)
	})
	if want := "returned structuredContent that violates its output schema: contains more than 1048576 values"; why != want {
		t.Errorf("got %q, want %q", why, want)
	}
	if allocated > 1<<20 {
		t.Errorf("%d bytes allocated for a result of %d that is refused", allocated, len(result))
	}
}

// The memory that validation allocates must be proportional to the memory limit of the call.
func TestValidationMemoryIsProportionalToLimits(t *testing.T) {
	limits := defaults()
	most := int((limits.Memory + limits.Output) / schema.BytesPerValue)
	for _, item := range []string{`{}`, `[]`, `1`, `""`, `{"":{}}`} {
		n := most - 3
		if strings.Contains(item, ":") {
			n /= 2
		}
		result := `{"content":[],"structuredContent":{"a":[` + strings.Repeat(item+",", n) + item + `]}}`
		why := ""
		allocated := testenv.AllocatedBy(func() { why = checkOutput(result, limits) })
		if why != "" {
			t.Errorf("an array of %s is refused: %s", item, why)
		}
		if bound := uint64(3 * (limits.Memory + limits.Output)); allocated > bound {
			t.Errorf("%s: %d bytes allocated in all for %d bytes, want at most %d", item, allocated, len(result), bound)
		}
	}
}

func TestWithFaultsDoesNotDecodeContent(t *testing.T) {
	result := json.RawMessage(`{"isError":true,"content":` + manyObjects(4<<20) + `}`)
	var got json.RawMessage
	allocated := testenv.AllocatedBy(func() { got = withFaults(result, []error{errors.New("no space left")}) })
	if !strings.HasSuffix(string(got), `{},{"text":"bulkhead: no space left","type":"text"}],"isError":true}`) {
		t.Errorf("the result ends in %s", got[len(got)-100:])
	}
	if most := uint64(4 * len(result)); allocated > most {
		t.Errorf("%d bytes allocated for a result of %d, want at most %d", allocated, len(result), most)
	}
}

// FuzzResponse checks that any response yields a valid JSON result, an *abi.Error or an *engine.Error.
func FuzzResponse(f *testing.F) {
	for _, seed := range []string{
		`{"result":{"content":[{"type":"text","text":"done"}]}}`, `{"result":{"content":[],"isError":true}}`, `{"result":{"content":7,"isError":true}}`, `{"result":null}`, `{}`, ``, `null`, `[]`,
		`{"error":{"code":-32602,"message":"no","data":{"a":1}}}`, `{"error":null}`, `{"error":7}`, `{"error":{"code":1e99}}`,
		`{"result":1,"error":{"code":1,"message":"both"}}`, `{"result":1,"result":2}`, "{\"result\":\"\xff\"}", `{"result":{}} `, `{"res\u0075lt":{}}`,
	} {
		f.Add([]byte(seed), false)
		f.Add([]byte(seed), true)
	}
	f.Fuzz(func(t *testing.T, body []byte, faulty bool) {
		response := engine.Held{Result: call.Result{Body: body}}
		if faulty {
			response.Faults = []error{fs.ErrPermission}
		}
		result, err := parsed(t, responses{}, call.Request{Method: "m"}, response)
		switch {
		case err == nil && !json.Valid(result):
			t.Errorf("%q: the result %q is not JSON", body, result)
		case err != nil && !errors.As(err, new(*engine.Error)) && !errors.As(err, new(*abi.Error)):
			t.Errorf("%q: unexpected error type %T: %v", body, err, err)
		}
	})
}
