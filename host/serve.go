package host

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/discovery"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/gateway"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/interaction"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/audit"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

// Drain returns how long calls in flight may continue after the context of Serve has ended. The config sets it as drain in [server].
func (h *Host) Drain() time.Duration { return h.catalog().Drain() }

// Serve serves one client, and compiles modules in the background. Each line of in and out is one message.
//
// Serve returns nil when in has ended and every request is answered. When ctx ends, Serve stops reading. Calls in flight may continue
// for the duration of Drain; then they are cancelled and answered with an error. Serve returns ctx's error at most 500 ms later, even
// if a call ignores its context or a Write to out blocks; if otlp in [audit] is set, it may take another second to send the last spans.
// In these cases, and if a Read of in blocks, a goroutine remains until the blocked call returns.
func (h *Host) Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	if err := h.checkAuditOutput(h.catalog().Found); err != nil {
		return err
	}
	h.dispatcher.RecordEvent(audit.Record{Kind: audit.KindServer, Method: "start", Outcome: audit.OK})
	defer h.dispatcher.RecordEvent(audit.Record{Kind: audit.KindServer, Method: "end", Outcome: audit.OK})
	end, err := h.observe(ctx, nil)
	if err != nil {
		return err
	}
	defer end()
	warming, stop := context.WithCancel(ctx)
	defer stop()
	h.dispatcher.Warm(warming)
	return h.gateway.ServeDrain(ctx, in, out, h.Drain)
}

// checkAuditOutput returns an error if the config sends audit records to stdout, and stdout is not free for them.
func (h *Host) checkAuditOutput(found *discovery.Found) error {
	if h.options.AuditOutput != nil || !found.Audit.HasCopy(config.AuditStdout) {
		return nil
	}
	return usage.Errorf("%s:%d: audit.also: stdout has the messages of MCP: remove %q, or serve with --http", found.Audit.Source, found.Audit.Line, config.AuditStdout)
}

// Warn sends a log message with the level warning to the clients that want such messages, if the server offers log messages. Clients of
// protocol 2026-07-28 and later get only the messages of their own requests.
func (h *Host) Warn(text string) { h.gateway.Warn("bulkhead", text) }

// Answer is the response to a call. Exactly one of Result and Error is set.
type Answer struct {
	Result json.RawMessage // result that MCP defines for the method, such as a CallToolResult
	Error  *abi.Error      // error object of JSON-RPC
	// IsError is set if Result reports that the call failed.
	IsError bool
	// Failure is the code of a failure of the host that Result or Error reports; empty if the host did not fail.
	Failure string
}

// Client is the client of one call. A zero Client drops notifications and cannot be asked anything.
type Client struct {
	// Notify is called with the method and the parameters of each notification of the call. If Notify is nil, notifications are dropped.
	Notify func(method string, params json.RawMessage)
	// Capabilities is a JSON object of MCP client capabilities, such as {"elicitation":{}}. The call may ask only what they cover; if
	// Capabilities is empty, the call may ask nothing.
	Capabilities json.RawMessage
	// Answer answers a question that Capabilities cover. Its result is the one that MCP defines for the method of the question. If it
	// returns an *abi.Error, the plugin handles that error as a refusal; any other error fails the call. Answer is called for one question
	// at a time, and should return soon after ctx ends. Answer must be set if Capabilities is not empty.
	Answer func(ctx context.Context, q Question) (json.RawMessage, error)
	// Approve is called before a call runs for which the config requires approval. text describes the call completely, in the words of the
	// host; it must be shown to the user as it is. If Approve is nil, such calls are refused. An error is the reason why the user could not be
	// asked. Approve should return soon after ctx ends.
	Approve func(ctx context.Context, text string) (Decision, error)
}

// Decision is a user's decision about a call.
type Decision = interaction.Decision

// The decisions.
const (
	Approved  = interaction.Approved
	Declined  = interaction.Declined
	Cancelled = interaction.Cancelled
)

// Question is a question that a call asks its client.
type Question struct {
	ID     string // identifier that the plugin chose; it is the same in each run of the call
	Method string // method of MCP: elicitation/create, sampling/createMessage or roots/list
	Params json.RawMessage
}

