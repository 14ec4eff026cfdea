package sdk

import (
	"context"
	"encoding/json"
	"time"

	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
	"github.com/bulkhead-mcp/bulkhead/sdk/internal/scan"
)

// callContext is a handler's context. It knows the call's deadline but is never done: the host ends a
// call that is cancelled or out of time by stopping the module, so there is nothing to wait for, and
// a timer in every call would be paid for nothing.
type callContext struct {
	context.Context
	deadline int64  // milliseconds since the Unix epoch; 0: none
	meta     []byte // the request's _meta; nil if absent
}

type metaKey struct{}

func (c callContext) Deadline() (time.Time, bool) {
	if c.deadline == 0 {
		return time.Time{}, false
	}
	return time.UnixMilli(c.deadline), true
}

func (c callContext) Value(key any) any {
	if key == (metaKey{}) {
		return c.meta
	}
	return c.Context.Value(key)
}

// Meta returns the request's _meta as the client sent it; nil if it sent none. ctx is the handler's.
func Meta(ctx context.Context) json.RawMessage {
	meta, _ := ctx.Value(metaKey{}).([]byte)
	return meta
}

// ProgressToken returns the token (a JSON string or number) under which the client wants to hear of the
// call's progress; nil if it does not.
func ProgressToken(ctx context.Context) json.RawMessage {
	var token json.RawMessage
	// A _meta that is no object has no token; the host refuses such a request anyway.
	_ = scan.Object(Meta(ctx), func(key, value []byte) {
		if string(key) == "progressToken" {
			token = value
		}
	})
	return token
}

// Progress tells the client how far a call is: done of total (0: unknown), with a text that may be
// empty. It does nothing if the client did not ask for progress.
func Progress(ctx context.Context, done, total float64, text string) error {
	token := ProgressToken(ctx)
	if token == nil {
		return nil
	}
	return notify("notifications/progress", struct {
		Token   json.RawMessage `json:"progressToken"`
		Done    float64         `json:"progress"`
		Total   float64         `json:"total,omitempty"`
		Message string          `json:"message,omitempty"`
	}{token, done, total, text})
}

// Message sends data to the client's log under a logger's name. Level is one of MCP's: debug, info,
// notice, warning, error, critical, alert, emergency. The client decides from which level on it hears.
func Message(level, logger string, data any) error {
	return notify("notifications/message", struct {
		Level  string `json:"level"`
		Logger string `json:"logger,omitempty"`
		Data   any    `json:"data"`
	}{level, logger, data})
}

// PromptsChanged tells clients that the list of prompts is another one, when the call ends. The manifest has
// to say list_changed in [offers], here and for ResourcesChanged.
func PromptsChanged() error { return notify("notifications/prompts/list_changed", struct{}{}) }

// ResourcesChanged tells clients that the list of resources or of their templates is another one.
func ResourcesChanged() error { return notify("notifications/resources/list_changed", struct{}{}) }

// ResourceUpdated tells the clients that subscribed to the resource at uri that it has changed, when the call
// ends. The manifest has to say subscribe in [offers].
func ResourceUpdated(uri string) error {
	return notify("notifications/resources/updated", struct {
		URI string `json:"uri"`
	}{uri})
}

func notify(method string, params any) error {
	raw, err := encode(params)
	if err != nil {
		return err
	}
	return HostCall(abi.OpNotify, abi.Notification{Method: method, Params: raw}, nil)
}
