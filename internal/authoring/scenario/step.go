package scenario

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// lists are the lists that a step can request, with their methods and the keys of their items.
var lists = []struct{ name, method, member, key string }{
	{"tools", "tools/list", "tools", "name"},
	{"prompts", abi.MethodPromptsList, "prompts", "name"},
	{"resources", abi.MethodResourcesList, "resources", "uri"},
	{"resource_templates", abi.MethodResourcesTemplatesList, "resourceTemplates", "uriTemplate"},
}

func parseStep(t *tomlfile.Table) *step {
	s := &step{table: t, failure: t.String("failure"), isError: t.Bool("is_error", false), denied: t.Strings("denied"), log: t.Strings("log")}
	var found []string
	for _, kind := range kinds {
		if t.Has(kind) {
			found = append(found, kind)
		}
	}
	if len(found) != 1 {
		t.Fault(kindTool, fmt.Sprintf("the step has %d of the keys %s", len(found), strings.Join(kinds, ", ")), "write exactly one of them: each step is one request")
		found = []string{kindTool}
	}
	s.kind = found[0]
	s.parseRequest()
	s.answers, s.asked = values(t, "answers"), values(t, "asked")
	for _, key := range []string{"answers", "asked"} {
		inner := t.Table(key)
		for _, id := range inner.Keys() {
			if !inner.IsTable(id) {
				inner.Fault(id, "is not a table", `write the result that MCP defines, such as { name = { action = "accept", content = { name = "Ada" } } }`)
			}
		}
	}
	if s.asked != nil && s.answers == nil {
		t.Fault("asked", "is set without answers", "write answers too: without them the client cannot be asked")
	}
	if t.Has("text") {
		text := t.String("text")
		s.text = &text
	}
	s.texts, s.structured, s.result = parseTexts(t), object(t, "structured"), object(t, "result")
	s.parseError()
	for _, n := range t.Tables("notifications") {
		s.notifications = append(s.notifications, notification{n.Required("method", "write a method of MCP, such as notifications/progress"), object(n, "params")})
	}
	if t.Has("notifications") && s.notifications == nil {
		s.notifications = []notification{}
	}
	return s
}

func (s *step) parseRequest() {
	t := s.table
	if s.kind == kindComplete {
		s.parseCompletion(t.Table(kindComplete))
		return
	}
	s.name = t.String(s.kind)
	if s.name == "" {
		t.Fault(s.kind, "is empty", "write the name, URI or list that is requested")
	}
	var names []string
	for _, l := range lists {
		names = append(names, l.name)
	}
	if s.kind == kindList && !slices.Contains(names, s.name) {
		t.Fault(kindList, tomlfile.Quote(s.name)+" is not a list", "write one of "+strings.Join(names, ", "))
	}
	if s.kind == kindTool || s.kind == kindPrompt {
		s.request.arguments = object(t, "arguments")
	}
}

func (s *step) parseCompletion(t *tomlfile.Table) {
	prompt, resource := t.String("prompt"), t.String("resource")
	if (prompt == "") == (resource == "") {
		t.Fault("prompt", "the completion needs either prompt or resource", "write the name of a prompt, or the URI template of resources")
	}
	s.name, s.request.ref, s.request.isPrompt = prompt+resource, prompt+resource, prompt != ""
	s.request.argument = t.Required("argument", "write the name of the argument that is completed")
	s.request.value, s.request.afterwards = t.String("value"), object(t, "arguments")
}

func (s *step) parseError() {
	t := s.table.Table("error")
	if !t.Present() {
		return
	}
	s.rpcError = &rpcError{table: t, texts: parseTexts(t)}
	if code, ok := t.Int("code"); ok {
		s.rpcError.code = &code
	}
	if t.Has("message") {
		message := t.String("message")
		s.rpcError.message = &message
	}
	for _, key := range []string{"text", "structured", "structured_json", "result", "result_json", "is_error", "contains", "matches"} {
		if s.table.Has(key) {
			s.table.Fault(key, "is set beside error", "remove it: a JSON-RPC error has no result; write contains and matches in error")
		}
	}
}

// method returns the method and the parameters of the request.
func (s *step) method(p *places) (string, map[string]any) {
	switch s.kind {
	case kindTool, kindPrompt:
		params := map[string]any{"name": p.expand(s.name)}
		if s.request.arguments != nil {
			params["arguments"] = p.expandAll(s.request.arguments)
		}
		if s.kind == kindPrompt {
			return abi.MethodPromptsGet, params
		}
		params["_meta"] = map[string]any{"progressToken": 1}
		return abi.MethodToolsCall, params
	case kindResource:
		return abi.MethodResourcesRead, map[string]any{"uri": p.expand(s.name)}
	case kindComplete:
		ref := map[string]any{"type": "ref/resource", "uri": p.expand(s.request.ref)}
		if s.request.isPrompt {
			ref = map[string]any{"type": "ref/prompt", "name": p.expand(s.request.ref)}
		}
		params := map[string]any{"ref": ref, "argument": map[string]any{"name": s.request.argument, "value": p.expand(s.request.value)}}
		if s.request.afterwards != nil {
			params["context"] = map[string]any{"arguments": p.expandAll(s.request.afterwards)}
		}
		return abi.MethodComplete, params
	}
	for _, l := range lists {
		if l.name == s.name {
			return l.method, map[string]any{}
		}
	}
	return s.name, map[string]any{}
}
