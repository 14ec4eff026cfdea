package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"

	w "github.com/bulkhead-mcp/bulkhead/internal/authoring/wasmtest"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/call"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/extism"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// extismModule loads a module with the exports of a plugin of version 1, of which call has the given code.
func extismModule(t *testing.T, spec Spec, code ...[]byte) *Module {
	t.Helper()
	spec.Kind = Extism
	return loadBytes(t, w.Extism(map[string][]byte{"describe": nil, "call": slices.Concat(code...)}).Bytes(), spec)
}

// callExtism calls the export call with an input of {"params":params}.
func callExtism(t *testing.T, m *Module, params, interaction string) (string, error) {
	t.Helper()
	p := extism.Plugin{Version: extism.V1, Exports: m.Exports}
	r := call.Request{Method: abi.MethodToolsCall, Params: []byte(params), Members: []byte(interaction)}
	response, err := m.Call(t.Context(), Prepared{Request: new(call.Request), Extism: extism.Translate(p, r)})
	response.Release()
	return string(response.Body), err
}

const given = `{"content":[]}`

// runExtism calls a module whose code has no unexpected value, and which returns an empty result.
func runExtism(t *testing.T, spec Spec, code ...[]byte) *Module {
	t.Helper()
	m := extismModule(t, spec, append(code, w.Give(9, given))...)
	for range 2 { // the second call finds nothing of the first one
		got, err := callExtism(t, m, `{"name":"a"}`, "")
		if err != nil || got != `{"result":`+given+`}` {
			t.Fatalf("got %s, %v", got, err)
		}
	}
	return m
}

// operations returns a function for Spec.Operate that answers and records requests.
func operations(answer string) (*[]string, func(context.Context, []byte) []byte) {
	var got []string
	return &got, func(_ context.Context, request []byte) []byte {
		got = append(got, string(request))
		return []byte(answer)
	}
}

func TestExtismInput(t *testing.T) {
	const input = `{"params":{"name":"a"}}` // 23 bytes
	runExtism(t, Spec{},
		w.Expect64(23, w.Host("input_length")),
		w.Expect32('p', w.Host("input_load_u8", w.I64(2))),
		w.Expect32('}', w.Host("input_load_u8", w.I64(22))),
		w.Expect32(0, w.Host("input_load_u8", w.I64(23))),
		w.Expect32(0, w.Host("input_load_u8", w.I64(-1))),
		w.Expect64(int64(little([]byte(input[15:]))), w.Host("input_load_u64", w.I64(15))),
		w.Expect64(0, w.Host("input_load_u64", w.I64(16))),
		w.Expect64(0, w.Host("input_load_u64", w.I64(-4))),
	)
}

func TestExtismMemory(t *testing.T) {
	at := func(local byte, offset int64) []byte { return w.Code(w.Get(local), w.I64(offset), 0x7c) }
	runExtism(t, Spec{},
		w.Expect64(0, w.Host("alloc", w.I64(0))),
		w.Set(0, w.Host("alloc", w.I64(20))),
		w.Expect64(20, w.Host("length", w.Get(0))), w.Expect64(20, w.Host("length_unsafe", w.Get(0))),
		w.Expect64(0, w.Host("load_u64", w.Get(0))), // new memory is zero
		w.Host("store_u64", w.Get(0), w.I64(-2)), w.Host("store_u8", at(0, 8), w.I32(0x1ff)),
		w.Expect64(-2, w.Host("load_u64", w.Get(0))), w.Expect32(0xff, w.Host("load_u8", at(0, 8))), w.Expect32(0xff, w.Host("load_u8", at(0, 7))),
		w.Expect64(0, w.Host("length", at(0, 1))), // no block begins there
		w.Host("free", at(0, 1)), w.Host("free", w.I64(0)), w.Host("free", w.I64(-1)),
		w.Expect64(20, w.Host("length", w.Get(0))),
		w.Host("free", w.Get(0)), w.Host("free", w.Get(0)), w.Expect64(0, w.Host("length", w.Get(0))),
		// Addresses that no block has.
		w.Host("store_u64", w.I64(0), w.I64(1)), w.Host("store_u8", w.I64(-1), w.I32(1)), w.Host("store_u64", w.I64(-5), w.I64(1)),
		w.Expect64(0, w.Host("load_u64", w.I64(0))), w.Expect64(0, w.Host("load_u64", w.I64(-5))), w.Expect32(0, w.Host("load_u8", w.I64(1<<40))),
		w.Expect64(0, w.Host("length", w.I64(1<<40))), w.Expect64(0, w.Host("length_unsafe", w.I64(-1))),
	)
}