// local returns c in the form that the gateway uses; nil if c cannot be asked anything.
func (c Client) local() (*gateway.Local, error) {
	if len(c.Capabilities) == 0 {
		if c.Approve == nil {
			return nil, nil
		}
		return &gateway.Local{Approve: c.Approve}, nil
	}
	if !rawjson.Valid(c.Capabilities) || rawjson.Kind(c.Capabilities) != '{' || c.Answer == nil {
		return nil, usage.Errorf("client: Capabilities must be a JSON object, and Answer must be set")
	}
	return &gateway.Local{
		Approve: c.Approve,
		Can:     interaction.ParseClient(c.Capabilities),
		Answer: func(ctx context.Context, r interaction.Request) (json.RawMessage, error) {
			return c.Answer(ctx, Question{ID: r.ID, Method: r.Method, Params: r.Params})
		},
	}, nil
}

// Call makes one call, as a client of Serve would, in a new session. arguments is a JSON object, or empty.
func (h *Host) Call(ctx context.Context, tool string, arguments json.RawMessage, c Client) (Answer, error) {
	return h.Ask(ctx, abi.MethodToolsCall, callParams{Name: tool, Arguments: arguments, Meta: callMeta{ProgressToken: 1}}, c)
}

// Ask is like Call, but for any MCP method that a client can request. params are encoded as JSON; a json.RawMessage of one line is passed
// on byte for byte.
func (h *Host) Ask(ctx context.Context, method string, params any, c Client) (Answer, error) {
	encoded, exact := params.(json.RawMessage)
	if !exact || bytes.ContainsAny(encoded, "\r\n") || !json.Valid(encoded) {
		var err error
		if encoded, err = json.Marshal(params); err != nil {
			return Answer{}, &UsageError{Err: fmt.Errorf("arguments: %w", err)}
		}
	}
	request := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":1,"method":%s,"params":%s}`, rawjson.Quote(method), encoded)
	if int64(len(request)) > gateway.DefaultMaxLine {
		return Answer{}, usage.Errorf("arguments: %d bytes exceed the maximum size of a message, %d MiB", len(encoded), gateway.DefaultMaxLine>>20)
	}
	local, err := c.local()
	if err != nil {
		return Answer{}, err
	}
	out := &answerReader{notify: c.Notify}
	if err := h.gateway.ServeLocal(ctx, bytes.NewReader(append(request, '\n')), out, local); err != nil {
		return Answer{}, err
	}
	if out.answer == nil {
		return Answer{}, errors.New("the host closed the session without answering the call")
	}
	return *out.answer, nil
}

type callParams struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
	Meta      callMeta        `json:"_meta"`
}

type callMeta struct {
	ProgressToken int `json:"progressToken"`
}

// answerReader receives the messages of a session that has one call. Each Write gets one message.
type answerReader struct {
	notify func(method string, params json.RawMessage) // called for each notification; may be nil
	answer *Answer
}

// Write implements io.Writer.
func (r *answerReader) Write(line []byte) (int, error) {
	var m struct {
		Method string          `json:"method"`
		Params json.RawMessage `json:"params"`
		Result json.RawMessage `json:"result"`
		Error  *abi.Error      `json:"error"`
	}
	if err := json.Unmarshal(line, &m); err != nil {
		return 0, fmt.Errorf("cannot read the answer: %w", err)
	}
	switch {
	case m.Method == "":
		r.answer = &Answer{Result: m.Result, Error: m.Error}
		r.answer.judge()
	case r.notify != nil:
		r.notify(m.Method, m.Params)
	}
	return len(line), nil
}

// judge sets IsError and Failure to what Result and Error report.
func (a *Answer) judge() {
	type failure struct {
		Failure struct {
			Code string `json:"code"`
		} `json:"bulkhead/error"`
	}
	var r struct {
		IsError bool    `json:"isError"`
		Meta    failure `json:"_meta"`
	}
	if a.Result != nil && json.Unmarshal(a.Result, &r) == nil {
		a.IsError, a.Failure = r.IsError, r.Meta.Failure.Code
	}
	var f failure
	if a.Error != nil && json.Unmarshal(a.Error.Data, &f) == nil {
		a.Failure = f.Failure.Code
	}
}
