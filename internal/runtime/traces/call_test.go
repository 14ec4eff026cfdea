package traces

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/protocol/call"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/tracecontext"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/audit"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// always samples each trace.
var always = &Exporter{config: Config{Sample: 1}}

var begun = time.Unix(1800000000, 0)

func after(seconds int) time.Time { return begun.Add(time.Duration(seconds) * time.Second) }

// TestPhasesOfCalls compares the spans of calls that end in different phases.
func TestPhasesOfCalls(t *testing.T) {
	for name, c := range map[string]struct {
		times *call.Times
		want  string
	}{
		"not queued":      {&call.Times{}, "0-9"},
		"not measured":    {nil, "0-9"},
		"no slot":         {&call.Times{Queued: after(1)}, "0-9 queue:1-9!"},
		"no worker":       {&call.Times{Queued: after(1), Started: after(2)}, "0-9 queue:1-2 worker:2-9!"},
		"module":          {&call.Times{Queued: after(1), Started: after(2), Ready: after(3), Answered: after(8)}, "0-9 queue:1-2 worker:2-3 module:3-8!"},
		"second process":  {&call.Times{Queued: after(1), Started: after(2), Ready: after(3), Retried: after(5), Answered: after(8)}, "0-9 queue:1-2 worker:2-3 module:3-8!+5"},
		"not yet started": {&call.Times{Queued: after(1), Ready: after(3)}, "0-9 queue:1-9!"},
	} {
		record := &audit.Record{Time: begun, Duration: 9 * time.Second, Method: abi.MethodToolsCall, Tool: "t", Outcome: audit.Failed, Code: "timeout"}
		i := always.Begin(nil)
		var got []string
		for n, s := range i.Call(record, c.times) {
			text := fmt.Sprintf("%s:%d-%d", s.Name, s.Begin.Unix()-begun.Unix(), s.End.Unix()-begun.Unix())
			if n == 0 {
				text = strings.TrimPrefix(text, "tools/call t:")
			} else if s.Parent != i.Span || s.Trace != i.Trace {
				t.Errorf("%s: %s is no child of the request", name, s.Name)
			}
			if n > 0 && s.ErrorType != "" {
				text += "!"
			}
			for _, e := range s.Events {
				text += fmt.Sprint("+", e.At.Unix()-begun.Unix())
			}
			got = append(got, text)
		}
		if got := strings.Join(got, " "); got != c.want {
			t.Errorf("%s: got %s, want %s", name, got, c.want)
		}
	}
}

// TestFailedPartsHaveErrorType looks at the spans of a call whose module goes on after one of its operations was denied, and then fails.
func TestFailedPartsHaveErrorType(t *testing.T) {
	record := &audit.Record{Time: begun, Duration: 9 * time.Second, Method: abi.MethodToolsCall, Outcome: audit.Failed, Code: "timeout"}
	times := &call.Times{Queued: after(1), Started: after(2), Ready: after(3), Answered: after(8)}
	times.Perform(call.Performed{Op: abi.OpHTTPFetch, Begin: after(4), End: after(5), Code: abi.HostDenied})
	times.Perform(call.Performed{Op: abi.OpNotify, Begin: after(5), End: after(6)})
	want := map[string]string{"tools/call": "timeout", "queue": "", "worker": "", "module": "timeout", "http/fetch": "denied", "notify": ""}
	all := always.Begin(nil).Call(record, times)
	if len(all) != len(want) {
		t.Errorf("%d spans", len(all))
	}
	for _, s := range all {
		errorType := ""
		for _, a := range s.Attributes {
			if a.Key == "error.type" {
				errorType += a.Text
			}
		}
		if isError := s.encode().Status != nil; errorType != want[s.Name] || isError != (errorType != "") {
			t.Errorf("%s: error.type is %q, want %q; its status is an error: %t", s.Name, errorType, want[s.Name], isError)
		}
	}
}

// TestSpansAreSampledAsTheirParent follows a parent that is not sampled, and one that is.
func TestSpansAreSampledAsTheirParent(t *testing.T) {
	record := &audit.Record{Method: abi.MethodToolsCall}
	for _, sampled := range []bool{true, false} {
		i := always.Begin(&tracecontext.Context{Trace: tracecontext.TraceID{1}, Span: tracecontext.SpanID{2}, Sampled: sampled, State: "a=b"})
		if got := i.Call(record, nil); (len(got) == 1) != sampled || sampled && (got[0].Parent != tracecontext.SpanID{2} || got[0].Trace != tracecontext.TraceID{1} || got[0].State != "a=b") {
			t.Errorf("sampled %t: %+v", sampled, got)
		}
		if got := i.Refused(record, begun); (len(got) == 1) != sampled {
			t.Errorf("sampled %t, refused: %+v", sampled, got)
		}
		if nested := always.Begin(i.Module()); nested.Sampled != sampled || nested.parent != i.module || nested.Trace != i.Trace {
			t.Errorf("sampled %t: a call of its module has the place %+v", sampled, nested)
		}
	}
}