// TestExtismBlocksAreReused fills the memory limit many times over with blocks that are ended out of order.
func TestExtismBlocksAreReused(t *testing.T) {
	var code []byte
	for range 50 {
		code = append(code, slices.Concat(
			w.Set(0, w.Host("alloc", w.I64(100_000))), w.Set(1, w.Host("alloc", w.I64(100_000))), w.Set(2, w.Host("alloc", w.I64(100_001))),
			w.Host("free", w.Get(1)), w.Host("free", w.Get(0)), w.Set(1, w.Host("alloc", w.I64(150_000))),
			w.Host("free", w.Get(1)), w.Host("free", w.Get(2)),
		)...)
	}
	runExtism(t, Spec{Memory: 1 << 20}, code)

	// The blocks that end are not the last ones in the memory.
	last := w.Code(w.Host("alloc", w.I64(16)), 0x1a)
	code = slices.Concat(w.Set(0, w.Host("alloc", w.I64(100_000))), w.Set(1, w.Host("alloc", w.I64(200_000))), last)
	for range 50 {
		code = append(code, slices.Concat(w.Host("free", w.Get(0)), w.Host("free", w.Get(1)), w.Set(0, w.Host("alloc", w.I64(250_000))),
			w.Set(1, w.Host("alloc", w.I64(49_000))), last)...)
	}
	runExtism(t, Spec{Memory: 1 << 20}, code)
}

func TestExtismMemoryIsLimited(t *testing.T) {
	const limit = "needed more memory than its limit of 1 MiB"
	// 3,900 blocks of a byte fit into one page, but what the host keeps for them counts, too.
	small := w.Code(w.I32(13), 0x40, 0, 0x1a, 0x03, 0x40, w.Host("alloc", w.I64(1)), 0x1a, w.Get(5), w.I64(1), 0x7c, 0x22, 5, w.I64(3900), 0x54, 0x0d, 0, 0x0b)
	grow := w.Code(w.I32(8), 0x40, 0, 0x1a) // linear memory gets 8 more pages
	for name, code := range map[string][]byte{
		"a large block":             w.Code(w.Host("alloc", w.I64(1<<20)), 0x1a),
		"a block of 2^64-1 bytes":   w.Code(w.Host("alloc", w.I64(-1)), 0x1a),
		"many small blocks":         small,
		"blocks beside much memory": w.Code(grow, w.Host("alloc", w.I64(600_000)), 0x1a),
	} {
		t.Run(name, func(t *testing.T) {
			_, err := callExtism(t, extismModule(t, Spec{Memory: 1 << 20}, code), "{}", "")
			if failure := wantCode(t, err, CodeMemory); failure.Message != limit {
				t.Errorf("got %q", failure.Message)
			}
		})
	}
	t.Run("memory beside large blocks", func(t *testing.T) {
		runExtism(t, Spec{Memory: 1 << 20}, w.Code(w.Host("alloc", w.I64(600_000)), 0x1a),
			w.Expect32(-1, w.Code(w.I32(8), 0x40, 0)), w.Expect32(1, w.Code(w.I32(2), 0x40, 0)))
	})
}

