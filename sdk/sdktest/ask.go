//go:build !wasip1

package sdktest

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// Asked is a question that a plugin has asked the client.
type Asked struct {
	ID     string
	Method string // method of the question: abi.MethodElicit, abi.MethodSample or abi.MethodListRoots
	Params json.RawMessage
}

// Answer sets the client's answer to the question called id. The answer is JSON: the result that MCP defines for the question, or an error:
//
//	host.Answer("name", `{"action": "accept", "content": {"name": "Ada"}}`)
//	host.Answer("poem", `{"error": {"code": -1, "message": "User rejected sampling request"}}`)
//
// If a request asks a question that has no answer, the request fails.
func (h *Host) Answer(id, answer string) { h.answers[id] = json.RawMessage(answer) }

// Asked returns the questions that the plugin has asked, in order. The questions of one round are sorted by id.
func (h *Host) Asked() []Asked { return h.asked }

// SetClient sets what the client supports. By default, it supports everything. As with a real host, a plugin sees only what the key ask of
// [capabilities] in its manifest names.
func (h *Host) SetClient(c abi.Client) { h.client = c }

// everything returns the description of a client that supports everything.
func everything() abi.Client {
	return abi.Client{
		Elicitation: &abi.Elicitation{Form: &struct{}{}, URL: &struct{}{}},
		Sampling:    &abi.Sampling{Tools: &struct{}{}, Context: &struct{}{}},
		Roots:       &struct{}{},
	}
}

// canAsk reports whether a plugin may answer a request of the given method with an Ask.
func canAsk(method string) bool {
	return slices.Contains([]string{abi.MethodToolsCall, abi.MethodPromptsGet, abi.MethodResourcesRead}, method)
}

// kinds maps each method of a question to its name in the key ask of [capabilities].
var kinds = map[string]string{abi.MethodElicit: "elicitation", abi.MethodSample: "sampling", abi.MethodListRoots: "roots"}

// restrict returns the part of c for which the manifest asks.
func (m *manifest) restrict(c abi.Client) *abi.Client {
	var out abi.Client
	for _, kind := range m.Capabilities.Ask {
		switch kind {
		case "elicitation":
			out.Elicitation = c.Elicitation
		case "sampling":
			out.Sampling = c.Sampling
		case "roots":
			out.Roots = c.Roots
		}
	}
	return &out
}

// ask adds the answers to the questions in ask to the call, for the next round.
func (h *Host) ask(call *abi.Request, ask *abi.Ask) error {
	if call.Client == nil {
		return fmt.Errorf("%s asks the client: name what it asks for in ask of [capabilities]", call.Method)
	}
	answers := maps.Clone(call.Answers)
	if answers == nil {
		answers = map[string]json.RawMessage{}
	}
	for _, id := range slices.Sorted(maps.Keys(ask.Requests)) {
		q := ask.Requests[id]
		h.asked = append(h.asked, Asked{ID: id, Method: q.Method, Params: q.Params})
		if missing := unsupported(call.Client, q); missing != "" {
			return fmt.Errorf("the question %q needs %s, which the client does not support, or which ask of [capabilities] does not name", id, missing)
		}
		answer, ok := h.answers[id]
		if !ok {
			return fmt.Errorf("the test has no answer to the question %q: see Host.Answer", id)
		}
		answers[id] = answer
	}
	call.Answers, call.State = answers, ask.State
	return nil
}

// unsupported returns the name of the feature that a question needs and the client does not support; empty if the client supports it.
func unsupported(c *abi.Client, q abi.ClientRequest) string {
	var params struct{ Mode string }
	_ = json.Unmarshal(q.Params, &params) // without a mode, the question is a form
	switch {
	case q.Method == abi.MethodElicit && params.Mode == "url" && (c.Elicitation == nil || c.Elicitation.URL == nil):
		return "elicitation by URLs"
	case q.Method == abi.MethodElicit && params.Mode != "url" && (c.Elicitation == nil || c.Elicitation.Form == nil):
		return "elicitation by forms"
	case q.Method == abi.MethodSample && c.Sampling == nil, q.Method == abi.MethodListRoots && c.Roots == nil:
		return kinds[q.Method]
	}
	return ""
}
