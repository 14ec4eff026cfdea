package gateway

import (
	"context"
	"encoding/json"

	"github.com/bulkhead-mcp/bulkhead/host/rawjson"
)

// Backend does what is offered. Its methods may be called by several sessions at once.
type Backend interface {
	// Tool finds a granted tool. It is called while messages are read, in their order, so it must not
	// block. The Call it returns holds the call's place in whatever queue there is, so that pipelined
	// writes take effect in the order they were sent; its Run follows exactly once.
	Tool(name string) (Call, bool)

	// Refusal says why a tool that Tool does not find is not offered; "" if there is nothing to say.
	Refusal(name string) string
}

// Call is one call of one tool.
type Call interface {
	// Run does the call. params are those of the tools/call request as the client sent them; n sends
	// what the call has to say before it ends. The result is a CallToolResult, which reaches the client
	// with its own bytes. The error is an *abi.Error, which reaches the client as it stands, or a
	// *Failure; any other is reported as an internal failure. Run returns soon after ctx ends.
	Run(ctx context.Context, params json.RawMessage, n Notifier) (json.RawMessage, error)

	// Failure words a failure that the gateway found, such as a result of the wrong shape.
	Failure(code, message string) *Failure
}

// Notifier sends notifications that belong to a running call.
type Notifier interface {
	// Notify takes notifications/progress and notifications/message. One that the client did not ask
	// for (no progress token, a level too low), or that comes after the call ended, is dropped. The
	// progress token in params is replaced by the client's own. The error says what is wrong with a
	// notification that no client could read.
	Notify(method string, params json.RawMessage) error
}

// Codes of the failures that the gateway finds itself.
const (
	FailureInvalidResult = "invalid_result" // the tool's result is not one that a client can read
	FailureInternal      = "internal"       // a fault of the host's
)

// Failure is a call that failed by the host's hand. It becomes a tool result with isError, so that the
// client's model reads it.
type Failure struct {
	Code    string // "timeout", "memory", "denied", …
	Plugin  string
	Tool    string
	Message string // what happened, for Error
	Text    string // what a person reads; empty: "bulkhead: " and Message
}

func (f *Failure) Error() string { return f.Message + " (" + f.Code + ")" }

// result is the failure as a CallToolResult.
func (f *Failure) result() []byte {
	text := f.Text
	if text == "" {
		text = "bulkhead: " + f.Message
	}
	out := append([]byte(nil), `{"content":[{"type":"text","text":`...)
	out = append(out, rawjson.Quote(text)...)
	out = append(out, `}],"isError":true,"_meta":{"bulkhead/error":{"code":`...)
	out = append(out, rawjson.Quote(f.Code)...)
	out = append(out, `,"plugin":`...)
	out = append(out, rawjson.Quote(f.Plugin)...)
	return append(out, `}}}`...)
}
