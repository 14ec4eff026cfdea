package main

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/sdk"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
	"github.com/bulkhead-mcp/bulkhead/sdk/sdktest"
)

func TestToolResults(t *testing.T) {
	host := sdktest.New(t, plugin(), "plugin.toml")
	for _, test := range []struct{ tool, arguments, want string }{
		{"test_simple_text", "", `{"content":[{"type":"text","text":"This is a simple text response for testing."}]}`},
		{"test_image_content", "{}", `"type":"image"`},
		{"test_audio_content", "{}", `"mimeType":"audio/wav"`},
		{"test_embedded_resource", "{}", `"resource":{"uri":"test://embedded-resource","mimeType":"text/plain","text":"This is an embedded resource content."}`},
		{"test_multiple_content_types", "{}", `"text":"{\"test\":\"data\",\"value\":123}"`},
		{"test_structured_content", `{"city":"Ulm"}`, `"structuredContent":{"city":"Ulm","temperature":21.5}`},
		{"test_error_handling", "{}", `"isError":true`},
		{"json_schema_2020_12_tool", `{"name":"Ada","contactMethod":"phone","phone":"1"}`, `Called with {\"name\":\"Ada\"`},
		{"test_x_mcp_header", `{"region":"eu"}`, `Called with {\"region\":\"eu\"}`},
	} {
		result, err := host.CallTool(test.tool, test.arguments)
		if err != nil {
			t.Errorf("%s: %v", test.tool, err)
		} else if !strings.Contains(string(result.Raw), test.want) {
			t.Errorf("%s: got %s, want %s in it", test.tool, result.Raw, test.want)
		}
	}
	if _, err := host.CallTool("json_schema_2020_12_tool", `{"contactMethod":"phone","email":"a@example.com"}`); err == nil {
		t.Error("arguments that violate the condition of the schema were accepted")
	}
}

func TestNotifications(t *testing.T) {
	const (
		message  = "notifications/message"
		progress = "notifications/progress"
	)
	for _, test := range []struct {
		tool string
		want []string
		log  string
	}{
		{"test_tool_with_logging", []string{message, message, message}, ""},
		{"test_logging_tool", []string{message}, ""},
		{"test_tool_with_progress", []string{progress, progress, progress}, ""},
		{"test_trigger_prompt_change", []string{"notifications/prompts/list_changed"}, ""},
		{"test_trigger_resource_update", []string{"notifications/resources/updated"}, ""},
		{"test_trigger_tool_change", nil, askToolChange},
		{"test_reconnection", []string{message}, askCloseStream},
	} {
		host := sdktest.New(t, plugin(), "plugin.toml")
		result, err := host.CallToolParams(map[string]any{"name": test.tool, "_meta": map[string]any{"progressToken": 7}})
		if err != nil || result.IsError {
			t.Errorf("%s: got %+v, %v", test.tool, result, err)
		}
		var got []string
		for _, sent := range host.Notifications() {
			got = append(got, sent.Method)
		}
		if strings.Join(got, " ") != strings.Join(test.want, " ") {
			t.Errorf("%s: sent %q, want %q", test.tool, got, test.want)
		}
		if strings.Join(host.Log(), "\n") != test.log {
			t.Errorf("%s: logged %q, want %q", test.tool, host.Log(), test.log)
		}
	}
}

func TestPrompts(t *testing.T) {
	host := sdktest.New(t, plugin(), "plugin.toml")
	for _, test := range []struct{ name, arguments, want string }{
		{"test_simple_prompt", `{}`, `"text":"This is a simple prompt for testing."`},
		{"test_prompt_with_arguments", `{"arg1":"hello","arg2":"world"}`, `Prompt with arguments: arg1='hello', arg2='world'`},
		{"test_prompt_with_embedded_resource", `{"resourceUri":"test://x"}`, `"resource":{"uri":"test://x","mimeType":"text/plain","text":"Embedded resource content for testing."}`},
		{"test_prompt_with_image", `{}`, `"type":"image"`},
	} {
		result, err := host.Request(abi.MethodPromptsGet, map[string]any{"name": test.name, "arguments": json.RawMessage(test.arguments)})
		if err != nil || !strings.Contains(string(result), test.want) {
			t.Errorf("%s: got %s, %v, want %s in it", test.name, result, err, test.want)
		}
	}
	for _, name := range []string{"test_prompt_with_arguments", "unknown"} {
		if _, err := host.Request(abi.MethodPromptsGet, map[string]any{"name": name}); code(err) != abi.CodeInvalidParams {
			t.Errorf("%s without arguments: got %v", name, err)
		}
	}
}

func TestResources(t *testing.T) {
	host := sdktest.New(t, plugin(), "plugin.toml")
	for _, test := range []struct{ uri, want string }{
		{"test://static-text", `"text":"This is the content of the static text resource."`},
		{"test://static-binary", `"blob":"iVBORw0KGgo`},
		{watched, `"uri":"test://watched-resource"`},
		{"test://template/123/data", `"text":"{\"id\":\"123\",\"templateTest\":true,\"data\":\"Data for ID: 123\"}"`},
	} {
		result, err := host.Request(abi.MethodResourcesRead, map[string]any{"uri": test.uri})
		if err != nil || !strings.Contains(string(result), test.want) {
			t.Errorf("%s: got %s, %v, want %s in it", test.uri, result, err, test.want)
		}
	}
	for _, uri := range []string{"test://unknown", "test://template//data", "test://template/1/2/data", "test://template/1"} {
		_, err := host.Request(abi.MethodResourcesRead, map[string]any{"uri": uri})
		if code(err) != abi.CodeResourceNotFound {
			t.Errorf("%s: got %v", uri, err)
		}
	}
}

