package gateway

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/bulkhead-mcp/bulkhead/host/rawjson"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// Backend does what is offered. Its methods may be called by several sessions at once.
type Backend interface {
	// Find finds what answers a request. It is called while messages are read, in their order, so it must
	// not block. The Call it returns holds the request's place in whatever queue there is, so that
	// pipelined writes take effect in the order they were sent; its Run follows exactly once. The error of
	// what is not offered is best one that Unknown words.
	Find(r Request) (Call, *abi.Error)

	// Watch tells whether a resource, the request's Name, can be subscribed to, without looking whether it is
	// there. It must not block.
	Watch(r Request) bool
}

// Request is what a client asks of the backend: to call a tool, or one of the methods of prompts,
// resources and completions that Config.Offers has the gateway let through.
type Request struct {
	Method string
	Name   string          // of the tool or prompt, or the resource's URI, also that a completion is for; empty for lists
	Params json.RawMessage // as the client sent them: a JSON object; nil if absent
	Client string          // its name and version, as it said itself; empty if it did not

	// Members of Params, as the client sent them; nil or empty if absent.
	Arguments json.RawMessage // of a tool or prompt
	Argument  json.RawMessage // that is completed
	Cursor    json.RawMessage // of a list
	Ref       Reference       // what a completion is for
}

// Reference names the prompt, or the resource template, that a completion is for.
type Reference struct{ Type, Name, URI string }

// Call is one request that is to be answered.
type Call interface {
	// Run answers it. n sends what there is to say before that. The result is that of the method, for
	// tools/call a CallToolResult, and reaches the client with its own bytes. The error is an *abi.Error,
	// which reaches the client as it stands, or a *Failure; any other is reported as an internal failure.
	// Run returns soon after ctx ends.
	Run(ctx context.Context, n Notifier) (json.RawMessage, error)

	// Failure words a failure that the gateway found, such as a result of the wrong shape.
	Failure(code, message string) *Failure
}

// Answered is a Call that keeps something until its answer is out of memory, such as a place among the calls of
// a plugin: so a client that does not read its answers stops calls from giving more of them.
type Answered interface {
	// Answered is called once after Run, when the answer was written, dropped or put into that of a batch.
	Answered()
}

// Notifier sends notifications that belong to a running call.
type Notifier interface {
	// Notify takes notifications/progress and notifications/message. One that the client did not ask
	// for (no progress token, a level too low), or that comes after the call ended, is dropped. The
	// progress token in params is replaced by the client's own.
	//
	// It also takes what changed for every client: notifications/prompts/list_changed, likewise resources,
	// and notifications/resources/updated. These leave when the call ends, before its answer and each once,
	// to all sessions that want them, also where the call failed or was cancelled.
	//
	// Notify blocks while the client does not read, until ctx ends; params must not be modified, even after
	// that. The error is ctx's, or says why no client could read the notification.
	Notify(ctx context.Context, method string, params json.RawMessage) error
}

// Codes of the failures that the gateway finds itself.
const (
	FailureInvalidResult = "invalid_result" // the tool's result is not one that a client can read
	FailureInternal      = "internal"       // a fault of the host's
)

// Failure is a call that failed by the host's hand. That of a tool becomes a result with isError, so that
// the client's model reads it; any other a JSON-RPC error.
type Failure struct {
	Code    string // "timeout", "memory", "denied", …
	Plugin  string
	Tool    string
	Message string // what happened, for Error
	Text    string // what a person reads; empty: "bulkhead: " and Message
}

func (f *Failure) Error() string { return f.Message + " (" + f.Code + ")" }

func (f *Failure) text() string {
	if f.Text == "" {
		return "bulkhead: " + f.Message
	}
	return f.Text
}

// result is the failure as a CallToolResult. A text that is a JSON object is its structuredContent, too: so
// worded are the failures of tools whose every answer has one.
func (f *Failure) result() []byte {
	structured := ""
	if text := []byte(f.text()); rawjson.Kind(text) == '{' && json.Valid(text) {
		structured = `"structuredContent":` + string(oneLine(text)) + `,`
	}
	return fmt.Appendf(nil, `{"content":[{"type":"text","text":%s}],%s"isError":true,"_meta":%s}`, rawjson.Quote(f.text()), structured, f.meta())
}

// rpc is the failure as a JSON-RPC error.
func (f *Failure) rpc() *abi.Error {
	return &abi.Error{Code: abi.CodeInternal, Message: f.text(), Data: f.meta()}
}

// meta tells programs what happened.
func (f *Failure) meta() []byte {
	return fmt.Appendf(nil, `{"bulkhead/error":{"code":%s,"plugin":%s}}`, rawjson.Quote(f.Code), rawjson.Quote(f.Plugin))
}
