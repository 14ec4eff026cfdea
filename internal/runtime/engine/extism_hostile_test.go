package engine

import (
	"strings"
	"testing"

	w "github.com/bulkhead-mcp/bulkhead/internal/authoring/wasmtest"
)

// TestExtismAddressInsideBlockIsNoBlock passes addresses in the used part of the kernel's memory where no block begins.
func TestExtismAddressInsideBlockIsNoBlock(t *testing.T) {
	inside := w.Code(w.Get(0), w.I64(1), 0x7c)
	for function, code := range map[string][]byte{
		"log_info":        w.Host("log_info", inside),
		"config_get":      w.Code(w.Host("config_get", inside), 0x1a),
		"var_set":         w.Host("var_set", w.Get(0), inside),
		"notify_progress": w.Host("notify_progress", inside),
	} {
		_, err := callExtism(t, extismModule(t, Spec{}, w.Block(0, "text"), code), "{}", "")
		if failure := wantCode(t, err, CodeMisuse); !strings.Contains(failure.Message, function+" was called with the address 1025, where no block begins") {
			t.Errorf("%s: %q", function, failure.Message)
		}
	}
}

// TestExtismMemoryOfStartFunctionIsReset has a start function that leaves a block and an output.
func TestExtismMemoryOfStartFunctionIsReset(t *testing.T) {
	m := w.Extism(map[string][]byte{"describe": nil, "call": w.Code(w.Expect64(0, w.Host("length", w.I64(kernelBase))),
		w.Expect64(0, w.Host("load_u64", w.I64(kernelBase))), w.Give(9, given))})
	m.Start = []byte{byte(len(m.Imports) + len(m.Funcs))}
	m.Funcs = append(m.Funcs, w.Func{Locals: []byte{1, 1, 0x7e}, Code: w.Code(w.Block(0, "of the start function"), 0x0b)})
	loaded := loadBytes(t, m.Bytes(), Spec{Kind: Extism})
	for range 2 {
		if got, err := callExtism(t, loaded, "{}", ""); err != nil || got != `{"result":`+given+`}` {
			t.Errorf("got %s, %v", got, err)
		}
	}
}

// TestExtismGrowthIsCharged allocates memory that the module does not touch.
func TestExtismGrowthIsCharged(t *testing.T) {
	const size = 32 << 20
	_, err := callExtism(t, extismModule(t, Spec{Fuel: 1_000_000}, w.Code(w.Host("alloc", w.I64(size)), 0x1a), w.Give(9, given)), "{}", "")
	wantCode(t, err, CodeFuel)
}

// TestExtismResponseIsBoundedAfterConversion has outputs within the limit, whose conversion exceeds it.
func TestExtismResponseIsBoundedAfterConversion(t *testing.T) {
	const limit = 2000
	for name, code := range map[string][]byte{
		"an error message": w.Code(w.Block(0, strings.Repeat("\x01", 1000)), w.Host("error_set", w.Get(0))),
		"a request":        w.Code(w.Block(0, `{"message":"`+strings.Repeat("a", limit)+`","requestedSchema":{"type":"object","properties":{}}}`), w.Host("create_elicitation", w.Get(0)), 0x1a),
	} {
		_, err := callExtism(t, extismModule(t, Spec{Output: limit}, code), "{}", `{"client":{"elicitation":{"form":{}}}}`)
		if failure := wantCode(t, err, CodeOutputSize); !strings.Contains(failure.Message, "limit is 2000") {
			t.Errorf("%s: %q", name, failure.Message)
		}
	}
}

// TestExtismKeysAreBounded passes blocks that the host would have to copy.
func TestExtismKeysAreBounded(t *testing.T) {
	large := w.Set(0, w.Host("alloc", w.I64(maxVariables+1)))
	for name, code := range map[string][]byte{
		"config_get": w.Code(w.Host("config_get", w.Get(0)), 0x1a),
		"var_get":    w.Code(w.Host("var_get", w.Get(0)), 0x1a),
		"var_set":    w.Code(w.Host("var_set", w.Get(0), w.I64(0))),
	} {
		_, err := callExtism(t, extismModule(t, Spec{}, large, code), "{}", "")
		if failure := wantCode(t, err, CodeMisuse); !strings.Contains(failure.Message, name+" was called with 1048577 bytes") {
			t.Errorf("%s: %q", name, failure.Message)
		}
	}
}

// TestExtismDeepInputs passes JSON that nests deeper than encoding/json decodes.
func TestExtismDeepInputs(t *testing.T) {
	deep := w.Block(0, `{"message":`+strings.Repeat("[", 12_000)+strings.Repeat("]", 12_000)+"}")
	for function, code := range map[string][]byte{
		"notify_progress":    w.Host("notify_progress", w.Get(0)),
		"create_elicitation": w.Code(w.Host("create_elicitation", w.Get(0)), 0x1a),
		"create_message":     w.Code(w.Host("create_message", w.Get(0)), 0x1a),
		"http_request":       w.Code(w.Host("http_request", w.Get(0), w.I64(0)), 0x1a),
	} {
		requests, operate := operations(`{"result":null}`)
		got, err := callExtism(t, extismModule(t, Spec{Operate: operate}, deep, code), "{}", `{"client":{"elicitation":{"form":{}},"sampling":{}}}`)
		if err != nil || !strings.Contains(got, "is not a JSON object") || len(*requests) > 0 {
			t.Errorf("%s: got %s, %v, and the operations %q", function, got, err, *requests)
		}
	}
}
