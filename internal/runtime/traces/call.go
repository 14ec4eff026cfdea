package traces

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/protocol/call"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/audit"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/worker/wire"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// Names of the spans of a request's parts.
const (
	spanQueue  = "queue"
	spanWorker = "worker"
	spanModule = "module"
	eventRetry = "the worker process has ended, and another one has the call"
)

// Call returns the spans of a request that has ended, with its audit record: that of the request itself, and one for each phase and each
// operation of the host in times, which may be nil. A request that is not sampled has none.
func (i *Identity) Call(r *audit.Record, times *call.Times) []Span {
	if !i.Sampled {
		return nil
	}
	all := []Span{i.request(r)}
	if times == nil || times.Queued.IsZero() {
		return all
	}
	phases := []struct {
		name       string
		begin, end time.Time
	}{{spanQueue, times.Queued, times.Started}, {spanWorker, times.Started, times.Ready}, {spanModule, times.Ready, times.Answered}}
	for _, phase := range phases {
		if phase.begin.IsZero() {
			break
		}
		s := i.part(phase.name, phase.begin, phase.end)
		if phase.end.IsZero() { // the request has ended in this phase
			s.End = all[0].End
		}
		if phase.end.IsZero() || phase.name == spanModule {
			s.fail(r.ErrorType())
		}
		if phase.name == spanModule {
			s = i.moduleSpan(s, r, times)
		}
		all = append(all, s)
	}
	operations, leftOut := times.Performed()
	for _, o := range operations {
		s := i.part(operationName(o.Op), o.Begin, o.End)
		s.Parent = i.module
		s.fail(o.Code)
		all = append(all, s)
	}
	all[0].Dropped = leftOut
	return all
}

// Refused returns the span of a request that was refused before it could run. Its name may be one that the client has made up.
func (i *Identity) Refused(r *audit.Record, at time.Time) []Span {
	if !i.Sampled {
		return nil
	}
	refused := *r
	refused.Tool, refused.Time = "", at
	return []Span{i.request(&refused)}
}

// request returns the span of the request itself, by https://opentelemetry.io/docs/specs/semconv/gen-ai/mcp/.
func (i *Identity) request(r *audit.Record) Span {
	s := Span{Context: i.Context, Parent: i.parent, Name: r.Method, Server: !i.Part, Begin: r.Time, End: r.Time.Add(r.Duration)}
	s.text("mcp.method.name", r.Method)
	if r.Method == abi.MethodToolsCall && r.Tool != "" { // names of prompts and resources may come from the client
		s.Name += " " + r.Tool
		s.text("gen_ai.tool.name", r.Tool)
		s.text("gen_ai.operation.name", "execute_tool")
	}
	s.text("gen_ai.prompt.name", i.Prompt)
	s.fail(r.ErrorType())
	if i.Status != 0 {
		s.text("rpc.response.status_code", strconv.Itoa(i.Status))
	}
	if !i.Part { // it has the ID of the other one
		s.text("jsonrpc.request.id", requestID(r.Request))
	}
	s.text("mcp.protocol.version", i.Version)
	s.text("mcp.session.id", i.Session)
	transport := "pipe"
	if r.Address != "" {
		transport = "tcp"
	}
	s.text("network.transport", transport)
	s.text("bulkhead.outcome", string(r.Outcome))
	s.text("bulkhead.plugin.name", r.Plugin)
	s.text("bulkhead.plugin.version", r.Version)
	s.text("bulkhead.via", r.Via)
	s.text("bulkhead.record.id", r.ID)
	s.number("bulkhead.round", int64(r.Round))
	s.number("bulkhead.request.size", r.BytesIn)
	s.number("bulkhead.response.size", r.BytesOut)
	return s
}

// maxRequestID bounds the ID of a request in bytes. A UUID has 36.
const maxRequestID = 64

// requestID returns the ID of a JSON-RPC request; empty if it is long, or has characters that those of programs do not have.
func requestID(raw []byte) string {
	id := strings.Trim(string(raw[:min(len(raw), maxRequestID+3)]), `"`)
	if len(id) > maxRequestID || strings.IndexFunc(id, func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && !strings.ContainsRune("_-.:", c)
	}) >= 0 {
		return ""
	}
	return id
}

// part returns the span of a part of the request.
func (i *Identity) part(name string, begin, end time.Time) Span {
	s := Span{Context: i.Context, Parent: i.Span, Name: name, Begin: begin, End: end}
	s.Span = newSpanID()
	return s
}

// moduleSpan completes the span of the module.
func (i *Identity) moduleSpan(s Span, r *audit.Record, times *call.Times) Span {
	s.Span = i.module
	s.number("bulkhead.fuel", int64(r.Fuel))
	done, denied := r.LeftOut, int64(0)
	for _, o := range r.Operations {
		done += o.Count
		if o.Outcome == audit.Denied {
			denied += o.Count
		}
	}
	s.number("bulkhead.operations", done)
	s.number("bulkhead.operations.denied", denied)
	if !times.Retried.IsZero() {
		s.Events = append(s.Events, Event{eventRetry, times.Retried})
	}
	return s
}

// hostOperations are the operations that have spans of their own name. A worker process states the name, so that another one is not used.
var hostOperations = []string{abi.OpHTTPFetch, abi.OpNotify, abi.OpClaims, wire.OpGitOpen, wire.OpGitRead, wire.OpGitShut, wire.OpGitUser}

func operationName(op string) string {
	if slices.Contains(hostOperations, op) {
		return op
	}
	return "operation"
}

// fail states what has failed, if anything has.
func (s *Span) fail(errorType string) {
	s.ErrorType = errorType
	s.text("error.type", errorType)
}

func (s *Span) text(key, value string) {
	if value != "" {
		s.Attributes = append(s.Attributes, Attribute{Key: key, Text: value})
	}
}

func (s *Span) number(key string, n int64) {
	if n != 0 {
		s.Attributes = append(s.Attributes, Attribute{Key: key, Number: n})
	}
}
