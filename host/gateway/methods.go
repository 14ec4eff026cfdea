package gateway

import (
	"fmt"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/bulkhead-mcp/bulkhead/host/rawjson"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// Offers are what a server has beside tools.
type Offers struct {
	Prompts         bool
	PromptsChange   bool // clients are told when the list of prompts changes
	Resources       bool
	ResourcesChange bool // likewise
	Subscribe       bool // clients are told of resources that change
	Completions     bool
}

// method is how a request that the backend answers is read, and its answer checked.
type method struct {
	offered func(Offers) bool
	// name is the member of the parameters that says what is asked for; empty: none does.
	name string
	// check says what keeps a client from reading a result, "" if nothing does; nil: the backend made it.
	check func(result []byte) string
	// cached results say in the modern era how long they hold.
	cached bool
	// list: the result is a page of a list.
	list bool
}

// methods are those that the backend answers.
var methods = map[mcp.MCPMethod]method{
	mcp.MethodToolsCall:              {offered: func(Offers) bool { return true }, name: "name", check: checkToolResult},
	mcp.MethodPromptsList:            {offered: func(o Offers) bool { return o.Prompts }, cached: true, list: true},
	mcp.MethodPromptsGet:             {offered: func(o Offers) bool { return o.Prompts }, name: "name", check: checkPromptResult},
	mcp.MethodResourcesList:          {offered: func(o Offers) bool { return o.Resources }, cached: true, list: true},
	mcp.MethodResourcesTemplatesList: {offered: func(o Offers) bool { return o.Resources }, cached: true, list: true},
	mcp.MethodResourcesRead:          {offered: func(o Offers) bool { return o.Resources }, name: "uri", check: checkReadResult, cached: true},
	mcp.MethodCompletionComplete:     {offered: func(o Offers) bool { return o.Completions }, check: checkCompletion},
}

// CheckResult says what keeps a client from reading the result of a request that a Call answers, "" if nothing
// does. The result must be valid JSON. The gateway makes no use of a result that does not pass; who keeps a record of calls asks first.
func CheckResult(methodName string, result []byte) string {
	if check := methods[mcp.MCPMethod(methodName)].check; check != nil {
		return check(result)
	}
	return ""
}

// ask makes the backend's request of a client's.
func (s *session) ask(m *message, meta requestMeta, how method) (Request, *abi.Error) {
	p := &m.params
	r := Request{
		Method: m.method, Client: s.clientOf(meta),
		Params: p.all, Arguments: p.arguments, Argument: p.argument, Cursor: p.cursor,
	}
	switch {
	case p.ambiguous != "":
		return r, invalidParams(p.ambiguous)
	case p.ref.ambiguous != "":
		return r, invalidParams("ref: " + p.ref.ambiguous)
	}
	var ok bool
	switch how.name {
	case "name":
		r.Name, ok = rawjson.Unquote(p.name)
	case "uri":
		r.Name, ok = rawjson.Unquote(p.uri)
	default:
		r.Ref.Type, _ = rawjson.Unquote(p.ref.kind)
		r.Ref.Name, _ = rawjson.Unquote(p.ref.name)
		r.Ref.URI, _ = rawjson.Unquote(p.ref.uri)
		r.Name, ok = r.Ref.Name+r.Ref.URI, true
	}
	if !ok {
		return r, &abi.Error{Code: abi.CodeInvalidParams, Message: missing[m.method]}
	}
	return r, nil
}

// clientOf is who a request comes from: a modern one says so itself.
func (s *session) clientOf(meta requestMeta) string {
	if meta.client != "" {
		return meta.client
	}
	return s.client
}

// missing is what is answered where a request does not say what it asks for.
var missing = map[string]string{
	string(mcp.MethodToolsCall):     "Missing tool name",
	string(mcp.MethodPromptsGet):    "Missing prompt name",
	string(mcp.MethodResourcesRead): "Missing resource uri",
}

// Unknown is the error of a tool or prompt, by its name, or of a resource, by its URI, that is not offered.
// why may be empty.
func Unknown(method, name, why string) *abi.Error {
	if why != "" {
		why = ": " + why
	}
	switch mcp.MCPMethod(method) {
	case mcp.MethodToolsCall:
		return &abi.Error{Code: abi.CodeInvalidParams, Message: "Unknown tool: " + bounded(name) + why}
	case mcp.MethodPromptsGet:
		return &abi.Error{Code: abi.CodeInvalidParams, Message: "Unknown prompt: " + bounded(name) + why}
	case mcp.MethodResourcesRead, mcp.MethodResourcesSubscribe:
		return &abi.Error{Code: abi.CodeResourceNotFound, Message: "Resource not found: " + bounded(name) + why}
	}
	return invalidParams("unknown reference" + why)
}

// clientName is what a client says of itself, as "name/version".
func clientName(info []byte) string {
	name, _ := rawjson.Unquote(rawjson.Member(info, "name"))
	version, _ := rawjson.Unquote(rawjson.Member(info, "version"))
	const most = 128 // characters of each that are worth keeping
	if name == "" {
		return ""
	}
	return fmt.Sprintf("%.*s/%.*s", most, name, most, version)
}
