package dispatch

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	"github.com/bulkhead-mcp/bulkhead/internal/base/guard"
	"github.com/bulkhead-mcp/bulkhead/internal/base/visible"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/catalog"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/hosttool"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/call"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/gateway"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/quota"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/engine"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/worker"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/worker/wire"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

// Bounds of the calls that one script makes. The script module knows nestedBatch.
const (
	maxNested        = 1000     // calls of a script
	nestedBatch      = 64       // calls of one operation
	nestedAtOnce     = 16       // calls at the same time
	maxNestedResult  = 4 << 20  // bytes of a result
	maxNestedResults = 16 << 20 // bytes of all results
	maxNestedError   = 8 << 10  // bytes of an error
)

// nestedCalls are the calls of tools that one script makes. Each is executed as if the client of the script had made it, with the view that
// is current then. The script waits for one operation at a time, so no two batches run at the same time.
type nestedCalls struct {
	script   *queued
	notifier gateway.Notifier
	made     int
	left     atomic.Int64 // bytes of results that the script may still get
}

// operateScript returns the operations of a script, which can only call tools: its module executes what a client sends, and nothing in it keeps
// a script from making the requests of operations itself.
func (q *queued) operateScript(n gateway.Notifier) worker.Operate {
	calls := &nestedCalls{script: q, notifier: n}
	calls.left.Store(maxNestedResults)
	return func(ctx context.Context, operation wire.Operation) wire.Reply {
		if operation.Op != abi.MethodToolsCall {
			return wire.ReplyOf(nil, &abi.HostError{Code: abi.HostDenied, Message: operation.Op + ": scripts can only call tools"})
		}
		return wire.ReplyOf(calls.perform(ctx, operation.Params))
	}
}

