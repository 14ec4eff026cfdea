package extism

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/base/jsonvalue"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/call"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

// Reply is the effect of a function of UserModule. At most one of Output, Operation, Response and Problem is set; none if the function
// has no effect.
type Reply struct {
	Output    []byte // the value that the function returns; nil: it returns 0, or nothing
	Operation []byte // an abi.HostRequest to perform; if it fails, the error is logged and the plugin continues
	Response  []byte // ends the run with this response of ABI 1
	Problem   string // fails the call: the plugin violated the interface
	Note      string // a line for the log; may be set beside the others
}

// UserFunction is a function of UserModule. Its input and its value are addresses of blocks.
type UserFunction struct {
	Name         string
	Input, Value bool // whether it has an input, and whether it returns a value
}

// UserFunctions are the functions of UserModule.
var UserFunctions = []UserFunction{
	{"create_elicitation", true, true},
	{"create_message", true, true},
	{"get_access_token", true, true},
	{"get_keyring_secret", true, true},
	{"list_roots", false, true},
	{"notify_logging_message", true, false},
	{"notify_progress", true, false},
	{"notify_prompt_list_changed", false, false},
	{"notify_resource_list_changed", false, false},
	{"notify_resource_updated", true, false},
	{"notify_tool_list_changed", false, false},
	{"notify_url_elicitation_completed", true, false},
}

func hasInput(function string) bool {
	return slices.ContainsFunc(UserFunctions, func(f UserFunction) bool { return f.Name == function && f.Input })
}

// notifications maps functions to the notifications that they send by the host operation notify.
var notifications = map[string]string{
	"notify_logging_message":       "notifications/message",
	"notify_progress":              "notifications/progress",
	"notify_prompt_list_changed":   "notifications/prompts/list_changed",
	"notify_resource_list_changed": "notifications/resources/list_changed",
	"notify_resource_updated":      "notifications/resources/updated",
}

// Host performs a function of UserModule.
func (c *Translation) Host(function string, input []byte) Reply {
	if (len(input) > 0 || hasInput(function)) && (!rawjson.Valid(input) || rawjson.Kind(input) != '{') {
		return Reply{Problem: function + " was called with an input that is not a JSON object"}
	}
	if method, ok := notifications[function]; ok {
		return notify(method, input)
	}
	switch function {
	case "create_elicitation":
		return c.dialog.elicit(input)
	case "create_message":
		return c.dialog.sample(input)
	case "list_roots":
		return c.dialog.roots()
	case "get_keyring_secret":
		return Reply{Note: "get_keyring_secret: refused: this host gives a plugin no access to the keyring; grant a variable, and read it with config::get"}
	case "get_access_token":
		return Reply{Output: []byte("null"), Note: "get_access_token: refused: the host makes no OAuth request for a plugin; configure a credential for the origin instead, which the host adds"}
	}
	return Reply{Note: function + ": ignored: tools are those of the manifest, and the client completes its own elicitations"}
}

// notify returns the operation for a notification. The host adds the client's progress token.
func notify(method string, input []byte) Reply {
	if method == "notifications/progress" {
		input = rawjson.Replace(input, "progressToken", nil)
	}
	params := json.RawMessage(withoutNulls(input))
	if len(params) == 0 {
		params = nil
	}
	notification, _ := rawjson.Marshal(abi.Notification{Method: method, Params: params}) // the parameters are valid JSON
	return Reply{Operation: operation(abi.OpNotify, notification)}
}

func operation(op string, params []byte) []byte {
	return append(append([]byte(`{"op":"`+op+`","params":`), params...), '}')
}

// dialog has the requests of a call to its client. A module cannot wait for an answer, since the host may restart the worker before the answer.
// So the first request without an answer ends the run with an ask. After the client has answered, the export runs again from its start,
// and the requests that were answered return the recorded answers. The id of a request consists of its position and a digest of its
// parameters, so that a run that asks something else is detected.
type dialog struct {
	able    bool             // whether a request of this method may ask the client
	client  []byte           // capabilities of the client, as JSON
	answers map[int]recorded // by the position of the request
	asked   int              // number of requests in this run so far
}

type recorded struct {
	id     string
	answer []byte
}

func newDialog(r call.Request) dialog {
	d := dialog{answers: map[int]recorded{}}
	switch r.Method {
	case abi.MethodToolsCall, abi.MethodPromptsGet, abi.MethodResourcesRead:
		d.able = true
	}
	if len(r.Members) == 0 {
		return d
	}
	for key, value := range rawjson.Members(r.Members) {
		switch key {
		case "client":
			d.client = value
		case "answers":
			for id, answer := range rawjson.Members(value) {
				if n, err := strconv.Atoi(id[:max(0, strings.IndexByte(id, '-'))]); err == nil {
					d.answers[n] = recorded{id, answer}
				}
			}
		}
	}
	return d
}

// supports reports whether the client can be asked, and the plugin is granted to ask.
func (d *dialog) supports(path ...string) bool {
	value := d.client
	for _, name := range path {
		if value == nil {
			return false
		}
		value = rawjson.Member(value, name)
	}
	return d.able && rawjson.Kind(value) == '{'
}