func TestComplete(t *testing.T) {
	host := sdktest.New(t, plugin(), "plugin.toml")
	for _, test := range []struct{ ref, value, want string }{
		{`{"type":"ref/prompt","name":"test_prompt_with_arguments"}`, "par", `["paris","park","party"]`},
		{`{"type":"ref/resource","uri":"test://template/{id}/data"}`, "12", `["123","124"]`},
		{`{"type":"ref/prompt","name":"test_simple_prompt"}`, "", `[]`},
	} {
		result, err := host.Request(abi.MethodComplete, map[string]any{
			"ref": json.RawMessage(test.ref), "argument": map[string]string{"name": "arg1", "value": test.value},
		})
		if err != nil || !strings.Contains(string(result), `"values":`+test.want) {
			t.Errorf("%s %q: got %s, %v", test.ref, test.value, result, err)
		}
	}
}

func TestAsks(t *testing.T) {
	const (
		accepted = `{"action":"accept","content":{"name":"Ada","color":"blue","ok":true,"context":"tests"}}`
		poem     = `{"role":"assistant","content":{"type":"text","text":"Roses are red"},"model":"m"}`
		roots    = `{"roots":[{"uri":"file:///work"}]}`
	)
	for _, test := range []struct {
		tool, arguments string
		answers         map[string]string
		want            string
	}{
		{"test_sampling", `{"prompt":"A poem"}`, map[string]string{"completion": poem}, "LLM response: Roses are red"},
		{"test_elicitation", `{"message":"Who?"}`, map[string]string{"user": `{"action":"decline"}`}, "Elicitation completed: action=decline, content="},
		{"test_elicitation_sep1034_defaults", "", map[string]string{"defaults": `{"action":"accept","content":{"age":1}}`}, `Elicitation completed: action=accept, content={"age":1}`},
		{"test_elicitation_sep1330_enums", "", map[string]string{"choices": `{"action":"cancel"}`}, "Elicitation completed: action=cancel, content="},
		{"test_elicitation_url", "", map[string]string{"page": `{"action":"accept"}`}, "The user's choice: accept"},
		{"test_list_roots", "", map[string]string{"client_roots": roots}, "The client has 1 roots: file:///work"},
		{"test_missing_capability", "", map[string]string{"greeting": poem}, "LLM response: Roses are red"},
		{"test_missing_capability", "", map[string]string{"greeting": `{"error":{"code":-1,"message":"rejected"}}`}, "the client: rejected (-1)"},
		{"test_streaming_elicitation", "", map[string]string{"user_name": `{"action":"decline"}`}, "Elicitation completed: action=decline, content="},
		{"test_input_required_result_elicitation", "", map[string]string{"user_name": accepted}, "Hello, Ada!"},
		{"test_input_required_result_elicitation", "", map[string]string{"user_name": `{"action":"decline"}`}, "The user did not answer."},
		{"test_input_required_result_sampling", "", map[string]string{"capital_question": poem}, "LLM response: Roses are red"},
		{"test_input_required_result_list_roots", "", map[string]string{"client_roots": roots}, "The client has 1 roots: file:///work"},
		{"test_input_required_result_request_state", "", map[string]string{"confirm": accepted}, "state-ok, confirmed: true"},
		{"test_input_required_result_tampered_state", "", map[string]string{"confirm": `{"action":"cancel"}`}, "The user did not answer."},
		{"test_input_required_result_multiple_inputs", "", map[string]string{"user_name": `{"action":"decline"}`, "greeting": poem, "client_roots": roots},
			"Roses are red\ndecline \nThe client has 1 roots: file:///work"},
		{"test_input_required_result_multi_round", "", map[string]string{"step1": accepted, "step2": accepted}, "Ada likes blue"},
		{"test_input_required_result_capabilities", "", map[string]string{"greeting": poem}, "Roses are red"},
	} {
		host := sdktest.New(t, plugin(), "plugin.toml")
		if test.tool == "test_input_required_result_capabilities" {
			host.SetClient(abi.Client{Sampling: &abi.Sampling{}})
		}
		for id, answer := range test.answers {
			host.Answer(id, answer)
		}
		result, err := host.CallTool(test.tool, test.arguments)
		if err != nil || result.Text() != test.want {
			t.Errorf("%s %v: got %+v, %v, want %q", test.tool, test.answers, result, err, test.want)
		}
		if len(host.Asked()) != len(test.answers) {
			t.Errorf("%s: asked %+v", test.tool, host.Asked())
		}
	}
	host := sdktest.New(t, plugin(), "plugin.toml")
	host.Answer("user_context", accepted)
	result, err := host.Request(abi.MethodPromptsGet, map[string]any{"name": "test_input_required_result_prompt"})
	if err != nil || !strings.Contains(string(result), `"text":"The context: tests"`) {
		t.Errorf("the prompt: got %s, %v", result, err)
	}
}

// code returns the code of a JSON-RPC error, or 0.
func code(err error) int {
	var failure *sdk.Error
	if !errors.As(err, &failure) {
		return 0
	}
	return failure.Code
}
