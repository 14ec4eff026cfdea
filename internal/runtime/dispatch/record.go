package dispatch

import (
	"context"
	"errors"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/policy/catalog"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/call"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/gateway"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/interaction"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/audit"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/audit/forward"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/engine"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/traces"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// failureAudit is the code of a call that could not be recorded. Such a call did not run, or its result is withheld.
const failureAudit = "audit"

// openAudit opens the audit log of a Catalog; nil if its config defines none.
func (d *Dispatcher) openAudit(c *catalog.Catalog) (*audit.Log, error) {
	return forward.Open(c.Audit, c.Options.AuditOutput, d.log, forward.SystemSockets)
}

// recordable is a request that gets an audit record.
type recordable struct {
	gateway.Queued
	*call.Request
	view   *view
	plugin *catalog.Plugin // nil: the host itself answers the request
}

// recorded executes the request with send and writes its audit record. send calls record, which may be nil, for each operation of the call.
func (q recordable) recorded(send func(record func(audit.Operation)) (call.Result, error)) (call.Result, error) {
	log := q.view.generation.audit
	if log == nil {
		return send(nil)
	}
	record := q.view.recordOf(q.Request, q.plugin)
	record.Time, record.Kind, record.ID = time.Now(), audit.KindCall, log.NewID()
	q.RecordID = record.ID
	record.BytesIn, record.Arguments, record.Round = int64(len(q.Params)), q.Arguments, q.Interaction.Round
	span := q.view.begin(q.Request)
	if err := log.Ready(); err != nil {
		return q.unrecorded(&record, span, "cannot run: its audit record cannot be written"+causeFor(q.Request, err))
	}
	if s := q.view.observers().State; s != nil && q.Times != nil {
		defer s.End(s.Begin(&record, q.Times))
		if q.Interaction.Round > 0 || q.Interaction.Approval != nil {
			s.Answer(&record)
		}
	}
	if q.Task != "" {
		begun := q.view.recordOf(q.Request, q.plugin)
		begun.Kind, begun.ID, begun.Outcome, begun.Round = audit.KindTask, record.ID, audit.OK, record.Round
		if err := q.view.generation.write(begun); err != nil {
			return q.unrecorded(&record, span, "cannot run: its audit record cannot be written: "+err.Error())
		}
	}
	if q.Method == abi.MethodComplete {
		record.Arguments = q.Argument
	}
	var trail audit.Trail
	var refused []audit.Operation
	result, err := send(func(o audit.Operation) {
		if trail.Add(o) && o.Outcome == audit.Denied {
			refused = append(refused, o)
		}
	})
	record.Duration, record.Fuel, record.BytesOut = time.Since(record.Time), uint64(result.Fuel), int64(len(result.Body))
	record.Outcome, record.Code = outcome(result, err)
	record.ShortenedFrom = int64(result.ShortenedFrom)
	record.Operations, record.LeftOut = trail.Operations()
	record.LeftOut += result.LeftOut
	for _, g := range result.Grants {
		record.Grants = append(record.Grants, audit.NewUsedGrant(g.Kind, g.Path, g.Read, g.Write))
	}
	if ask := (*gateway.Ask)(nil); errors.As(err, &ask) && canBeAsked(q.Request, ask) {
		if s := q.view.observers().State; s != nil {
			s.Ask(&record, ask.Timeout)
		}
	}
	lost := log.Write(record)
	for _, o := range refused {
		r := q.view.recordOf(q.Request, q.plugin)
		r.Kind, r.ID, r.Outcome, r.Code, r.Operations = audit.KindRefused, record.ID, audit.Denied, o.Code, []audit.Operation{o}
		lost = errors.Join(lost, q.view.generation.write(r))
	}
	if lost != nil {
		record.BytesOut = 0
		return q.unrecorded(&record, span, "ran, but its answer is withheld, because its audit record could not be written"+causeFor(q.Request, lost))
	}
	q.view.observe(q.Request, &record, span, err)
	return result, err
}

// unrecorded returns the failure of a request that has no audit record. It is counted and traced nevertheless: a server whose log cannot be written would
// else seem idle.
func (q recordable) unrecorded(record *audit.Record, span *traces.Identity, message string) (call.Result, error) {
	err := q.Failure(failureAudit, message)
	record.Outcome, record.Code = audit.Failed, failureAudit
	q.view.observe(q.Request, record, span, err)
	return call.Result{}, err
}

// canBeAsked reports whether the client of a request will be asked. The host asks for approval only where it can; a plugin may ask for what the client
// has not declared, or once too often, which fails.
func canBeAsked(r *call.Request, ask *gateway.Ask) bool {
	return ask.Approval != nil || r.Interaction.Round < abi.MaxAskRounds && r.Interaction.Client.Missing(ask.Ask) == interaction.Client{}
}

// recordOf returns what all records of a request have in common. p is the plugin that the request is for; nil if there is none.
func (v *view) recordOf(r *call.Request, p *catalog.Plugin) audit.Record {
	record := audit.Record{
		Client: r.Client, Principal: r.Principal.ID, Table: v.catalog.Key.Table(), Address: r.Sender.Address, Request: r.ID, Project: v.catalog.Project, Method: r.Method, Tool: r.Name, Via: r.Via, Parent: r.Parent,
		Task: r.Task,
	}
	if p != nil {
		record.Plugin, record.Version, record.Digest = p.Name, p.Manifest.Version, p.Manifest.Module.SHA256
	}
	return record
}

// outcome returns the outcome of a call for its audit record, and the code of its failure.
func outcome(result call.Result, err error) (audit.Outcome, string) {
	var failure *gateway.Failure
	var ask *gateway.Ask
	switch {
	case errors.As(err, &ask) && ask.Approval != nil:
		return audit.Asked, opApprove
	case ask != nil:
		return audit.Asked, ""
	case err == nil && result.Kind == call.ToolError:
		return audit.ToolError, ""
	case err == nil:
		return audit.OK, ""
	case errors.As(err, &failure) && isRefusal(failure.Code):
		return audit.Denied, failure.Code
	case errors.As(err, &failure) && failure.Code != string(engine.CodeCanceled):
		return audit.Failed, failure.Code
	case errors.As(err, new(*abi.Error)):
		return audit.RPCError, ""
	case failure != nil, errors.Is(err, context.Canceled):
		return audit.Cancelled, ""
	}
	return audit.Failed, gateway.FailureInternal
}