func TestExtismOutput(t *testing.T) {
	t.Run("output is read at the end", func(t *testing.T) {
		m := extismModule(t, Spec{}, w.Give(0, `{"content":[?]}`), w.Host("store_u8", w.Code(w.Get(0), w.I64(12), 0x7c), w.I32(' ')))
		if got, err := callExtism(t, m, "{}", ""); err != nil || got != `{"result":{"content":[ ]}}` {
			t.Errorf("got %s, %v", got, err)
		}
	})
	t.Run("no output", func(t *testing.T) {
		for _, code := range [][]byte{nil, w.Host("output_set", w.I64(1<<30), w.I64(8)), w.Host("output_set", w.I64(0), w.I64(0))} {
			if got, err := callExtism(t, extismModule(t, Spec{}, code), "{}", ""); err != nil || !strings.Contains(got, "not a JSON object") {
				t.Errorf("got %s, %v", got, err)
			}
		}
	})
	t.Run("an output over the limit", func(t *testing.T) {
		m := extismModule(t, Spec{Output: 1000}, w.Set(0, w.Host("alloc", w.I64(1001))), w.Host("output_set", w.Get(0), w.I64(1001)))
		_, err := callExtism(t, m, "{}", "")
		wantCode(t, err, CodeOutputSize)
	})
	t.Run("an error", func(t *testing.T) {
		m := extismModule(t, Spec{}, w.Give(0, given), w.Block(1, "no tea"), w.Host("error_set", w.Get(1)), w.Host("error_set", w.I64(7)), w.I32(-1), []byte{0x0f})
		if got, err := callExtism(t, m, "{}", ""); err != nil || got != `{"result":{"content":[{"type":"text","text":"no tea"}],"isError":true}}` {
			t.Errorf("got %s, %v", got, err)
		}
	})
	t.Run("an error that is taken back", func(t *testing.T) {
		runExtism(t, Spec{}, w.Block(1, "no tea"), w.Host("error_set", w.Get(1)), w.Host("error_set", w.I64(0)))
	})
}

func TestExtismConfig(t *testing.T) {
	runExtism(t, Spec{Env: map[string]string{"KEY": "a value", "EMPTY": ""}},
		w.Block(0, "KEY"), w.Set(1, w.Host("config_get", w.Get(0))), w.ExpectText(1, "a value"),
		w.Block(0, "OTHER"), w.Expect64(0, w.Host("config_get", w.Get(0))), w.Expect64(0, w.Host("length", w.Get(0))), // the key is ended
		w.Block(0, "EMPTY"), w.Expect64(0, w.Host("config_get", w.Get(0))),
		w.Expect64(0, w.Host("config_get", w.I64(0))),
	)
}

func TestExtismVariablesLastOneCall(t *testing.T) {
	runExtism(t, Spec{},
		w.Block(0, "v"), w.Expect64(0, w.Host("var_get", w.Get(0))),
		w.Block(0, "v"), w.Block(1, "first"), w.Host("var_set", w.Get(0), w.Get(1)),
		w.Block(0, "v"), w.Block(1, "second"), w.Host("var_set", w.Get(0), w.Get(1)),
		w.Block(0, "v"), w.Set(2, w.Host("var_get", w.Get(0))), w.ExpectText(2, "second"),
		w.Expect64(0, w.Host("length", w.Get(1))),
		w.Block(0, "x"), w.Block(1, "other"), w.Host("var_set", w.Get(0), w.Get(1)),
		w.Block(0, "x"), w.Host("var_set", w.Get(0), w.I64(0)),
		w.Block(0, "x"), w.Expect64(0, w.Host("var_get", w.Get(0))),
	)
}

func TestExtismVariablesAreLimited(t *testing.T) {
	set := func(size int64) []byte {
		return w.Code(w.Block(0, "v"), w.Set(1, w.Host("alloc", w.I64(size))), w.Host("var_set", w.Get(0), w.Get(1)))
	}
	runExtism(t, Spec{}, set(maxVariables-variableCost-1), set(maxVariables-variableCost-1))
	other := w.Code(w.Block(0, "w"), w.Block(1, "x"), w.Host("var_set", w.Get(0), w.Get(1)))
	for _, code := range [][]byte{set(maxVariables - variableCost), w.Code(set(maxVariables-variableCost-1), other)} {
		_, err := callExtism(t, extismModule(t, Spec{}, code), "{}", "")
		if failure := wantCode(t, err, CodeMemory); failure.Message != "set variables of more than 1048576 bytes" {
			t.Errorf("got %q", failure.Message)
		}
	}
}

