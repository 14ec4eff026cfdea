package sdk

import (
	"context"
	"encoding/json"
	"time"

	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

// callContext is a handler's context. It reports the call's deadline, but is never done: the host ends a cancelled or
// expired call by terminating the module, so no code would run after Done was closed, and a timer in every call would
// cost time.
type callContext struct {
	context.Context
	deadline int64         // milliseconds since the Unix epoch; 0: none
	meta     []byte        // the request's _meta; nil if absent
	talk     *conversation // nil if the method cannot ask the client
}

type metaKey struct{}

func (c callContext) Deadline() (time.Time, bool) {
	if c.deadline == 0 {
		return time.Time{}, false
	}
	return time.UnixMilli(c.deadline), true
}

func (c callContext) Value(key any) any {
	switch {
	case key == (metaKey{}):
		return c.meta
	case key == (askKey{}) && c.talk != nil:
		return c.talk
	}
	return c.Context.Value(key)
}

// Meta returns the request's _meta as the client sent it; nil if it sent none. ctx must be the handler's context.
func Meta(ctx context.Context) json.RawMessage {
	meta, _ := ctx.Value(metaKey{}).([]byte)
	return meta
}

// ProgressToken returns the token (a JSON string or number) for progress notifications; nil if the client did not
// request progress notifications.
func ProgressToken(ctx context.Context) json.RawMessage {
	var token json.RawMessage
	// A _meta that is not an object has no token; the host rejects such a request anyway.
	_ = rawjson.ScanObject(Meta(ctx), func(key, value []byte) {
		if string(key) == "progressToken" {
			token = value
		}
	})
	return token
}

// Progress notifies the client of a call's progress: how much is done of the total (0 if the total is unknown), with a
// message that may be empty. It does nothing if the client did not ask for progress.
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

// Message sends data to the client's log under a logger's name. Level is one of MCP's: debug, info, notice, warning,
// error, critical, alert, emergency. The client chooses the lowest level that it receives.
func Message(level, logger string, data any) error {
	return notify("notifications/message", struct {
		Level  string `json:"level"`
		Logger string `json:"logger,omitempty"`
		Data   any    `json:"data"`
	}{level, logger, data})
}

// PromptsChanged notifies clients, when the call ends, that the list of prompts has changed. The manifest must set
// list_changed in [offers].
func PromptsChanged() error { return notify("notifications/prompts/list_changed", struct{}{}) }

// ResourcesChanged notifies clients, when the call ends, that the list of resources or of resource templates has
// changed. The manifest must set list_changed in [offers].
func ResourcesChanged() error { return notify("notifications/resources/list_changed", struct{}{}) }

// ResourceUpdated notifies the clients that subscribed to the resource at uri, when the call ends, that the resource
// has changed. The manifest must set subscribe in [offers].
func ResourceUpdated(uri string) error {
	return notify("notifications/resources/updated", struct {
		URI string `json:"uri"`
	}{uri})
}

func notify(method string, params any) error {
	raw, err := rawjson.Marshal(params)
	if err != nil {
		return err
	}
	return HostCall(abi.OpNotify, abi.Notification{Method: method, Params: raw}, nil)
}
