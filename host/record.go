package host

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/bulkhead-mcp/bulkhead/host/audit"
	"github.com/bulkhead-mcp/bulkhead/host/config"
	"github.com/bulkhead-mcp/bulkhead/host/engine"
	"github.com/bulkhead-mcp/bulkhead/host/gateway"
	"github.com/bulkhead-mcp/bulkhead/host/rawjson"
	"github.com/bulkhead-mcp/bulkhead/host/sandbox"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// failureAudit is the code of a call that must not run, or must not be answered, unrecorded.
const failureAudit = "audit"

// openAudit opens the log that the config asks for; nil if it asks for none.
func openAudit(a *config.Audit, log hclog.Logger) (*audit.Log, error) {
	if a == nil {
		return nil, nil
	}
	l, err := audit.Open(audit.Config{
		File: a.File, MaxSize: a.MaxSize, Keep: a.Keep, Arguments: a.Arguments, OnFailure: a.OnFailure, Log: log.Named("audit"),
	})
	if err != nil {
		return nil, &UsageError{err}
	}
	return l, nil
}

// recorded runs a call and keeps a record of it.
func (c *call) recorded(ctx context.Context, params json.RawMessage, n gateway.Notifier) (json.RawMessage, error) {
	log := c.plugin.host.audit
	if err := log.Ready(); err != nil {
		return nil, c.Failure(failureAudit, "cannot run: no record of it could be kept: "+err.Error())
	}
	r := audit.Record{
		Time: time.Now(), Kind: audit.KindCall, ID: log.NewID(),
		Plugin: c.plugin.name, Version: c.plugin.manifest.Version, Digest: c.plugin.manifest.Module.SHA256,
		Method: abi.MethodToolsCall, Tool: c.tool.offered, BytesIn: int64(len(params)), Arguments: rawjson.Member(params, "arguments"),
	}
	var trail audit.Trail
	var refused []audit.Operation
	result, fuel, err := c.run(ctx, params, n, func(o sandbox.Operation) {
		if done := operationRecord(o); trail.Add(done) && done.Outcome == audit.Denied {
			refused = append(refused, done)
		}
	})
	r.Duration, r.Fuel, r.BytesOut = time.Since(r.Time), uint64(fuel), int64(len(result))
	r.Outcome, r.Code = outcome(result, err)
	r.Operations, r.LeftOut = trail.Operations()
	lost := log.Write(r)
	for _, o := range refused {
		lost = errors.Join(lost, log.Write(audit.Record{
			Kind: audit.KindRefused, ID: r.ID, Plugin: r.Plugin, Version: r.Version, Digest: r.Digest, Tool: r.Tool,
			Outcome: audit.Denied, Code: o.Code, Operations: []audit.Operation{o},
		}))
	}
	if lost != nil {
		return nil, c.Failure(failureAudit, "ran, and its answer is withheld, as no record of it could be kept: "+lost.Error())
	}
	return result, err
}

// outcome says how a call ended.
func outcome(result json.RawMessage, err error) (audit.Outcome, string) {
	var failure *gateway.Failure
	switch {
	case err == nil && string(rawjson.Member(result, "isError")) == "true":
		return audit.ToolError, ""
	case err == nil:
		return audit.OK, ""
	case errors.As(err, &failure) && failure.Code != string(engine.CodeCanceled):
		return audit.Failed, failure.Code
	case errors.As(err, new(*abi.Error)):
		return audit.RPCError, ""
	case failure != nil, errors.Is(err, context.Canceled):
		return audit.Cancelled, ""
	}
	return audit.Failed, gateway.FailureInternal
}

func operationRecord(o sandbox.Operation) audit.Operation {
	r := audit.Operation{Op: o.Op, Target: o.Target, Outcome: audit.OK, Code: o.Code}
	switch o.Code {
	case "":
	case abi.HostDenied:
		r.Outcome = audit.Denied
	default:
		r.Outcome = audit.Failed
	}
	return r
}
