package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/bulkhead-mcp/bulkhead/host/rawjson"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// toolFunc is a tool of the tests; it gets the request's arguments.
type toolFunc func(ctx context.Context, arguments json.RawMessage, n Notifier) (json.RawMessage, error)

// fakeBackend is a Backend of Go functions. It records the order in which tools were looked up and
// which were run.
type fakeBackend struct {
	tools    map[string]toolFunc
	refusals map[string]string

	mu     sync.Mutex
	looked []string
	ran    []string
}

type fakeCall struct {
	b    *fakeBackend
	name string
}

func (b *fakeBackend) Tool(name string) (Call, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.looked = append(b.looked, name)
	if name == "lookup_panics" {
		panic("looked up")
	}
	if b.tools[name] == nil {
		return nil, false
	}
	return fakeCall{b, name}, true
}

func (b *fakeBackend) Refusal(name string) string { return b.refusals[name] }

func (b *fakeBackend) runs() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.ran)
}

func (c fakeCall) Run(ctx context.Context, params json.RawMessage, n Notifier) (json.RawMessage, error) {
	c.b.mu.Lock()
	c.b.ran = append(c.b.ran, c.name)
	c.b.mu.Unlock()
	var p struct{ Arguments json.RawMessage }
	if err := json.Unmarshal(params, &p); err != nil {
		return nil, err
	}
	return c.b.tools[c.name](ctx, p.Arguments, n)
}

func (c fakeCall) Failure(code, message string) *Failure {
	if c.name == "wordless" {
		panic("no words")
	}
	return &Failure{Code: code, Plugin: "fake", Tool: c.name, Message: message, Text: "fake: " + message}
}

// newFake makes the backend that the conversations in testdata talk to.
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

// echo answers with the arguments as text.
func echo(_ context.Context, arguments json.RawMessage, _ Notifier) (json.RawMessage, error) {
	return textResult(string(arguments)), nil
}

// raw answers with the bytes of its argument "result", or those of the string "text".
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

// fail answers with its arguments as the tool's own JSON-RPC error.
func fail(_ context.Context, arguments json.RawMessage, _ Notifier) (json.RawMessage, error) {
	var e abi.Error
	if err := json.Unmarshal(arguments, &e); err != nil {
		return nil, err
	}
	return nil, fmt.Errorf("tool: %w", &e)
}

// notify sends its arguments, a list of notifications, and answers with the errors they met.
func notify(_ context.Context, arguments json.RawMessage, n Notifier) (json.RawMessage, error) {
	var list []abi.Notification
	if err := json.Unmarshal(arguments, &list); err != nil {
		return nil, err
	}
	said := "sent"
	for _, item := range list {
		if err := n.Notify(item.Method, item.Params); err != nil {
			said = err.Error()
		}
	}
	return textResult(said), nil
}

func textResult(text string) json.RawMessage {
	return fmt.Appendf(nil, `{"content":[{"type":"text","text":%s}]}`, rawjson.Quote(text))
}
