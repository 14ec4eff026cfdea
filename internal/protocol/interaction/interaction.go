// Package interaction defines what a call can ask its client: Parse validates an ask of a module, Client is what a client
// supports, CheckAnswer validates an answer, and Sealer protects the state of a call that a client keeps between an ask and
// the answers. It performs no I/O: package gateway asks clients.
package interaction

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

// Kind is a kind of request to a client, as manifests and configs name it.
type Kind string

// The kinds of requests.
const (
	Elicitation Kind = "elicitation" // of input from the user
	Sampling    Kind = "sampling"    // of a message of the client's model
	Roots       Kind = "roots"       // of the list of the client's root directories
)

// Kinds are all kinds.
var Kinds = []Kind{Elicitation, Sampling, Roots}

// Names lists kinds for messages: "elicitation, roots".
func Names(kinds []Kind) string { return strings.Join(Strings(kinds), ", ") }

// Strings converts kinds.
func Strings(kinds []Kind) []string {
	names := make([]string, len(kinds))
	for i, kind := range kinds {
		names[i] = string(kind)
	}
	return names
}

// kindOf maps the methods of requests to their kinds.
var kindOf = map[string]Kind{abi.MethodElicit: Elicitation, abi.MethodSample: Sampling, abi.MethodListRoots: Roots}

// Supports reports whether a request of an MCP method may be answered with an ask.
func Supports(method string) bool {
	switch method {
	case abi.MethodToolsCall, abi.MethodPromptsGet, abi.MethodResourcesRead:
		return true
	}
	return false
}

// Ask is a valid ask of a module.
type Ask struct {
	Requests []Request // in the order of the module, with different ids
	State    string
}

// Request is a request to the client.
type Request struct {
	ID     string
	Kind   Kind
	Method string
	Params []byte // a JSON object
	Needs  Client // the features that the client must have
}

// Bounds of the JSON values of an ask. Params are decoded by clients only.
const (
	maxValues  = 100_000
	maxNesting = 64
)

// Parse validates the ask of a module, which must be valid JSON.
func Parse(raw []byte) (Ask, error) {
	var ask Ask
	if rawjson.Kind(raw) != '{' {
		return ask, errors.New("it is not an object")
	}
	if !utf8.Valid(raw) {
		return ask, errors.New("it is not UTF-8")
	}
	if err := rawjson.Bound(raw, maxValues, maxNesting); err != nil {
		return ask, err
	}
	size, hasState := 0, false
	for key, value := range rawjson.Members(raw) {
		switch key {
		case "requests":
			if ask.Requests != nil {
				return ask, errors.New("requests is a duplicate")
			}
			requests, err := parseRequests(value, &size)
			if err != nil {
				return ask, err
			}
			ask.Requests = requests
		case "state":
			var ok bool
			if ask.State, ok = rawjson.Unquote(value); !ok {
				return ask, errors.New("state is not a string")
			}
			hasState = true
		}
	}
	switch {
	case len(ask.Requests) == 0 && !hasState:
		return ask, errors.New("it has neither requests nor a state")
	case size > abi.MaxAskBytes:
		return ask, fmt.Errorf("the parameters of its requests have %d bytes, and the limit is %d", size, abi.MaxAskBytes)
	case len(ask.State) > abi.MaxAskState:
		return ask, fmt.Errorf("its state has %d bytes, and the limit is %d", len(ask.State), abi.MaxAskState)
	}
	return ask, nil
}

func parseRequests(object []byte, size *int) ([]Request, error) {
	if rawjson.Kind(object) != '{' {
		return nil, errors.New("requests is not an object")
	}
	out := []Request{}
	ids := map[string]bool{}
	for id, value := range rawjson.Members(object) {
		switch {
		case len(out) == abi.MaxAskRequests:
			return nil, fmt.Errorf("it has more than %d requests", abi.MaxAskRequests)
		case id == "" || len(id) > abi.MaxAskID:
			return nil, fmt.Errorf("an id of a request does not have 1 to %d bytes", abi.MaxAskID)
		case ids[id]:
			return nil, fmt.Errorf("the id %q is a duplicate", id)
		}
		ids[id] = true
		r, err := parseRequest(id, value)
		if err != nil {
			return nil, fmt.Errorf("request %q: %w", id, err)
		}
		*size += len(id) + len(r.Params)
		out = append(out, r)
	}
	return out, nil
}

func parseRequest(id string, value []byte) (Request, error) {
	r := Request{ID: id, Params: []byte("{}")}
	if rawjson.Kind(value) != '{' {
		return r, errors.New("it is not an object")
	}
	if key, name := rawjson.Ambiguous(value, "method", "params"); key != "" {
		return r, fmt.Errorf("the member %q is a duplicate of %q", key, name)
	}
	for key, member := range rawjson.Members(value) {
		switch key {
		case "method":
			r.Method, _ = rawjson.Unquote(member)
		case "params":
			r.Params = member
		}
	}
	if rawjson.Kind(r.Params) != '{' {
		return r, errors.New("params is not an object")
	}
	r.Kind = kindOf[r.Method]
	var why string
	switch r.Kind {
	case Elicitation:
		r.Needs, why = checkElicitation(r.Params)
	case Sampling:
		r.Needs, why = checkSampling(r.Params)
	case Roots:
		r.Needs = Client{Roots: true}
	default:
		why = fmt.Sprintf("method is none of %s, %s, %s", abi.MethodElicit, abi.MethodSample, abi.MethodListRoots)
	}
	if why != "" {
		return r, errors.New(why)
	}
	return r, nil
}