func TestExtismWebRequest(t *testing.T) {
	requests, operate := operations(`{"result":{"status":201,"url":"u","headers":{"x":["1","2"]},"body":"aGk="}}`)
	runExtism(t, Spec{Operate: operate},
		w.Expect32(0, w.Host("http_status_code")), w.Expect64(0, w.Host("http_headers")),
		w.Block(0, `{"url":"https://a.example","method":"post"}`), w.Block(1, "body"),
		w.Set(2, w.Host("http_request", w.Get(0), w.Get(1))), w.ExpectText(2, "hi"),
		w.Expect32(201, w.Host("http_status_code")), w.Set(3, w.Host("http_headers")), w.ExpectText(3, `{"x":"1, 2"}`),
		w.Expect64(0, w.Host("length", w.Get(1))),
	)
	want := `{"op":"http/fetch","params":{"url":"https://a.example","method":"POST","body":"Ym9keQ=="}}`
	if len(*requests) != 2 || (*requests)[0] != want {
		t.Errorf("requested %q, want %s", *requests, want)
	}
}

func TestExtismWebRequestThatIsRefused(t *testing.T) {
	for name, c := range map[string]struct{ request, answer, want string }{
		"denied":    {`{"url":"https://a.example"}`, `{"error":{"code":"denied","message":"the origin is not granted"}}`, "http_request: the origin is not granted (denied)"},
		"malformed": {`{"url":7}`, "{}", "http_request: the request is invalid: "},
	} {
		_, operate := operations(c.answer)
		m := extismModule(t, Spec{Operate: operate}, w.Block(0, c.request), w.Code(w.Host("http_request", w.Get(0), w.I64(0)), 0x1a, 0x00))
		for range 2 { // the call that the host has ended leaves nothing behind
			got, err := callExtism(t, m, "{}", "")
			if err != nil || !strings.HasPrefix(got, `{"result":{"content":[{"type":"text","text":"`+c.want) || !strings.HasSuffix(got, `"isError":true}}`) {
				t.Errorf("%s: got %s, %v", name, got, err)
			}
		}
	}
}

// TestExtismCallThatTheHostEndsLosesItsInstance ends a call while the module runs. Its instance must not have another call, even where
// instances are reused.
func TestExtismCallThatTheHostEndsLosesItsInstance(t *testing.T) {
	m := extismModule(t, Spec{Reused: true}, w.Expect32(0, w.Code(w.I32(64), 0x28, 2, 0)), w.Code(w.I32(64), w.I32(1), 0x36, 2, 0),
		w.Block(0, `{"url":"https://a.example"}`), w.Code(w.Host("http_request", w.Get(0), w.I64(0)), 0x1a))
	for range 2 {
		if got, err := callExtism(t, m, "{}", ""); err != nil || !strings.Contains(got, "this host provides no operations") {
			t.Errorf("got %s, %v", got, err)
		}
	}
}

func TestExtismLogs(t *testing.T) {
	var log bytes.Buffer
	logger := hclog.New(&hclog.LoggerOptions{Output: &log, Level: hclog.Debug, DisableTime: true})
	var code []byte
	for _, level := range []string{"trace", "debug", "info", "warn", "error"} {
		code = append(code, w.Code(w.Block(0, "a "+level), w.Host("log_"+level, w.Get(0)), w.Expect64(0, w.Host("length", w.Get(0))))...)
	}
	runExtism(t, Spec{Log: logger}, code, w.Expect32(1, w.Host("get_log_level")))
	for _, want := range []string{"[DEBUG] a debug", "[INFO]  a info", "[WARN]  a warn", "[ERROR] a error"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log lacks %q:\n%s", want, log.String())
		}
	}
	if strings.Contains(log.String(), "a trace") {
		t.Errorf("a line below the level is logged:\n%s", log.String())
	}
	runExtism(t, Spec{Log: hclog.New(&hclog.LoggerOptions{Level: hclog.Off})}, w.Expect32(1<<31-1, w.Host("get_log_level")))
	_, err := callExtism(t, extismModule(t, Spec{LogSize: 1000}, w.Block(0, strings.Repeat("x", 1001)), w.Host("log_info", w.Get(0))), "{}", "")
	wantCode(t, err, CodeLogSize)
}

