package gateway

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/bulkhead-mcp/bulkhead/internal/protocol/call"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/interaction"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

// Backend executes requests. It must be safe for concurrent use: sessions share it.
type Backend interface {
	// Find returns the Queued request, whose Execute the gateway then calls exactly once. Find is called in the
	// order in which the client sent its requests, so that a request can reserve its position in a queue and pipelined
	// writes take effect in order. It must not block: the gateway reads no further message until Find returns. For a
	// name that is not offered it should return the result of Unknown.
	Find(r call.Request) (Queued, *abi.Error)

	// CanSubscribe reports whether clients can subscribe to the resource r.Name, which need not exist. It must
	// not block.
	CanSubscribe(r call.Request) bool

	// ReportRefused is called with a request for something that has a name, if Config.Offers does not enable its method.
	// It must not block.
	ReportRefused(r call.Request)
}

// QuestionBounder is a Backend that bounds the calls that wait for an answer of their client.
type QuestionBounder interface {
	// BeginQuestion counts a call of a principal until end is called. why is the reason why the call may not ask; empty if it may.
	BeginQuestion(p *call.Principal) (end func(), why string)
}

// Ask is the error of a call that needs something from the client. The gateway asks the client, and then has the backend
// execute the request again, with its Interaction.
type Ask struct {
	interaction.Ask
	PluginVersion string        // identifies the plugin, and the version of it, that asks
	Timeout       time.Duration // how long the client has to answer
	// Approval is set if the host asks whether the call may run, and not the module. Its text is in the only request.
	Approval *Approval
}

// Approval is the question whether a call may run.
type Approval struct {
	interaction.Approval
	Text string // what the user is shown
}

func (*Ask) Error() string { return "the call asks its client" }

// Queued is a request for which the backend has reserved what orders it among others.
type Queued interface {
	// Execute executes the request and returns the method's result (for tools/call a CallToolResult), whose bytes
	// reach the client unchanged. An *abi.Error reaches the client unchanged too; a *Failure is formatted; an *Ask is sent
	// to the client; and any other error is reported as an internal failure. Execute must return soon after ctx ends.
	Execute(ctx context.Context, n Notifier) (call.Result, error)

	// Failure formats a failure that the gateway detects, such as an invalid result.
	Failure(code, message string) *Failure
}

// ResponseWritten is a Queued request that holds a resource, for example one of a limited number of slots, until its response no longer
// takes memory. This bounds the responses that a client does not read.
type ResponseWritten interface {
	// ResponseWritten is called once after Execute, when the response was written, dropped or added to a batch.
	ResponseWritten()
}

// Notifier sends the notifications of a running call.
type Notifier interface {
	// Notify accepts notifications/progress and notifications/message. It drops notifications that the client did not
	// request (no progress token, level too low) and those sent after the call ended. It replaces the progress token in
	// params by the client's.
	//
	// It also accepts notifications about changes that concern every client:
	// notifications/{prompts,resources}/list_changed and notifications/resources/updated. These are sent when the call
	// ends, before its response, once each, to all sessions that requested them, even if the call failed or was
	// cancelled.
	//
	// Notify blocks while the client does not read, until ctx ends; params must not be modified, even after that. The
	// error is ctx's, or describes an invalid notification. Only clients of the call's own view are notified of changes.
	Notify(ctx context.Context, method string, params json.RawMessage) error

	// NotifyOf is like Notify, but notifies the clients of other views too of those changes that source shows them.
	NotifyOf(ctx context.Context, source Source, method string, params json.RawMessage) error

	// Announce states that the request may have an effect from now on, so that it must not be repeated without the client's knowledge. It returns
	// when the beginning of an answer was sent, the client has gone or does not read, or ctx has ended.
	Announce(ctx context.Context)
}

// Source is what reports a change.
type Source interface {
	// VisibleTo reports whether clients of the view with the backend b may know of a change of the resource uri, or of a list if uri is
	// empty. It must not block.
	VisibleTo(b Backend, uri string) bool
}

// Codes of the failures that the gateway detects.
const (
	FailureInvalidResult = "invalid_result" // the result does not conform to MCP
	FailureInternal      = "internal"       // a bug in the host
)

// Failure is the failure of a call in the host, as opposed to an error that the plugin returns. For a tool it
// becomes a result with isError, so that the client's model can read it; otherwise a JSON-RPC error.
type Failure struct {
	Code    string // "timeout", "memory", "denied", …
	Plugin  string
	Tool    string
	Message string // returned by Error
	Panic   string // text of the module's panic, for its author; empty for other clients
	Text    string // for users; if empty, "bulkhead: " + Message
	// Missing are features of the client that the call needs. A client of the modern era gets the error that MCP has for this.
	Missing interaction.Client
}

func (f *Failure) Error() string { return f.Message + " (" + f.Code + ")" }

func (f *Failure) text() string {
	return cmp.Or(f.Text, "bulkhead: "+f.Message)
}

// result encodes the failure as a CallToolResult. A text that is a JSON object also becomes the structuredContent, which
// tools with an output schema always return.
func (f *Failure) result() []byte {
	structured := ""
	if text := []byte(f.text()); call.Normalize(text) == "" {
		structured = `"structuredContent":` + string(withoutBreaks(text)) + `,`
	}
	return fmt.Appendf(nil, `{"content":[{"type":"text","text":%s}],%s"isError":true,"_meta":%s}`, rawjson.Quote(f.text()), structured, f.meta())
}

// rpc returns the failure of a request as a JSON-RPC error; nil: its client gets a result.
func (f *Failure) rpc(r *call.Request) *abi.Error {
	switch {
	case IsModern(r.Version) && f.Missing != (interaction.Client{}):
		return missingCapability(f.text(), f.Missing)
	case r.Method != string(mcp.MethodToolsCall):
		return &abi.Error{Code: abi.CodeInternal, Message: f.text(), Data: f.meta()}
	}
	return nil
}

// ErrorCode returns the code of the JSON-RPC error with which the gateway answers a request that ended with err; 0: it answers with a result, or not
// at all.
func ErrorCode(r *call.Request, err error) int {
	var failure *Failure
	var own *abi.Error
	if errors.As(err, &failure) {
		own = failure.rpc(r)
	} else {
		errors.As(err, &own)
	}
	if own == nil {
		return 0
	}
	return requestMeta{modern: IsModern(r.Version)}.translated(own).Code
}

// meta encodes the machine-readable form of the failure.
func (f *Failure) meta() []byte {
	panicked := ""
	if f.Panic != "" {
		panicked = `,"panic":` + string(rawjson.Quote(f.Panic))
	}
	return fmt.Appendf(nil, `{"bulkhead/error":{"code":%s,"plugin":%s%s}}`, rawjson.Quote(f.Code), rawjson.Quote(f.Plugin), panicked)
}
