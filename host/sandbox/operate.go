package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// Notifier takes what a running call has to say to its client before it ends. The error says what is
// wrong with a notification that no client could read.
type Notifier interface {
	Notify(method string, params json.RawMessage) error
}

// methodMessage is the notification that carries a log message.
const methodMessage = "notifications/message"

type notifierKey struct{}

// WithNotifier gives the operations of a call where to send notifications. Without one they are dropped.
func WithNotifier(ctx context.Context, n Notifier) context.Context {
	return context.WithValue(ctx, notifierKey{}, n)
}

// operation does one operation. The result is encoded as JSON; the error is an *abi.HostError or that of a
// context that ended.
type operation func(b *Box, ctx context.Context, params json.RawMessage) (any, error)

var operations = map[string]operation{
	abi.OpGitBranchExists: func(b *Box, ctx context.Context, params json.RawMessage) (any, error) {
		return with(ctx, params, b.git.BranchExists)
	},
	abi.OpGitReadFile: func(b *Box, ctx context.Context, params json.RawMessage) (any, error) {
		return with(ctx, params, b.git.ReadFile)
	},
	abi.OpGitFindCommit: func(b *Box, ctx context.Context, params json.RawMessage) (any, error) {
		return with(ctx, params, b.git.FindCommit)
	},
	abi.OpNotify: func(b *Box, ctx context.Context, params json.RawMessage) (any, error) {
		return with(ctx, params, b.notify)
	},
}

// with decodes an operation's parameters.
func with[P, R any](ctx context.Context, params json.RawMessage, do func(context.Context, P) (R, error)) (any, error) {
	var p P
	if err := json.Unmarshal(params, &p); err != nil {
		return nil, &abi.HostError{Code: abi.HostInvalid, Message: "the parameters are not of the operation's form: " + err.Error()}
	}
	return do(ctx, p)
}

func (b *Box) notify(ctx context.Context, n abi.Notification) (any, error) {
	to, ok := ctx.Value(notifierKey{}).(Notifier)
	if !ok || n.Method == methodMessage && !b.config.Messages {
		return nil, nil
	}
	if err := to.Notify(n.Method, n.Params); err != nil {
		return nil, &abi.HostError{Code: abi.HostInvalid, Message: err.Error()}
	}
	return nil, nil
}

// Operate answers a module's abi.HostRequest with an abi.HostResponse.
func (b *Box) Operate(ctx context.Context, request []byte) []byte {
	result, err := b.perform(ctx, request)
	var response abi.HostResponse
	if err == nil {
		response.Result, err = json.Marshal(result)
	}
	if err != nil && !errors.As(err, &response.Error) {
		response = abi.HostResponse{Error: &abi.HostError{Code: abi.HostFailed, Message: err.Error()}}
	}
	answer, err := json.Marshal(response)
	if err != nil {
		panic(fmt.Errorf("encode the answer to an operation: %w", err))
	}
	return answer
}

func (b *Box) perform(ctx context.Context, request []byte) (any, error) {
	var r abi.HostRequest
	if err := json.Unmarshal(request, &r); err != nil {
		return nil, &abi.HostError{Code: abi.HostInvalid, Message: "the request is not an operation: " + err.Error()}
	}
	do, ok := operations[r.Op]
	if !ok {
		return nil, &abi.HostError{Code: abi.HostUnavailable, Message: fmt.Sprintf("this host has no operation %q", bounded(r.Op))}
	}
	return do(b, ctx, r.Params)
}