// perform makes the calls of one operation, and returns a JSON array with the result of each: {"value": …} or {"error": "…"}.
func (n *nestedCalls) perform(ctx context.Context, params []byte) ([]byte, error) {
	requests, err := n.parse(params)
	if err != nil {
		return nil, err
	}
	n.made += len(requests)
	results := make([][]byte, len(requests))
	var next atomic.Int64
	work := func() {
		for i := next.Add(1) - 1; int(i) < len(requests) && ctx.Err() == nil; i = next.Add(1) - 1 {
			if result, busy := n.result(ctx, requests[i]); !busy {
				results[i] = result
			}
		}
	}
	// The first goroutine has the place of the script among the calls of its principal; the others need one each.
	var all sync.WaitGroup
	all.Go(work)
	for range min(len(requests), nestedAtOnce) - 1 {
		end, ok := quota.BeginFurther(ctx)
		if !ok {
			break
		}
		all.Go(func() { defer end(); work() })
	}
	all.Wait()
	for i := range results {
		if results[i] == nil && ctx.Err() == nil { // the others took memory or slots that it needs; it only reads, so it can be repeated
			results[i], _ = n.result(ctx, requests[i])
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return append(append([]byte{'['}, bytes.Join(results, []byte{','})...), ']'), nil
}

// parse returns the requests of one operation.
func (n *nestedCalls) parse(params []byte) ([]call.Request, error) {
	var calls []struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	}
	if rawjson.Bound(params, maxNotification, maxDepth) != nil || !utf8.Valid(params) || json.Unmarshal(params, &calls) != nil {
		return nil, invalidOperation(abi.MethodToolsCall)
	}
	switch {
	case len(calls) > nestedBatch:
		return nil, &abi.HostError{Code: abi.HostInvalid, Message: fmt.Sprintf("a script makes at most %d calls at a time", nestedBatch)}
	case n.made+len(calls) > maxNested:
		return nil, &abi.HostError{Code: abi.HostInvalid, Message: fmt.Sprintf("a script makes at most %d calls: ask for more with each of them, or run several scripts", maxNested)}
	}
	requests := make([]call.Request, len(calls))
	for i, c := range calls {
		if len(c.Arguments) == 0 {
			c.Arguments = json.RawMessage("{}")
		}
		if rawjson.Kind(c.Arguments) != '{' {
			return nil, invalidOperation(abi.MethodToolsCall)
		}
		by := &n.script.Request
		requests[i] = call.Request{
			Method: abi.MethodToolsCall, Name: c.Name, Arguments: c.Arguments, Params: fmt.Appendf(nil, `{"name":%s,"arguments":%s}`, rawjson.Quote(c.Name), c.Arguments),
			Client: by.Client, Principal: by.Principal, Sender: by.Sender, Version: by.Version, ID: by.ID, Parent: by.RecordID, Via: hosttool.Script, TraceParent: by.Trace,
		}
	}
	return requests, nil
}

// result makes a call and returns its result for the script, and whether the call did not run because of others.
func (n *nestedCalls) result(ctx context.Context, r call.Request) (encoded []byte, busy bool) {
	result, tool, err := n.call(ctx, r)
	if failed := (*gateway.Failure)(nil); errors.As(err, &failed) {
		busy = failed.Code == string(engine.CodeQueue)
	}
	value, notes, text := scriptValue(r.Name, tool, result, err)
	size := len(value) + len(notes)
	switch {
	case text != "":
	case size > maxNestedResult:
		text = fmt.Sprintf("%s returned %d bytes, more than the %d that a script gets of a call: ask it for less", r.Name, size, maxNestedResult)
	case n.left.Add(-int64(size)) < 0:
		text = fmt.Sprintf("%s returned %d bytes: the results of this script have more than %d bytes together, so make the other calls with another script", r.Name, size, maxNestedResults)
	default:
		return fmt.Appendf(nil, `{"value":%s%s}`, value, notes), false
	}
	return fmt.Appendf(nil, `{"error":%s}`, rawjson.Quote(visible.Truncate(text, maxNestedError))), busy
}

// call makes a call, and returns the called tool, too; nil if it was refused.
func (n *nestedCalls) call(ctx context.Context, r call.Request) (result call.Result, tool *catalog.Tool, err error) {
	p := n.script.plugin
	defer guard.Recover(p.Log, "in a call of a script", &err)
	end, refused := quota.BeginNested(ctx)
	if refused != nil {
		return call.Result{}, nil, refused
	}
	defer func() { end(result.Fuel) }()
	pinned, refused := p.dispatcher.BackendOf(p.view.catalog.Key).pin(r, (*view).enqueueInner)
	if refused != nil {
		return call.Result{}, nil, refused
	}
	defer pinned.ResponseWritten()
	if q, ok := pinned.Queued.(*queued); ok {
		tool = q.tool
	}
	result, err = pinned.Execute(ctx, n.notifier)
	return result, tool, err
}

// scriptValue returns what a script gets of a call, or the text of its error: the structured content, the JSON in the text of a tool that is
// declared to return it, or the text as a string. notes is a member with the texts after that JSON.
func scriptValue(name string, tool *catalog.Tool, result call.Result, err error) (value, notes []byte, failure string) {
	var failed *gateway.Failure
	var own *abi.Error
	switch {
	case errors.As(err, new(*gateway.Ask)):
		return nil, nil, name + " needs an answer of the user, which a script cannot give: call it directly, not by a script"
	case errors.As(err, &failed) && failed.Text != "":
		return nil, nil, failed.Text
	case errors.As(err, &own):
		return nil, nil, own.Message
	case err != nil:
		return nil, nil, err.Error()
	case result.Kind == call.ToolError:
		return nil, nil, contentText(result.Body)
	}
	if structured := rawjson.Member(result.Body, "structuredContent"); structured != nil {
		return structured, nil, ""
	}
	if tool != nil && tool.ReturnsJSON() {
		if value, notes := textJSON(result.Body); value != nil {
			return value, notes, ""
		}
	}
	return rawjson.Quote(contentText(result.Body)), nil, ""
}

// textJSON returns the JSON that is the first text of a result, and a member with its further texts; nil if it is no JSON.
func textJSON(body []byte) (value, notes []byte) {
	for i, item := range rawjson.Elements(rawjson.Member(body, "content")) {
		text, _ := itemText(item)
		switch {
		case i == 0 && !isJSON([]byte(text)):
			return nil, nil
		case i == 0:
			value = []byte(text)
		case notes == nil:
			notes = append([]byte(`,"notes":[`), rawjson.Quote(text)...)
		default:
			notes = append(append(notes, ','), rawjson.Quote(text)...)
		}
	}
	if notes != nil {
		notes = append(notes, ']')
	}
	return value, notes
}

// isJSON reports whether the script's module can parse a text.
func isJSON(text []byte) bool {
	s := rawjson.NewScanner(text)
	s.Value()
	return s.Refusal() == "" && s.End() && rawjson.Bound(text, math.MaxInt, maxDepth) == nil
}

// contentText returns the texts of a result's content, and what else it has.
func contentText(body []byte) string {
	var text []byte
	for i, item := range rawjson.Elements(rawjson.Member(body, "content")) {
		if i > 0 {
			text = append(text, '\n')
		}
		if part, ok := itemText(item); ok {
			text = append(text, part...)
			continue
		}
		kind, _ := rawjson.Unquote(rawjson.Member(item, "type"))
		text = fmt.Appendf(text, "[content of the type %s, which a script does not get: call the tool directly]", kind)
	}
	return string(text)
}

func itemText(item []byte) (string, bool) {
	if resource := rawjson.Member(item, "resource"); resource != nil {
		item = resource
	}
	if text, ok := rawjson.Unquote(rawjson.Member(item, "text")); ok {
		return text, true
	}
	return rawjson.Unquote(rawjson.Member(item, "uri"))
}