func TestExtismAddressWithoutBlock(t *testing.T) {
	for _, name := range []string{"config_get", "var_get", "var_set", "http_request", "log_info", "notify_progress", "create_message"} {
		arguments := [][]byte{w.I64(5000)}
		if name == "var_set" || name == "http_request" {
			arguments = append(arguments, w.I64(0))
		}
		code := w.Host(name, arguments...)
		if !strings.Contains("var_set log_info notify_progress", name) {
			code = append(code, 0x1a)
		}
		_, err := callExtism(t, extismModule(t, Spec{}, code), "{}", "")
		if failure := wantCode(t, err, CodeMisuse); !strings.Contains(failure.Message, name+" was called with the address 5000") {
			t.Errorf("%s: %q", name, failure.Message)
		}
	}
}

func TestExtismLargeInputsAreRefused(t *testing.T) {
	for name, code := range map[string][]byte{
		"notify_progress": w.Code(w.Set(0, w.Host("alloc", w.I64(maxUserInput+1))), w.Host("notify_progress", w.Get(0))),
		"http_request":    w.Code(w.Set(0, w.Host("alloc", w.I64(maxWebRequest))), w.Block(1, "x"), w.Host("http_request", w.Get(1), w.Get(0)), 0x1a),
	} {
		_, err := callExtism(t, extismModule(t, Spec{}, code), "{}", "")
		if failure := wantCode(t, err, CodeMisuse); !strings.Contains(failure.Message, name+" was called with ") || !strings.Contains(failure.Message, "the limit is") {
			t.Errorf("%s: %q", name, failure.Message)
		}
	}
}

func TestExtismNotifications(t *testing.T) {
	requests, operate := operations(`{"result":null}`)
	runExtism(t, Spec{Operate: operate},
		w.Block(0, `{"level":"info","data":1}`), w.Host("notify_logging_message", w.Get(0)),
		w.Block(0, `{"progress":1}`), w.Host("notify_progress", w.Get(0)),
		w.Host("notify_prompt_list_changed"), w.Host("notify_resource_list_changed"), w.Host("notify_tool_list_changed"),
		w.Block(0, `{"uri":"a:b"}`), w.Host("notify_resource_updated", w.Get(0)),
		w.Block(0, `{"elicitationId":"x"}`), w.Host("notify_url_elicitation_completed", w.Get(0)),
	)
	var methods []string
	for _, request := range (*requests)[:len(*requests)/2] {
		var r struct{ Params abi.Notification }
		if err := json.Unmarshal([]byte(request), &r); err != nil {
			t.Fatal(err)
		}
		methods = append(methods, strings.TrimPrefix(r.Params.Method, "notifications/")+string(r.Params.Params))
	}
	want := []string{`message{"level":"info","data":1}`, `progress{"progress":1}`, "prompts/list_changed", "resources/list_changed", `resources/updated{"uri":"a:b"}`}
	if !slices.Equal(methods, want) {
		t.Errorf("sent %q, want %q", methods, want)
	}
}

func TestExtismNotificationThatIsRefusedIsLogged(t *testing.T) {
	var log bytes.Buffer
	_, operate := operations(`{"error":{"code":"invalid","message":"the manifest does not offer it"}}`)
	runExtism(t, Spec{Operate: operate, Log: hclog.New(&hclog.LoggerOptions{Output: &log})}, w.Host("notify_prompt_list_changed"))
	if !strings.Contains(log.String(), "notify_prompt_list_changed: the manifest does not offer it (invalid)") {
		t.Errorf("the log is %s", log.String())
	}
}

