package interaction

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

// Client is a set of features of a client. The zero value cannot be asked for anything.
type Client struct {
	Form            bool // elicitation by forms
	URL             bool // elicitation by URLs
	Sampling        bool
	SamplingTools   bool // sampling with tools
	SamplingContext bool // sampling with the context of servers
	Roots           bool
}

// ParseClient returns the features that a client declares in its capabilities, which must be valid JSON. Elicitation
// without a mode is elicitation by forms.
func ParseClient(capabilities []byte) Client {
	var c Client
	if rawjson.Kind(capabilities) != '{' {
		return c
	}
	if e := rawjson.Member(capabilities, "elicitation"); rawjson.Kind(e) == '{' {
		c.URL = isObject(e, "url")
		c.Form = isObject(e, "form") || !c.URL
	}
	if s := rawjson.Member(capabilities, "sampling"); rawjson.Kind(s) == '{' {
		c.Sampling, c.SamplingTools, c.SamplingContext = true, isObject(s, "tools"), isObject(s, "context")
	}
	c.Roots = isObject(capabilities, "roots")
	return c
}

func isObject(object []byte, member string) bool {
	return rawjson.Kind(rawjson.Member(object, member)) == '{'
}

// Restrict returns the features that belong to kinds.
func (c Client) Restrict(kinds []Kind) Client {
	var out Client
	if slices.Contains(kinds, Elicitation) {
		out.Form, out.URL = c.Form, c.URL
	}
	if slices.Contains(kinds, Sampling) {
		out.Sampling, out.SamplingTools, out.SamplingContext = c.Sampling, c.SamplingTools, c.SamplingContext
	}
	out.Roots = c.Roots && slices.Contains(kinds, Roots)
	return out
}

// Missing returns the features that the requests of an ask need and c lacks.
func (c Client) Missing(a Ask) Client {
	var m Client
	for _, r := range a.Requests {
		m.Form = m.Form || r.Needs.Form && !c.Form
		m.URL = m.URL || r.Needs.URL && !c.URL
		m.Sampling = m.Sampling || r.Needs.Sampling && !c.Sampling
		m.SamplingTools = m.SamplingTools || r.Needs.SamplingTools && !c.SamplingTools
		m.Roots = m.Roots || r.Needs.Roots && !c.Roots
	}
	return m
}

// ABI returns the features in the form of the ABI, which is also that of MCP.
func (c Client) ABI() *abi.Client {
	out := &abi.Client{}
	if c.Form || c.URL {
		out.Elicitation = &abi.Elicitation{Form: present(c.Form), URL: present(c.URL)}
	}
	if c.Sampling || c.SamplingTools {
		out.Sampling = &abi.Sampling{Tools: present(c.SamplingTools), Context: present(c.SamplingContext)}
	}
	out.Roots = present(c.Roots)
	return out
}

func present(is bool) *struct{} {
	if !is {
		return nil
	}
	return &struct{}{}
}

// JSON encodes the features as capabilities of MCP.
func (c Client) JSON() []byte {
	text, _ := json.Marshal(c.ABI()) // a struct of empty structs always encodes
	return text
}

// String names the features for messages: "elicitation by forms, roots".
func (c Client) String() string {
	var names []string
	for _, f := range []struct {
		is   bool
		name string
	}{
		{c.Form, "elicitation by forms"}, {c.URL, "elicitation by URLs"}, {c.Sampling && !c.SamplingTools, "sampling"},
		{c.SamplingTools, "sampling with tools"}, {c.Roots, "roots"},
	} {
		if f.is {
			names = append(names, f.name)
		}
	}
	return strings.Join(names, ", ")
}