// ask returns the recorded answer to a request. If there is none, answer is nil, and reply ends the run.
func (d *dialog) ask(method string, params []byte) (answer []byte, reply Reply) {
	n := d.asked
	d.asked++
	if len(params) > abi.MaxAskBytes {
		return nil, Reply{Problem: fmt.Sprintf("its request to the client has %d bytes, and the limit is %d", len(params), abi.MaxAskBytes)}
	}
	id, err := requestID(n, method, params)
	if err != nil {
		return nil, Reply{Problem: "its request to the client has too many values: " + err.Error()}
	}
	if have, ok := d.answers[n]; ok {
		if have.id != id {
			return nil, Reply{Problem: fmt.Sprintf("its request %d to the client differs from the one that the client answered: a call is run again with the answers, and must make the same requests", n+1)}
		}
		return have.answer, Reply{}
	}
	ask := abi.Ask{Requests: map[string]abi.ClientRequest{id: {Method: method, Params: params}}}
	response, _ := rawjson.Marshal(abi.Response{Ask: &ask}) // the parameters are valid JSON
	return nil, Reply{Response: response}
}

// Bounds of the JSON of a request to the client, as those of package interaction.
const (
	maxValues  = 100_000
	maxNesting = 64
)

// requestID returns the id of the n-th request of a call. It does not depend on the order of members, because plugins encode maps,
// whose order differs from run to run.
func requestID(n int, method string, params []byte) (string, error) {
	if err := rawjson.Bound(params, maxValues, maxNesting); err != nil {
		return "", err
	}
	value, err := jsonvalue.Decode(params)
	if err != nil {
		return "", err
	}
	canonical, err := json.Marshal([]any{method, value}) // sorts members
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(canonical)
	return fmt.Sprintf("%d-%s", n, hex.EncodeToString(sum[:16])), nil
}

// refusal returns the message of an answer that is an error, and whether it is one.
func refusal(answer []byte) (string, bool) {
	e := rawjson.Member(answer, "error")
	if rawjson.Kind(e) != '{' || rawjson.Member(answer, "action") != nil || rawjson.Member(answer, "role") != nil {
		return "", false
	}
	message, _ := rawjson.Unquote(rawjson.Member(e, "message"))
	return message, true
}

const (
	noForm     = "the client does not support elicitation by forms, or the plugin is not granted to ask for it"
	noURL      = "the client does not support elicitation by URLs, or the plugin is not granted to ask for it"
	noSampling = "the client does not support sampling, or the plugin is not granted to ask for it"
)

// elicit asks the user. As in hyper-mcp, a client that cannot be asked declines.
func (d *dialog) elicit(input []byte) Reply {
	params := rawjson.Replace(withoutNulls(compact(input)), "timeout", nil) // limits.ask bounds the wait
	mode, _ := rawjson.Unquote(rawjson.Member(params, "mode"))
	switch {
	case mode == "url" && !d.supports("elicitation", "url"):
		return Reply{Output: declined(noURL)}
	case mode != "url" && !d.supports("elicitation", "form"):
		return Reply{Output: declined(noForm)}
	}
	// hyper-mcp's types write this format with an underscore.
	params = bytes.ReplaceAll(params, []byte(`"format":"date_time"`), []byte(`"format":"date-time"`))
	answer, reply := d.ask(abi.MethodElicit, params)
	if answer == nil {
		return reply
	}
	if why, refused := refusal(answer); refused {
		return Reply{Output: declined(why)}
	}
	return Reply{Output: withoutNulls(answer)}
}

// compact removes white space from valid JSON.
func compact(text []byte) []byte {
	var out bytes.Buffer
	_ = json.Compact(&out, text) // fails only for invalid JSON
	return out.Bytes()
}

func declined(why string) []byte {
	return append(append([]byte(`{"action":"decline","content":{"error":`), rawjson.Quote(why)...), "}}"...)
}

// sample asks the client's model. As in hyper-mcp, a client that cannot be asked results in a message with the stop reason error, and
// parameters that the client does not support are left out.
func (d *dialog) sample(input []byte) Reply {
	if !d.supports("sampling") {
		return Reply{Output: stopped(noSampling)}
	}
	params := withoutNulls(input)
	if !d.supports("sampling", "tools") {
		params = rawjson.Replace(rawjson.Replace(params, "tools", nil), "toolChoice", nil)
	}
	if !d.supports("sampling", "context") {
		params = rawjson.Replace(params, "includeContext", nil)
	}
	answer, reply := d.ask(abi.MethodSample, params)
	if answer == nil {
		return reply
	}
	if why, refused := refusal(answer); refused {
		return Reply{Output: stopped(why)}
	}
	return Reply{Output: withoutNulls(answer)}
}

func stopped(why string) []byte {
	out := append([]byte(`{"role":"assistant","content":{"type":"text","text":`), rawjson.Quote(why)...)
	return append(out, `},"model":"","stopReason":"error"}`...)
}

// roots asks for the client's root directories. A client that cannot be asked has none.
func (d *dialog) roots() Reply {
	none := Reply{Output: []byte(`{"roots":[]}`)}
	if !d.supports("roots") {
		return none
	}
	answer, reply := d.ask(abi.MethodListRoots, []byte("{}"))
	if answer == nil {
		return reply
	}
	if _, refused := refusal(answer); refused {
		return none
	}
	return Reply{Output: withoutNulls(answer)}
}