func TestExtismSecretsAreRefused(t *testing.T) {
	var log bytes.Buffer
	runExtism(t, Spec{Log: hclog.New(&hclog.LoggerOptions{Output: &log})},
		w.Block(0, `{"service":"s","user":"u"}`), w.Expect64(0, w.Host("get_keyring_secret", w.Get(0))),
		w.Block(0, `{"client_id":"c"}`), w.Set(1, w.Host("get_access_token", w.Get(0))), w.ExpectText(1, "null"),
	)
	if !strings.Contains(log.String(), "get_keyring_secret: refused") || !strings.Contains(log.String(), "get_access_token: refused") {
		t.Errorf("the log is %s", log.String())
	}
}

func TestExtismCallAsksAndIsReplayed(t *testing.T) {
	const client = `"client":{"elicitation":{"form":{}},"sampling":{},"roots":{}}`
	const form = `{"message":"Name?","requestedSchema":{"type":"object","properties":{}}}`
	const sample = `{"messages":[{"role":"user","content":{"type":"text","text":"a"}}],"maxTokens":5}`
	answers := map[string]string{
		"elicitation/create":     `{"action":"accept","content":{"n":"Ada"}}`,
		"sampling/createMessage": `{"role":"assistant","content":{"type":"text","text":"b"},"model":"m"}`,
		"roots/list":             `{"roots":[{"uri":"file:///a"}]}`,
	}
	m := extismModule(t, Spec{},
		w.Block(0, form), w.Set(1, w.Host("create_elicitation", w.Get(0))), w.ExpectText(1, answers["elicitation/create"]),
		w.Block(0, sample), w.Set(1, w.Host("create_message", w.Get(0))), w.ExpectText(1, answers["sampling/createMessage"]),
		w.Set(1, w.Host("list_roots")), w.ExpectText(1, answers["roots/list"]),
		w.Give(9, given))
	recorded := map[string]json.RawMessage{}
	var asked []string
	for range 4 {
		known, err := json.Marshal(recorded)
		if err != nil {
			t.Fatal(err)
		}
		got, err := callExtism(t, m, `{"name":"a"}`, "{"+client+`,"answers":`+string(known)+"}")
		if err != nil {
			t.Fatal(err)
		}
		var response abi.Response
		if err := json.Unmarshal([]byte(got), &response); err != nil {
			t.Fatal(err)
		}
		if response.Ask == nil {
			if string(response.Result) != given {
				t.Errorf("the result is %s", got)
			}
			break
		}
		for id, request := range response.Ask.Requests {
			asked = append(asked, request.Method)
			recorded[id] = json.RawMessage(answers[request.Method])
		}
	}
	if want := []string{"elicitation/create", "sampling/createMessage", "roots/list"}; !slices.Equal(asked, want) {
		t.Errorf("asked %q, want %q; answers %v", asked, want, slices.Collect(maps.Keys(recorded)))
	}
}

// TestExtismWorkIsCharged makes calls that move many bytes with few instructions.
func TestExtismWorkIsCharged(t *testing.T) {
	const size = maxVariables
	large := w.Set(0, w.Host("alloc", w.I64(size)))
	fuel := func(code []byte) int64 {
		p := extism.Plugin{Version: extism.V1, Exports: func(string) bool { return true }}
		response, err := extismModule(t, Spec{LogSize: 8 << 20}, code).Call(t.Context(), Prepared{Request: new(call.Request), Extism: extism.Translate(p, call.Request{Method: abi.MethodToolsCall})})
		if err != nil {
			t.Fatal(err)
		}
		response.Release()
		return response.Fuel
	}
	allocated := fuel(large)
	for name, code := range map[string][]byte{
		"log":    w.Code(large, w.Host("log_trace", w.Get(0))),
		"output": w.Code(large, w.Host("output_set", w.Get(0), w.I64(size))),
		"config": w.Code(large, w.Host("config_get", w.Get(0)), 0x1a),
	} {
		if used := fuel(code) - allocated; used < size/bytesPerFuel {
			t.Errorf("%s: used %d units of fuel", name, used)
		}
	}
}

