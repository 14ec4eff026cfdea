package scratch

import (
	"context"
	"encoding/json"
	"slices"
	"sync"

	"github.com/bulkhead-mcp/bulkhead/host"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/dispatch"
)

// Request is a request of a client that has a session of its own.
type Request struct {
	Method string
	Params any // see host.Host.Ask
	// Answer answers a question; nil: the client cannot be asked.
	Answer func(q host.Question) (json.RawMessage, error)
}

// Response is the response to a Request, with what the client received before it.
type Response struct {
	host.Answer
	Notifications []Notification  // without those about the start of the module
	Questions     []host.Question // in the order in which they were asked
}

// Notification is a notification to a client.
type Notification struct {
	Method string
	Params json.RawMessage
}

// capabilities are those of a client that can be asked anything.
var capabilities = json.RawMessage(`{"elicitation":{"form":{},"url":{}},"sampling":{"tools":{},"context":{}},"roots":{}}`)

// Exchange makes a request. The response has the notifications and questions even if there is an error.
func (s *Session) Exchange(ctx context.Context, request Request) (Response, error) {
	var mu sync.Mutex // after the end of ctx, the host may still send notifications
	var got Response
	client := host.Client{Notify: func(method string, params json.RawMessage) {
		if !dispatch.IsStartReport(method, params) {
			mu.Lock()
			defer mu.Unlock()
			got.Notifications = append(got.Notifications, Notification{method, params})
		}
	}}
	if request.Answer != nil {
		client.Capabilities = capabilities
		client.Answer = func(_ context.Context, q host.Question) (json.RawMessage, error) {
			mu.Lock()
			defer mu.Unlock()
			q.Params = slices.Clone(q.Params)
			got.Questions = append(got.Questions, q)
			return request.Answer(q)
		}
	}
	answer, err := s.Ask(ctx, request.Method, request.Params, client)
	mu.Lock()
	defer mu.Unlock()
	got.Answer = answer
	return got, err
}
