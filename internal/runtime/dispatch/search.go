package dispatch

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/bulkhead-mcp/bulkhead/internal/policy/catalog"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/gateway"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// newSearch queues a request with the first of the plugins that may answer it; nil if plugins is empty.
func (s *snapshot) newSearch(r gateway.Request, plugins []*catalog.Plugin) gateway.Call {
	plugins = s.asker(r, plugins)
	if len(plugins) == 0 {
		return nil
	}
	first := s.plugins[plugins[0].Index].enqueue(r, false)
	if len(plugins) == 1 {
		return first
	}
	return &search{snapshot: s, first: first, others: plugins[1:]}
}

// search looks for a prompt or resource that no plugin claims. It asks several plugins, one after the other, until one of them has it.
type search struct {
	snapshot *snapshot
	first    *request
	others   []*catalog.Plugin
	last     *request // the request whose response the search returns
}

// Run implements gateway.Call. If no plugin has the prompt or resource, Run returns the error of the first plugin that failed. If none
// failed, it returns the host's error for an unknown name.
func (s *search) Run(ctx context.Context, n gateway.Notifier) (json.RawMessage, error) {
	s.last = s.first
	result, err := s.first.Run(ctx, n)
	var failure error
	for _, next := range s.others {
		switch {
		case err == nil || ctx.Err() != nil || errors.As(err, new(*gateway.Ask)):
			return result, err
		case failure == nil && !isUnknown(err):
			failure = err
		}
		s.last.Answered() // releases the slot, since the response of this request is dropped
		s.last = s.snapshot.plugins[next.Index].enqueue(s.first.Request, false)
		result, err = s.last.Run(ctx, n)
	}
	switch {
	case err == nil:
		return result, nil
	case !isUnknown(err):
		return nil, err
	case failure != nil:
		return nil, failure
	}
	return nil, gateway.Unknown(s.first.Method, s.first.Name, "")
}

// Answered implements gateway.Answered.
func (s *search) Answered() {
	if s.last != nil {
		s.last.Answered()
	}
}

// Failure implements gateway.Call.
func (s *search) Failure(code, message string) *gateway.Failure {
	f := s.first.Failure(code, message)
	f.Plugin = "" // it is unknown which of the plugins failed
	return f
}

// isUnknown reports whether err is the answer of a plugin that has no such prompt, resource or argument.
func isUnknown(err error) bool {
	var own *abi.Error
	return errors.As(err, &own) && (own.Code == abi.CodeResourceNotFound || own.Code == abi.CodeInvalidParams || own.Code == abi.CodeMethodNotFound)
}