func TestExtismInitialization(t *testing.T) {
	counted := w.Expect32(7, w.Code(w.I32(64), 0x28, 2, 0)) // the initialization adds 7 to the word at address 64
	for _, name := range []string{"_initialize", "__wasm_call_ctors"} {
		m := w.Extism(map[string][]byte{"describe": nil, "call": w.Code(counted, w.Expect64(0, w.Host("length", w.I64(kernelBase))), w.Give(9, given))})
		m.Funcs = append(m.Funcs, w.Func{Name: name, Locals: []byte{1, 1, 0x7e}, Code: w.Code(
			w.Block(0, "kept until its end"), w.Expect64(0, w.Host("input_length")),
			w.I32(64), w.Code(w.I32(64), 0x28, 2, 0), w.I32(7), 0x6a, 0x36, 2, 0, 0x0b)})
		loaded := loadBytes(t, m.Bytes(), Spec{Kind: Extism})
		for range 2 {
			if got, err := callExtism(t, loaded, "{}", ""); err != nil || got != `{"result":`+given+`}` {
				t.Errorf("%s: got %s, %v", name, got, err)
			}
		}
	}
}

func TestExtismFunctionsInInitialization(t *testing.T) {
	for _, call := range [][]byte{
		w.Host("notify_prompt_list_changed"),
		w.Code(w.Host("list_roots"), 0x1a),
		w.Code(w.Block(0, `{"url":"https://a.example"}`), w.Host("http_request", w.Get(0), w.I64(0)), 0x1a),
	} {
		m := w.Extism(map[string][]byte{"describe": nil, "call": nil})
		m.Funcs = append(m.Funcs, w.Func{Name: "_initialize", Locals: []byte{1, 1, 0x7e}, Code: w.Code(call, 0x0b)})
		_, err := callExtism(t, loadBytes(t, m.Bytes(), Spec{Kind: Extism}), "{}", "")
		wantCode(t, err, CodeMisuse)
	}
}

func TestExtismModulesThatAreRefused(t *testing.T) {
	valid := func() w.Module { return w.Extism(map[string][]byte{"describe": nil, "call": nil}) }
	signature, unknown, parameters, noPlugin, noMemory := valid(), valid(), valid(), w.Extism(map[string][]byte{"greet": nil}), valid()
	signature.Imports = append(slices.Clone(signature.Imports), w.Import{Module: "extism:host/env", Name: "alloc", Type: 0})
	unknown.Imports = append(slices.Clone(unknown.Imports), w.Import{Module: "extism:host/env", Name: "reset", Type: 0})
	parameters.Funcs[0].Type, parameters.Funcs[0].Code = 4, []byte{0x41, 0, 0x0b}
	noMemory.Memory = nil
	for name, c := range map[string]struct {
		module w.Module
		want   string
	}{
		"signature":  {signature, "its import extism:host/env.alloc does not have the signature that Extism defines"},
		"unknown":    {unknown, `it imports "extism:host/env"."reset", which the host does not provide`},
		"parameters": {parameters, "has parameters, or a result that is not an i32"},
		"no plugin":  {noPlugin, "by which hyper-mcp knows a plugin"},
		"no memory":  {noMemory, "it does not export its memory"},
	} {
		_, err := Load(t.Context(), Spec{Name: "p", Kind: Extism, Code: compiled(t, writeModule(t, c.module.Bytes())).Dir})
		if failure := wantCode(t, err, CodeInvalidModule); !strings.Contains(failure.Message, c.want) {
			t.Errorf("%s: %q, want %q", name, failure.Message, c.want)
		}
	}
}
