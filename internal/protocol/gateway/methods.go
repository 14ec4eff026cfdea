package gateway

import (
	"cmp"
	"fmt"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/bulkhead-mcp/bulkhead/internal/base/visible"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/call"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

// Offers are the server features beside Config.Tools.
type Offers struct {
	Tools           bool // tools are advertised, even if the list is empty
	ToolsChange     bool // tools/list_changed is sent
	Prompts         bool
	PromptsChange   bool // prompts/list_changed is sent
	Resources       bool
	ResourcesChange bool // resources/list_changed is sent
	Subscribe       bool // resources/updated is sent
	Completions     bool
	Tasks           bool // calls of tools can run as tasks
	Skills          bool // the extension for skills is declared; it needs Resources
}

// changes reports whether any notification about changes is offered.
func (o Offers) changes() bool {
	return o.ToolsChange || o.PromptsChange || o.ResourcesChange || o.Subscribe || o.Tasks
}

// method describes a method that the backend executes.
type method struct {
	offered func(Offers) bool
	// name is the parameter that names the tool, prompt or resource; empty if the method has none.
	name string
	// headless is set if HTTP clients do not repeat the name in a header.
	headless bool
	// cached results have caching hints in the modern era.
	cached bool
	// task methods concern a task. They belong to the modern era, and the gateway executes them itself.
	task bool
	// list results are pages of a list, which the backend encodes itself. All others are checked by call.Check.
	list bool
}

// methods are the methods that the backend executes.
var methods = map[mcp.MCPMethod]method{
	mcp.MethodToolsCall:              {offered: func(Offers) bool { return true }, name: "name"},
	mcp.MethodPromptsList:            {offered: func(o Offers) bool { return o.Prompts }, cached: true, list: true},
	mcp.MethodPromptsGet:             {offered: func(o Offers) bool { return o.Prompts }, name: "name"},
	mcp.MethodResourcesList:          {offered: func(o Offers) bool { return o.Resources }, cached: true, list: true},
	mcp.MethodResourcesTemplatesList: {offered: func(o Offers) bool { return o.Resources }, cached: true, list: true},
	mcp.MethodResourcesRead:          {offered: func(o Offers) bool { return o.Resources }, name: "uri", cached: true},
	mcp.MethodCompletionComplete:     {offered: func(o Offers) bool { return o.Completions }},
	methodTasksGet:                   {offered: func(o Offers) bool { return o.Tasks }, name: memberTaskID, task: true},
	methodTasksUpdate:                {offered: func(o Offers) bool { return o.Tasks }, name: memberTaskID, task: true},
	methodTasksCancel:                {offered: func(o Offers) bool { return o.Tasks }, name: memberTaskID, task: true},
	call.MethodSkillsList:            {offered: func(o Offers) bool { return o.Skills }, cached: true, list: true},
	call.MethodSkillsGet:             {offered: func(o Offers) bool { return o.Skills }, name: "uri", headless: true, cached: true},
	call.MethodDirectoryRead:         {offered: func(o Offers) bool { return o.Skills }, name: "uri", headless: true, list: true},
}

// backendRequest converts a client's request for the backend.
func (s *session) backendRequest(m *message, meta requestMeta, how method) (call.Request, *abi.Error) {
	p := &m.params
	r := call.Request{
		Method: m.method, Client: s.clientOf(meta), Principal: s.by, Sender: s.from, Version: cmp.Or(meta.version, s.version), ID: m.id,
		Params: p.all, Arguments: p.arguments, Argument: p.argument, Cursor: p.cursor,
		Held: s.held, Whole: s.local != nil,
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
	case memberTaskID:
		r.Name, ok = rawjson.Unquote(p.task)
	default:
		r.Ref.Type, _ = rawjson.Unquote(p.ref.kind)
		r.Ref.Name, _ = rawjson.Unquote(p.ref.name)
		r.Ref.URI, _ = rawjson.Unquote(p.ref.uri)
		r.Name, ok = r.Ref.Name+r.Ref.URI, true
	}
	if !ok {
		return r, &abi.Error{Code: abi.CodeInvalidParams, Message: missingName[m.method]}
	}
	return r, nil
}

// reportRefused reports a request for a method that is not offered to the backend, unless it is for a list.
func (s *session) reportRefused(m *message, meta requestMeta, how method) {
	if r, err := s.backendRequest(m, meta, how); err == nil && r.Name != "" {
		s.view.backend.ReportRefused(r)
	}
}

// clientOf returns the client's name and version, as stated in a modern request or in initialize.
func (s *session) clientOf(meta requestMeta) string {
	return cmp.Or(meta.client, s.client)
}

// missingName is the error message for a request without its name or URI.
var missingName = map[string]string{
	string(mcp.MethodToolsCall):     "Missing tool name",
	string(mcp.MethodPromptsGet):    "Missing prompt name",
	string(mcp.MethodResourcesRead): "Missing resource uri",
	methodTasksGet:                  "Missing taskId",
	methodTasksUpdate:               "Missing taskId",
	methodTasksCancel:               "Missing taskId",
	call.MethodSkillsGet:            "Missing skill uri",
	call.MethodDirectoryRead:        "Missing directory uri",
}

// Unknown is the error for a tool, prompt or resource that is not offered. name is its name or URI; why may be empty.
func Unknown(method, name, why string) *abi.Error {
	if why != "" {
		why = ": " + why
	}
	switch mcp.MCPMethod(method) {
	case mcp.MethodToolsCall:
		return &abi.Error{Code: abi.CodeInvalidParams, Message: "Unknown tool: " + visible.Name(name) + why}
	case mcp.MethodPromptsGet:
		return &abi.Error{Code: abi.CodeInvalidParams, Message: "Unknown prompt: " + visible.Name(name) + why}
	case mcp.MethodResourcesRead, mcp.MethodResourcesSubscribe:
		return &abi.Error{Code: abi.CodeResourceNotFound, Message: "Resource not found: " + visible.Name(name) + why}
	}
	switch method {
	case call.MethodSkillsGet:
		return invalidParams("unknown skill: " + visible.Name(name) + why)
	case call.MethodDirectoryRead:
		return invalidParams("not a directory: " + visible.Name(name) + why)
	}
	return invalidParams("unknown reference" + why)
}

// clientName formats clientInfo as "name/version", truncated; empty if it has no name.
func clientName(info []byte) string {
	name, _ := rawjson.Unquote(rawjson.Member(info, "name"))
	version, _ := rawjson.Unquote(rawjson.Member(info, "version"))
	const most = 128 // code points of the name, and of the version
	if name == "" {
		return ""
	}
	return fmt.Sprintf("%.*s/%.*s", most, name, most, version)
}
