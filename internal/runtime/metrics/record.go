package metrics

import (
	"cmp"

	"github.com/bulkhead-mcp/bulkhead/internal/protocol/call"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/audit"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/engine"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// Record counts what an audit record is about. client is the table of [[clients]] that applies; empty: there is none. times may be nil.
func (m *Metrics) Record(r *audit.Record, client string, times *call.Times) {
	switch r.Kind {
	case audit.KindCall:
		m.call(r, client, times)
	case audit.KindRefused:
		if r.Reason == "" { // the HTTP server counts its own refusals, of which not all have records
			m.refused.Add(1, r.Plugin, r.Code)
		}
	case audit.KindTask:
		m.tasks.Add(1, r.Plugin)
	case audit.KindPolicy:
		m.reloads.Add(1, string(r.Outcome))
	case audit.KindTokens:
		m.tokens.Add(1)
	}
}

// toolOf returns the name of the called tool. Prompts and resources are not named: their names may come from the client.
func toolOf(r *audit.Record) string {
	if r.Method == abi.MethodToolsCall {
		return r.Tool
	}
	return ""
}

// Operation counts the duration of a request. Record does not: several plugins may answer one request, each with a record.
func (m *Metrics) Operation(r *audit.Record) {
	m.durations.Observe(r.Duration.Seconds(), r.Method, toolOf(r), r.ErrorType())
}

// call counts a call that has ended.
func (m *Metrics) call(r *audit.Record, client string, times *call.Times) {
	outcome := string(r.Outcome)
	m.calls.Add(1, r.Plugin, toolOf(r), r.Method, outcome)
	m.fuel.Add(float64(r.Fuel), r.Plugin)
	m.received.Add(float64(r.BytesIn), r.Plugin)
	m.sent.Add(float64(r.BytesOut), r.Plugin)
	m.clientCalls.Add(1, cmp.Or(client, NoTable), outcome)
	if r.Via != "" {
		m.viaCalls.Add(1, r.Via, outcome)
	}
	if r.Code != "" && (r.Outcome == audit.Failed || r.Outcome == audit.Denied) {
		m.failures.Add(1, r.Plugin, r.Code)
		if engine.Code(r.Code).IsLimit() {
			m.limits.Add(1, r.Plugin, r.Code)
		}
	}
	if times != nil && !times.Queued.IsZero() {
		end := times.Started
		if end.IsZero() { // the call has ended while it waited
			end = r.Time.Add(r.Duration)
		}
		m.waits.Observe(end.Sub(times.Queued).Seconds(), r.Plugin)
	}
}
