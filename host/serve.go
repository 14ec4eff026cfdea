package host

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/discovery"
	"github.com/bulkhead-mcp/bulkhead/internal/gateway"
	"github.com/bulkhead-mcp/bulkhead/internal/interaction"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

// Drain returns how long calls in flight may continue after Serve's context has ended: [server] drain of the config.
func (h *Host) Drain() time.Duration { return h.catalog().Drain() }

// Serve serves one client, with one message on each line, and compiles modules in the background.
//
// Serve returns nil when in has ended and every request is answered. When ctx ends, Serve stops reading. Calls in flight
// may continue for Drain; then they are cancelled and answered with an error. Serve returns ctx's error at most 500 ms
// later, even if a call ignores its context or a Write to out blocks. In that case, or if a Read of in blocks, a
// goroutine is left that ends when the blocked call returns.
func (h *Host) Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	warming, stop := context.WithCancel(ctx)
	defer stop()
	h.dispatcher.Warm(warming)
	return h.gateway.ServeDrain(ctx, in, out, h.Drain)
}

// Answer is the response to a call. Exactly one of Result and Error is set.
type Answer struct {
	Result json.RawMessage // the MCP result, such as a CallToolResult
	Error  *abi.Error      // a JSON-RPC error
	// IsError is set if Result reports an error.
	IsError bool
	// Failure is the code of a failure in the host, which Result or Error reports. It is empty if the host did not fail.
	Failure string
}

// Client is the client of one call. The zero value ignores notifications and can be asked nothing.
type Client struct {
	// Notify is called with the method and the parameters of each notification of the call; nil: they are dropped.
	Notify func(method string, params json.RawMessage)
	// Capabilities are the capabilities of MCP that say what the call can ask, such as {"elicitation":{}}; empty: nothing.
	Capabilities json.RawMessage
	// Answer answers a question that the Capabilities cover. It returns the result of MCP for the question's method. An
	// *abi.Error refuses the question, which the plugin handles; any other error fails the call. It is called for one question
	// at a time, and should return soon after ctx ends. It is required if Capabilities is not empty.
	Answer func(ctx context.Context, q Question) (json.RawMessage, error)
}

// Question is what a call asks its client.
type Question struct {
	ID     string // chosen by the plugin; the same in each run of the call
	Method string // elicitation/create, sampling/createMessage or roots/list
	Params json.RawMessage
}

// local returns the client for the gateway; nil if it can be asked nothing.
func (c Client) local() (*gateway.Local, error) {
	if len(c.Capabilities) == 0 {
		return nil, nil
	}
	if !rawjson.Valid(c.Capabilities) || rawjson.Kind(c.Capabilities) != '{' || c.Answer == nil {
		return nil, discovery.UsageErrorf("client: Capabilities must be a JSON object, and Answer must be set")
	}
	return &gateway.Local{
		Can: interaction.ParseClient(c.Capabilities),
		Answer: func(ctx context.Context, r interaction.Request) (json.RawMessage, error) {
			return c.Answer(ctx, Question{ID: r.ID, Method: r.Method, Params: r.Params})
		},
	}, nil
}

// Call makes one call like a client of Serve, in a new session. arguments is a JSON object or empty.
func (h *Host) Call(ctx context.Context, tool string, arguments json.RawMessage, c Client) (Answer, error) {
	return h.Ask(ctx, abi.MethodToolsCall, callParams{Name: tool, Arguments: arguments, Meta: callMeta{ProgressToken: 1}}, c)
}

// Ask is like Call for any MCP method that a client can request; params are encoded as JSON.
func (h *Host) Ask(ctx context.Context, method string, params any, c Client) (Answer, error) {
	encoded, err := json.Marshal(params)
	if err != nil {
		return Answer{}, &UsageError{Err: fmt.Errorf("arguments: %w", err)}
	}
	request := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":1,"method":%s,"params":%s}`, rawjson.Quote(method), encoded)
	if int64(len(request)) > gateway.DefaultMaxLine {
		return Answer{}, discovery.UsageErrorf("arguments: %d bytes exceed the maximum size of a message, %d MiB", len(encoded), gateway.DefaultMaxLine>>20)
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

// answerReader receives the messages of a session with one call. Each Write is one message.
type answerReader struct {
	notify func(method string, params json.RawMessage) // may be nil
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

// judge sets IsError and Failure from Result and Error.
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