func checkElicitation(params []byte) (needs Client, why string) {
	if key, _ := rawjson.Ambiguous(params, "mode", "message", "requestedSchema", "url"); key != "" {
		return needs, fmt.Sprintf("the member %q of params is ambiguous", key)
	}
	if message, ok := rawjson.Unquote(rawjson.Member(params, "message")); !ok || message == "" {
		return needs, "params.message is not a text"
	}
	mode := "form"
	if value := rawjson.Member(params, "mode"); value != nil {
		mode, _ = rawjson.Unquote(value)
	}
	switch mode {
	case "form":
		return Client{Form: true}, checkForm(rawjson.Member(params, "requestedSchema"))
	case "url":
		text, _ := rawjson.Unquote(rawjson.Member(params, "url"))
		if u, err := url.Parse(text); err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" {
			return needs, "params.url is not an https or http URL"
		} else if u.User != nil {
			return needs, "params.url has a user or a password, which a URL for a user must not have"
		}
		return Client{URL: true}, ""
	}
	return needs, "params.mode is neither form nor url"
}

// checkForm returns why a schema is not that of a form: an object of primitive fields, or choices.
func checkForm(schema []byte) string {
	if kind, _ := rawjson.Unquote(rawjson.Member(schema, "type")); rawjson.Kind(schema) != '{' || kind != "object" {
		return `params.requestedSchema is not a schema with type "object"`
	}
	properties := rawjson.Member(schema, "properties")
	if rawjson.Kind(properties) != '{' {
		return "params.requestedSchema.properties is not an object"
	}
	for name, field := range rawjson.Members(properties) {
		switch kind, _ := rawjson.Unquote(rawjson.Member(field, "type")); kind {
		case "string", "number", "integer", "boolean", "array":
		default:
			return fmt.Sprintf("the type of the field %q is none of string, number, integer, boolean, array", name)
		}
		switch format, _ := rawjson.Unquote(rawjson.Member(field, "format")); format {
		case "", "email", "uri", "date", "date-time":
		default:
			return fmt.Sprintf("the format of the field %q is none of email, uri, date, date-time: ask for a secret with mode url", name)
		}
	}
	return ""
}

func checkSampling(params []byte) (needs Client, why string) {
	if key, _ := rawjson.Ambiguous(params, "messages", "maxTokens", "tools", "toolChoice"); key != "" {
		return needs, fmt.Sprintf("the member %q of params is ambiguous", key)
	}
	messages := rawjson.Member(params, "messages")
	if rawjson.Kind(messages) != '[' {
		return needs, "params.messages is not an array"
	}
	for i, message := range rawjson.Elements(messages) {
		if role, _ := rawjson.Unquote(rawjson.Member(message, "role")); role != "user" && role != "assistant" {
			return needs, fmt.Sprintf("params.messages[%d].role is neither user nor assistant", i)
		}
	}
	if rawjson.Kind(rawjson.Member(params, "maxTokens")) != '0' {
		return needs, "params.maxTokens is not a number"
	}
	tools := rawjson.Member(params, "tools") != nil || rawjson.Member(params, "toolChoice") != nil
	return Client{Sampling: true, SamplingTools: tools}, ""
}

// answerMembers are the members of an answer that CheckAnswer checks. An answer in which one is ambiguous is refused, because
// the module could read a value that was not checked.
var answerMembers = map[Kind][]string{Elicitation: {"action", "content"}, Sampling: {"role", "content"}, Roots: {"roots"}}

// CheckAnswer returns why an answer, which must be valid JSON, is not a result of a request of that kind; empty if it is.
func CheckAnswer(kind Kind, answer []byte) string {
	if rawjson.Kind(answer) != '{' {
		return "it is not an object"
	}
	if key, _ := rawjson.Ambiguous(answer, answerMembers[kind]...); key != "" {
		return fmt.Sprintf("the member %q is ambiguous", key)
	}
	switch kind {
	case Elicitation:
		switch action, _ := rawjson.Unquote(rawjson.Member(answer, "action")); action {
		case abi.ActionAccept, abi.ActionDecline, abi.ActionCancel:
		default:
			return "action is none of accept, decline, cancel"
		}
		if content := rawjson.Member(answer, "content"); content != nil && rawjson.Kind(content) != '{' && rawjson.Kind(content) != 'n' {
			return "content is not an object"
		}
	case Sampling:
		if role, _ := rawjson.Unquote(rawjson.Member(answer, "role")); role != "user" && role != "assistant" {
			return "role is neither user nor assistant"
		}
		if content := rawjson.Kind(rawjson.Member(answer, "content")); content != '{' && content != '[' {
			return "content is neither an object nor an array"
		}
	case Roots:
		roots := rawjson.Member(answer, "roots")
		if rawjson.Kind(roots) != '[' {
			return "roots is not an array"
		}
		for i, root := range rawjson.Elements(roots) {
			if key, _ := rawjson.Ambiguous(root, "uri"); key != "" {
				return fmt.Sprintf("the member %q of roots[%d] is ambiguous", key, i)
			}
			if _, ok := rawjson.Unquote(rawjson.Member(root, "uri")); !ok {
				return fmt.Sprintf("roots[%d].uri is not a string", i)
			}
		}
	}
	return ""
}

// Refusal returns the answer for a client that answered with a JSON-RPC error.
func Refusal(err *abi.Error) json.RawMessage {
	answer, _ := rawjson.Marshal(map[string]any{"error": map[string]any{"code": err.Code, "message": err.Message}}) // a number and a string always encode
	return answer
}
