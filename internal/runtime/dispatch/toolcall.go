package dispatch

import (
	"context"
	"encoding/json"

	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/gateway"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/worker"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/worker/wire"
)

// failureArguments is the code of a call whose arguments do not match the tool's schema.
const failureArguments = "invalid_arguments"

// toolCall is one call of a tool.
type toolCall struct{ *request }

// newToolCall queues a call of the tool that r names. It returns nil if that tool is not offered.
func (s *snapshot) newToolCall(r gateway.Request) gateway.Call {
	tool := s.catalog.Tool(r.Name)
	if tool == nil {
		return nil
	}
	queued := s.plugins[tool.Plugin.Index].enqueue(r, tool.Write)
	queued.tool = tool
	return &toolCall{queued}
}

// Run implements gateway.Call.
func (c *toolCall) Run(ctx context.Context, n gateway.Notifier) (json.RawMessage, error) {
	defer c.ticket.leave()
	return c.recorded(ctx, func(ctx context.Context, record func(wire.Record)) (worker.Response, error) {
		if c.plugin.Manifest.Validate == manifest.ValidateHost {
			if err := c.tool.CheckArguments(c.Arguments, c.plugin.Grant.Limits); err != nil {
				return worker.Response{}, c.Failure(failureArguments, err.Error())
			}
		}
		return c.run(ctx, c.tool.PluginParams(c.Params), n, record)
	})
}
