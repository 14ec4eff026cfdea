package sdk

import (
	"context"
	"encoding/json"
	"time"

	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

// callContext is the context of a handler. It reports the call's deadline, but is never done. The host ends a cancelled or expired call by
// terminating the module, so no code would run after Done was closed, and a timer in every call would cost time.
type callContext struct {
	context.Context
	deadline int64         // time at which the host ends the call, in milliseconds since the Unix epoch; 0: there is no deadline
	meta     []byte        // the _meta of the request; nil if absent
	talk     *conversation // questions and answers of the call; nil if the method cannot ask the client
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

// Meta returns the _meta of the request as the client sent it; nil if the client sent none. ctx must be the context of a handler.
func Meta(ctx context.Context) json.RawMessage {
	meta, _ := ctx.Value(metaKey{}).([]byte)
	return meta
}

// ProgressToken returns the token for progress notifications, which is a JSON string or number. It returns nil if the client did not request
// progress notifications.
func ProgressToken(ctx context.Context) json.RawMessage {
	var token json.RawMessage
	// A _meta that is not an object has no token. The host rejects such a request before it reaches the plugin.
	_ = rawjson.ScanObject(Meta(ctx), func(key, value []byte) {
		if string(key) == "progressToken" {
			token = value
		}
	})
	return token
}

// Progress notifies the client of the progress of a call. done is the amount of work done so far, of total; a total of 0 means that it is
// unknown. text is a message, which may be empty. If the client did not request progress, Progress does nothing.
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

// Message sends data to the client's log, under the name of a logger. level is one of MCP's levels: debug, info, notice, warning, error,
// critical, alert or emergency. The client chooses the lowest level that it receives.
func Message(level, logger string, data any) error {
	return notify("notifications/message", struct {
		Level  string `json:"level"`
		Logger string `json:"logger,omitempty"`
		Data   any    `json:"data"`
	}{level, logger, data})
}

// PromptsChanged notifies clients that the list of prompts has changed. The host sends the notification when the call ends. The manifest
// must set list_changed in [offers].
func PromptsChanged() error { return notify("notifications/prompts/list_changed", struct{}{}) }

// ResourcesChanged notifies clients that the list of resources or of resource templates has changed. The host sends the notification when
// the call ends. The manifest must set list_changed in [offers].
func ResourcesChanged() error { return notify("notifications/resources/list_changed", struct{}{}) }

// ResourceUpdated notifies the clients that subscribed to the resource at uri that this resource has changed. The host sends the notification
// when the call ends. The manifest must set subscribe in [offers].
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
