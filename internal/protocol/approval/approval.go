// Package approval has what a user is asked before a call runs that needs approval, and the record of the approvals that were used. Question
// describes a call in the host's own words with its complete parameters; Used accepts each approval once. It performs no I/O: package
// dispatch decides which calls need approval, and gateway asks.
package approval

import (
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/base/visible"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/interaction"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

// Call is what the user is told about a call.
type Call struct {
	Server, Project string // Project is empty if the server has only one
	Plugin, Version string
	Account         string // on whose behalf the call is made; empty for the user of this machine
	Method, Name    string // of the tool, prompt or resource, as the client sent it
	Params          []byte // a JSON object
}

// Question returns the text that asks for approval of a call. The error says why the parameters cannot be shown completely and unmistakably;
// it continues "its parameters cannot be shown: ".
//
// Lines that begin in the first column are the host's. The parameters are indented, so that Markdown shows them as they are, and each of
// their lines begins with a mark.
func Question(c Call) (string, error) {
	what, value, err := shown(c)
	switch {
	case err != nil:
		return "", err
	case value == nil:
		return statement(c) + what + ": none\n", nil
	}
	return statement(c) + what + ", complete, as the client sent them. Their lines begin with |, and with + where a line continues:\n\n" + string(value), nil
}

// statement returns the lines of the question before those about the parameters.
func statement(c Call) string {
	var b strings.Builder
	b.WriteString("Bulkhead asks for your approval: this call runs only if you approve it.\n\n")
	line := func(key, value string) {
		if value != "" {
			b.WriteString(key + ": " + value + "\n")
		}
	}
	line("Server", visible.Name(c.Server))
	if c.Project != "" {
		line("Project", visible.Name(c.Project))
	}
	line("Plugin", strings.TrimSpace(visible.Name(c.Plugin)+" "+c.Version))
	if c.Method == abi.MethodToolsCall {
		line("Tool", visible.Name(c.Name))
	} else {
		line("Request", visible.Name(c.Method))
	}
	if c.Account != "" {
		line("Account", visible.Name(c.Account))
	}
	return b.String()
}

// shown returns the parameters of a call that the user is shown, and what they are called. It leaves out _meta, which the client writes and
// not its model, and what Question states itself.
func shown(c Call) (what string, text []byte, err error) {
	rest := rawjson.Replace(c.Params, "_meta", nil)
	if c.Method == abi.MethodToolsCall {
		rest = rawjson.Replace(rest, "name", nil)
	}
	what, members := "Parameters", 0
	for range rawjson.Members(rest) {
		members++
	}
	if arguments := rawjson.Member(rest, "arguments"); members == 1 && arguments != nil && c.Method == abi.MethodToolsCall {
		what, rest = "Arguments", arguments
	}
	if members == 0 {
		return "Arguments", nil, nil
	}
	text, err = render(rest)
	return what, text, err
}

// Request returns the elicitation that shows text.
func Request(text string) interaction.Request {
	params := rawjson.AppendQuote([]byte(`{"message":`), text)
	params = append(params, `,"requestedSchema":{"type":"object","properties":{"`+interaction.MemberApprove+
		`":{"type":"boolean","title":"Approve this call","description":"Yes runs the call once, with exactly these arguments","default":false}},"required":["`+
		interaction.MemberApprove+`"]}}`...)
	return interaction.Request{
		ID: interaction.ApprovalID, Kind: interaction.Elicitation, Method: abi.MethodElicit, Params: params, Needs: interaction.Client{Form: true},
	}
}

// Digest returns a digest of what Question says of a call, by which a later request shows that it is what was approved. As in the binding of
// the request's state, the order of members and the encoding of strings do not count: clients may encode the arguments anew in each round.
func Digest(c Call) []byte {
	return interaction.Bind(statement(c), c.Method, c.Name, c.Params)
}
