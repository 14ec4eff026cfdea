package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/bulkhead-mcp/bulkhead/internal/protocol/call"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

// toolFunc implements a tool of fakeBackend.
type toolFunc func(ctx context.Context, arguments json.RawMessage, n Notifier) (json.RawMessage, error)

// fakeBackend is a Backend whose tools are Go functions. It records the names of tools in the order of calls of Find and of
// Run.
type fakeBackend struct {
	tools    map[string]toolFunc
	refusals map[string]string

	mu     sync.Mutex
	looked []string
	ran    []string
}

type fakeCall struct {
	b *fakeBackend
	call.Request
}

func (b *fakeBackend) Find(r call.Request) (Queued, *abi.Error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if r.Method != "tools/call" {
		return fakeCall{b, r}, nil
	}
	b.looked = append(b.looked, r.Name)
	if r.Name == "lookup_panics" {
		panic("looked up")
	}
	if b.tools[r.Name] == nil && r.Name != "ask" {
		return nil, Unknown(r.Method, r.Name, b.refusals[r.Name])
	}
	return fakeCall{b, r}, nil
}

func (b *fakeBackend) ReportRefused(call.Request) {}

func (b *fakeBackend) CanSubscribe(r call.Request) bool { return strings.HasPrefix(r.Name, "note://") }

func (b *fakeBackend) runs() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.ran)
}

func (c fakeCall) Execute(ctx context.Context, n Notifier) (call.Result, error) {
	body, err := c.answer(ctx, n)
	return call.Result{Body: body}, err
}

func (c fakeCall) answer(ctx context.Context, n Notifier) (json.RawMessage, error) {
	if c.Name == "ask" || c.Name == "note://ask" {
		return c.ask(ctx, n)
	}
	if c.Method != "tools/call" {
		return fakeResult(c.Request)
	}
	c.b.mu.Lock()
	c.b.ran = append(c.b.ran, c.Name)
	c.b.mu.Unlock()
	var p struct{ Arguments json.RawMessage }
	if err := json.Unmarshal(c.Params, &p); err != nil {
		return nil, err
	}
	return c.b.tools[c.Name](ctx, p.Arguments, n)
}

// fakeResult returns the result of a method other than tools/call: for prompts/get the prompt's argument "result",
// for resources/read an error, a time to live or the URI, depending on the URI, and otherwise a minimal result.
func fakeResult(r call.Request) (json.RawMessage, error) {
	switch r.Method {
	case "prompts/list":
		return json.RawMessage(`{"prompts":[{"name":"greet","x":9007199254740993}]}`), nil
	case "prompts/get":
		return rawjson.Member(rawjson.Member(r.Params, "arguments"), "result"), nil
	case "resources/list":
		return json.RawMessage(`{"resources":[]}`), nil
	case "resources/templates/list":
		return json.RawMessage(`{"ttlMs":5,"cacheScope":"public","resourceTemplates":[]}`), nil
	case "resources/read":
		switch r.Name {
		case "note://missing":
			return nil, Unknown(r.Method, r.Name, "")
		case "note://forever":
			return json.RawMessage(`{"contents":[],"ttlMs":-1,"cacheScope":"public"}`), nil
		case "note://lasts":
			return json.RawMessage(`{"contents":[],"ttlMs":60000,"cacheScope":"public"}`), nil
		case "note://hangs":
			return nil, &Failure{Code: "timeout", Plugin: "fake", Message: "ran past its time limit of 30s"}
		}
		return json.RawMessage(`{"contents":[{"uri":` + string(rawjson.Quote(r.Name)) + `,"text":"from ` + r.Client + `"}]}`), nil
	}
	return json.RawMessage(`{"completion":{"values":["one"]}}`), nil
}

func (c fakeCall) Failure(code, message string) *Failure {
	if c.Name == "wordless" {
		panic("no words")
	}
	return &Failure{Code: code, Plugin: "fake", Tool: c.Name, Message: message, Text: "fake: " + message}
}

// newFake returns the backend of the conversations in testdata.
func newFake() *fakeBackend {
	return &fakeBackend{
		refusals: map[string]string{"gated": "no project is known: pass --project DIR"},
		tools: map[string]toolFunc{
			"echo":     echo,
			"raw":      raw,
			"wordless": raw,
			"fail":     fail,
			"notify":   notify,
			"timeout": func(context.Context, json.RawMessage, Notifier) (json.RawMessage, error) {
				return nil, fmt.Errorf("call: %w", &Failure{Code: "timeout", Plugin: "fake", Tool: "timeout", Message: "ran past its time limit of 30s", Text: "fake: timeout ran past its time limit of 30s"})
			},
			"untexted": func(context.Context, json.RawMessage, Notifier) (json.RawMessage, error) {
				return nil, &Failure{Code: "memory", Plugin: "fake", Message: "untexted ran out of memory"}
			},
			"broken": func(context.Context, json.RawMessage, Notifier) (json.RawMessage, error) {
				return nil, errors.New("disk on fire")
			},
			"panics": func(context.Context, json.RawMessage, Notifier) (json.RawMessage, error) {
				panic("on purpose")
			},
		},
	}
}

// echo returns the arguments as text.
func echo(_ context.Context, arguments json.RawMessage, _ Notifier) (json.RawMessage, error) {
	return textResult(string(arguments)), nil
}

// raw returns the argument "result", or the content of the string "text", as its result.
func raw(_ context.Context, arguments json.RawMessage, _ Notifier) (json.RawMessage, error) {
	var a struct {
		Result json.RawMessage
		Text   string
	}
	if err := json.Unmarshal(arguments, &a); err != nil {
		return nil, err
	}
	if a.Result != nil {
		return a.Result, nil
	}
	return json.RawMessage(a.Text), nil
}

// fail returns its arguments as a JSON-RPC error.
func fail(_ context.Context, arguments json.RawMessage, _ Notifier) (json.RawMessage, error) {
	var e abi.Error
	if err := json.Unmarshal(arguments, &e); err != nil {
		return nil, err
	}
	return nil, fmt.Errorf("tool: %w", &e)
}

// notify sends its arguments, a list of notifications, and returns the last error as text.
func notify(ctx context.Context, arguments json.RawMessage, n Notifier) (json.RawMessage, error) {
	var list []abi.Notification
	if err := json.Unmarshal(arguments, &list); err != nil {
		return nil, err
	}
	said := "sent"
	for _, item := range list {
		if err := n.Notify(ctx, item.Method, item.Params); err != nil {
			said = err.Error()
		}
	}
	return textResult(said), nil
}

func textResult(text string) json.RawMessage {
	return fmt.Appendf(nil, `{"content":[{"type":"text","text":%s}]}`, rawjson.Quote(text))
}
