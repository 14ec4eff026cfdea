package host

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/bulkhead-mcp/bulkhead/internal/audit"
	"github.com/bulkhead-mcp/bulkhead/internal/gateway"
	"github.com/bulkhead-mcp/bulkhead/internal/manifest"
	"github.com/bulkhead-mcp/bulkhead/internal/worker"
	"github.com/bulkhead-mcp/bulkhead/internal/worker/wire"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// failureArguments is the code of a call whose arguments do not fit the tool's schema.
const failureArguments = "invalid_arguments"

// backend answers the gateway.
type backend struct{ host *Host }

var _ gateway.Backend = backend{}

// Find implements gateway.Backend.
func (b backend) Find(r gateway.Request) (gateway.Call, *abi.Error) {
	var call gateway.Call
	switch r.Method {
	case abi.MethodToolsCall:
		call = b.tool(r)
	case abi.MethodPromptsGet, abi.MethodResourcesRead, abi.MethodComplete:
		call = b.host.find(r)
	default:
		return b.host.list(r), nil
	}
	if call != nil {
		return call, nil
	}
	b.host.refused(r)
	return nil, gateway.Unknown(r.Method, r.Name, b.why(r))
}

// CanSubscribe implements gateway.Backend.
func (b backend) CanSubscribe(r gateway.Request) bool {
	if b.host.offered.watched(r.Name) {
		return true
	}
	b.host.refused(r)
	return false
}

// tool queues a call of a tool; nil if it is not offered.
func (b backend) tool(r gateway.Request) gateway.Call {
	o, ok := b.host.tools[r.Name]
	if !ok || o.plugin.problem != "" {
		return nil
	}
	asked := o.plugin.ask(r, o.tool.Write)
	asked.tool = o.tool
	return &call{asked}
}

// why says why a tool is not offered. One that is withheld is unknown to clients, which is all they hear.
func (b backend) why(r gateway.Request) string {
	if not := b.host.untrusted; not != nil {
		return not.Error()
	}
	if r.Method != abi.MethodToolsCall {
		return ""
	}
	for _, p := range b.host.plugins {
		if p.problem != "" && p.has(r.Name) {
			return fmt.Sprintf("plugin %q is left out: %s", p.name, p.problem)
		}
	}
	return ""
}

// refused keeps a record of a request for what is not offered. Nothing has happened, so that the client
// hears the same where it cannot be kept.
func (h *Host) refused(r gateway.Request) {
	_ = h.audit.Write(audit.Record{
		Kind: audit.KindRefused, ID: h.audit.NewID(), Client: r.Client, Method: r.Method, Tool: r.Name,
		Outcome: audit.Denied, Code: codeUnknown, BytesIn: int64(len(r.Params)),
	})
}

// call is one call of a tool that waits or runs.
type call struct{ *request }

// Run implements gateway.Call.
func (c *call) Run(ctx context.Context, n gateway.Notifier) (json.RawMessage, error) {
	defer c.ticket.leave()
	return c.recorded(ctx, func(ctx context.Context, record func(wire.Record)) (worker.Response, error) {
		if c.plugin.manifest.Validate == manifest.ValidateHost {
			if err := c.tool.check(c.Arguments, c.plugin.grant.Limits); err != nil {
				return worker.Response{}, c.Failure(failureArguments, err.Error())
			}
		}
		return c.run(ctx, c.tool.own(c.Params), n, record)
	})
}
