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
	Method string // one of abi.MethodElicit, abi.MethodSample, abi.MethodListRoots
	Params json.RawMessage
}

// Answer sets the client's answer to the question called id, in JSON: the result of MCP for the question, or an error:
//
//	host.Answer("name", `{"action": "accept", "content": {"name": "Ada"}}`)
//	host.Answer("poem", `{"error": {"code": -1, "message": "User rejected sampling request"}}`)
//
// A request that asks a question without an answer fails.
func (h *Host) Answer(id, answer string) { h.answers[id] = json.RawMessage(answer) }

// Asked returns the questions that the plugin has asked, in order, those of one round by id.
func (h *Host) Asked() []Asked { return h.asked }

// SetClient sets what the client supports; by default everything. As in the host, a plugin sees of it what its manifest has
// in ask of [capabilities].
func (h *Host) SetClient(c abi.Client) { h.client = c }

// everything is a client that supports everything.
func everything() abi.Client {
	return abi.Client{
		Elicitation: &abi.Elicitation{Form: &struct{}{}, URL: &struct{}{}},
		Sampling:    &abi.Sampling{Tools: &struct{}{}, Context: &struct{}{}},
		Roots:       &struct{}{},
	}
}

// canAsk reports whether a request of a method may be answered with an ask.
func canAsk(method string) bool {
	return slices.Contains([]string{abi.MethodToolsCall, abi.MethodPromptsGet, abi.MethodResourcesRead}, method)
}

// kinds are the names of methods in ask of [capabilities].
var kinds = map[string]string{abi.MethodElicit: "elicitation", abi.MethodSample: "sampling", abi.MethodListRoots: "roots"}

// restrict returns the part of c that the manifest asks for.
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

// ask adds the answers to an ask to the call, for the next round.
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

// unsupported returns the name of what a question needs and the client does not support; empty if it supports it.
func unsupported(c *abi.Client, q abi.ClientRequest) string {
	var params struct{ Mode string }
	_ = json.Unmarshal(q.Params, &params) // without a mode it is a form
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
