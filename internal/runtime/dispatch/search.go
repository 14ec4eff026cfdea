package dispatch

import (
	"context"
	"errors"

	"github.com/bulkhead-mcp/bulkhead/internal/policy/catalog"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/call"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/gateway"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/tracecontext"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// enqueueSearch queues a request with the first of the plugins that may answer it; nil if plugins is empty.
func (v *view) enqueueSearch(r call.Request, plugins []*catalog.Plugin) gateway.Queued {
	plugins = v.pluginThatAsked(r, plugins)
	if len(plugins) == 0 {
		return nil
	}
	r.Part = len(plugins) > 1
	first := v.plugins[plugins[0].Index].enqueue(r, false)
	if !r.Part {
		return first
	}
	return &search{view: v, first: first, others: plugins[1:]}
}

// search looks for a prompt or resource that no plugin claims. It asks several plugins, one after the other, until one of them has it.
type search struct {
	view   *view
	first  *queued
	others []*catalog.Plugin
	last   *queued // the request whose response the search returns
}

// Execute implements gateway.Queued.
func (s *search) Execute(ctx context.Context, n gateway.Notifier) (call.Result, error) {
	r := s.first.Request
	r.Part = false
	return s.view.whole(&r, func(parent *tracecontext.Context) (call.Result, error) {
		s.first.TraceParent = parent
		return s.execute(ctx, n)
	})
}

// execute asks the plugins. If none has the prompt or resource, execute returns the error of the first plugin that failed. If none failed, it returns
// the host's error for an unknown name.
func (s *search) execute(ctx context.Context, n gateway.Notifier) (call.Result, error) {
	s.last = s.first
	result, err := s.first.Execute(ctx, n)
	var failure error
	for _, next := range s.others {
		switch {
		case err == nil || ctx.Err() != nil || errors.As(err, new(*gateway.Ask)) || isDecided(err):
			return result, err
		case failure == nil && !isUnknown(err):
			failure = err
		}
		s.last.ResponseWritten() // releases the slot, since the response of this request is dropped
		r := s.first.Request
		r.Interaction.PluginVersion, r.Interaction.Approval = "", nil // what another plugin was approved for
		s.last = s.view.plugins[next.Index].enqueue(r, false)
		result, err = s.last.Execute(ctx, n)
	}
	switch {
	case err == nil:
		return result, nil
	case !isUnknown(err):
		return call.Result{}, err
	case failure != nil:
		return call.Result{}, failure
	}
	return call.Result{}, gateway.Unknown(s.first.Method, s.first.Name, "")
}

// ResponseWritten implements gateway.ResponseWritten.
func (s *search) ResponseWritten() {
	if s.last != nil {
		s.last.ResponseWritten()
	}
}

// Failure implements gateway.Queued.
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