// TestSpansNameNothingForeign looks for texts of clients and modules in spans.
func TestSpansNameNothingForeign(t *testing.T) {
	const foreign = "made up"
	record := &audit.Record{
		Time: begun, Method: abi.MethodResourcesRead, Tool: foreign, Client: foreign, Principal: foreign, Address: foreign, Request: []byte(foreign), Project: foreign, Reason: foreign,
		Arguments: []byte(foreign), Outcome: audit.OK, Operations: []audit.Operation{{Op: foreign, Target: foreign, Outcome: audit.Denied, Count: 3}},
	}
	times := &call.Times{Queued: begun, Started: begun, Ready: begun, Answered: begun}
	for range 100 {
		times.Perform(call.Performed{Op: foreign, Begin: begun, End: begun})
	}
	i := always.Begin(nil)
	all := i.Call(record, times)
	refused := *record
	refused.Method = abi.MethodToolsCall
	body, err := Source{}.encode(append(i.Refused(&refused, begun), all...))
	if err != nil || strings.Contains(string(body), foreign) {
		t.Errorf("%v: %s", err, body)
	}
	if len(all) != 4+64 || all[0].Dropped != 36 || !strings.Contains(string(body), `{"key":"bulkhead.operations.denied","value":{"intValue":"3"}}`) || !strings.Contains(string(body), `{"key":"bulkhead.operations.without_span","value":{"intValue":"36"}}`) {
		t.Errorf("%d spans, and %d without: %.2000s", len(all), all[0].Dropped, body)
	}
}

// TestAttributesOfRequests compares the attributes of requests with those of OpenTelemetry's conventions for MCP.
func TestAttributesOfRequests(t *testing.T) {
	for name, c := range map[string]struct {
		identity Identity
		record   audit.Record
		want     string
	}{
		"tool": {Identity{Version: "2025-11-25", Session: "5e5510"}, audit.Record{Method: abi.MethodToolsCall, Tool: "t", Outcome: audit.OK, Request: []byte(`7`), Address: "192.0.2.1"},
			"mcp.method.name=tools/call gen_ai.tool.name=t gen_ai.operation.name=execute_tool jsonrpc.request.id=7 mcp.protocol.version=2025-11-25 mcp.session.id=5e5510 network.transport=tcp bulkhead.outcome=ok"},
		"tool error": {Identity{}, audit.Record{Method: abi.MethodToolsCall, Tool: "t", Outcome: audit.ToolError, Request: []byte(`"a-b_c.1:2"`)},
			"mcp.method.name=tools/call gen_ai.tool.name=t gen_ai.operation.name=execute_tool error.type=tool_error jsonrpc.request.id=a-b_c.1:2 network.transport=pipe bulkhead.outcome=tool_error"},
		"JSON-RPC error": {Identity{Prompt: "p", Status: -32602}, audit.Record{Method: abi.MethodPromptsGet, Tool: "p", Outcome: audit.RPCError},
			"mcp.method.name=prompts/get gen_ai.prompt.name=p error.type=rpc_error rpc.response.status_code=-32602 network.transport=pipe bulkhead.outcome=rpc_error"},
		"call of a script": {Identity{Part: true}, audit.Record{Method: abi.MethodToolsCall, Parent: "r", Outcome: audit.OK, Request: []byte(`7`)},
			"mcp.method.name=tools/call network.transport=pipe bulkhead.outcome=ok"},
		"long ID": {Identity{}, audit.Record{Method: "m", Outcome: audit.OK, Request: []byte(`"` + strings.Repeat("x", maxRequestID+1) + `"`)},
			"mcp.method.name=m network.transport=pipe bulkhead.outcome=ok"},
		"long number": {Identity{}, audit.Record{Method: "m", Outcome: audit.OK, Request: []byte(strings.Repeat("1", 1000))},
			"mcp.method.name=m network.transport=pipe bulkhead.outcome=ok"},
		"markup as ID": {Identity{}, audit.Record{Method: "m", Outcome: audit.OK, Request: []byte(`"<b>"`)},
			"mcp.method.name=m network.transport=pipe bulkhead.outcome=ok"},
	} {
		var got []string
		c.identity.Sampled = true
		request := c.identity.Call(&c.record, nil)[0]
		if request.Server == c.identity.Part {
			t.Errorf("%s: whether it is a request of a client is %t", name, request.Server)
		}
		for _, a := range request.Attributes {
			got = append(got, a.Key+"="+a.Text)
		}
		if got := strings.Join(got, " "); got != c.want {
			t.Errorf("%s: got\n%s\nwant\n%s", name, got, c.want)
		}
	}
}

// TestPartOfTracesIsSampled begins many requests with and without a parent.
func TestPartOfTracesIsSampled(t *testing.T) {
	for sample, want := range map[float64][2]int{0: {0, 0}, 1: {2000, 2000}, 0.1: {100, 320}} {
		e := &Exporter{config: Config{Sample: sample}}
		begun := 0
		for range 2000 {
			i := e.Begin(nil)
			if i.Sampled {
				begun++
			}
			if i.Module().Sampled != i.Sampled || len(i.Call(&audit.Record{}, nil)) == 1 != i.Sampled {
				t.Fatalf("%g: its parts are sampled differently", sample)
			}
		}
		if begun < want[0] || begun > want[1] {
			t.Errorf("%g: %d of 2000 are sampled", sample, begun)
		}
		for _, parent := range []bool{true, false} {
			if e.Begin(&tracecontext.Context{Sampled: parent}).Sampled != parent {
				t.Errorf("%g: the parent does not decide", sample)
			}
		}
	}
}
