package dispatch

import (
	"context"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/bulkhead-mcp/bulkhead/internal/policy/catalog"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/call"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/tracecontext"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/audit"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/live"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/metrics"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/traces"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// TestMeasuringIsFreeWhenOff compares the allocations of a recorded call with those of writing its record, with metrics and traces off and on.
func TestMeasuringIsFreeWhenOff(t *testing.T) {
	d := opened()
	g := d.acquire()
	log, err := audit.Open(audit.Config{File: filepath.Join(t.TempDir(), "log"), OnFailure: audit.FailClosed})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = log.Close(context.Background()) }) // the context of the test has ended
	record := audit.Record{Kind: audit.KindCall, Plugin: "a", Method: abi.MethodToolsCall, Outcome: audit.OK}
	principal := &call.Principal{ID: "local"}
	recorded := func() float64 {
		return testing.AllocsPerRun(200, func() {
			q := recordable{Request: &call.Request{Method: abi.MethodToolsCall, Name: "t", Principal: principal}, view: g.first, plugin: g.first.catalog.Plugins[0]}
			if _, err := q.recorded(func(func(audit.Operation)) (call.Result, error) { return call.Result{}, nil }); err != nil {
				t.Fatal(err)
			}
		})
	}
	written := func(write func() error) float64 {
		return testing.AllocsPerRun(200, func() {
			if err := write(); err != nil {
				t.Fatal(err)
			}
		})
	}
	if n := written(func() error { return g.write(record) }); n != 0 {
		t.Errorf("without an audit log a record costs %v allocations", n)
	}
	g.audit = log
	defer func() { g.audit = nil }()
	alone := written(func() error { return log.Write(record) })
	for name, write := range map[string]func() error{
		"of an event": func() error { return g.write(record) }, "of a call": func() error {
			g.first.observe(&call.Request{}, &record, nil, nil)
			return log.Write(record)
		},
	} {
		if n := written(write); n != alone {
			t.Errorf("the record %s costs %v allocations, and writing it %v", name, n, alone)
		}
	}
	recorded() // the first IDs of records are shorter
	goroutines, off := runtime.NumGoroutine(), recorded()
	d.Observe(Observers{Metrics: metrics.New(d.AddMetrics)})
	if on := recorded(); on != off+1 { // call.Times
		t.Errorf("a call costs %v allocations with metrics, and %v without", on, off)
	}
	d.Observe(Observers{})
	state := live.New("stdio", d.AddState)
	d.Observe(Observers{State: state})
	if on := recorded(); on > off+3 || len(state.Snapshot().Ended) == 0 { // call.Times, live.Running and its growing lists
		t.Errorf("a call costs %v allocations with live state, and %v without: %+v", on, off, state.Snapshot())
	}
	d.Observe(Observers{})
	exporter := traces.New(traces.Config{To: "http://127.0.0.1:1", Sample: 1, Version: "1", Log: hclog.NewNullLogger()})
	d.Observe(Observers{Traces: exporter})
	if on := recorded(); on <= off {
		t.Errorf("a call costs %v allocations with traces, and %v without", on, off)
	}
	d.Observe(Observers{})
	ended, end := context.WithCancel(t.Context())
	end()
	exporter.Close(ended)
	if lost := exporter.Stats(); lost.Dropped == 0 {
		t.Errorf("calls have left no spans: %+v", lost)
	}
	if again := recorded(); again != off || runtime.NumGoroutine() > goroutines {
		t.Errorf("after metrics, live state and traces were switched off, a call costs %v allocations, before %v; %d goroutines, before %d", again, off, runtime.NumGoroutine(), goroutines)
	}
}

// TestUnrecordedCallsAreCounted makes a call whose record cannot be written, and one that is refused for that: both count as failed.
func TestUnrecordedCallsAreCounted(t *testing.T) {
	d := opened()
	m := metrics.New()
	d.Observe(Observers{Metrics: m})
	g := d.acquire()
	log, err := audit.Open(audit.Config{File: filepath.Join(t.TempDir(), "log"), OnFailure: audit.FailClosed})
	if err != nil {
		t.Fatal(err)
	}
	g.audit = log
	defer func() { g.audit = nil }()
	p := g.first.plugins[0]
	for _, want := range []string{"its answer is withheld", "cannot run"} {
		q := p.enqueue(call.Request{Method: abi.MethodToolsCall, Name: "t", Principal: &call.Principal{ID: "local"}}, false)
		_, err := recordable{q, &q.Request, p.view, p.Plugin}.recorded(func(func(audit.Operation)) (call.Result, error) {
			return call.Result{Body: []byte("{}")}, log.Close(t.Context())
		})
		q.place.leave()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want …%s…", err, want)
		}
	}
	page := pageOf(m)
	for _, want := range []string{
		`bulkhead_calls_total{plugin="` + p.Name + `",tool="t",method="tools/call",outcome="failed"} 2`, `bulkhead_call_failures_total{plugin="` + p.Name + `",code="audit"} 2`,
		`bulkhead_call_response_bytes_total{plugin="` + p.Name + `"} 0`,
	} {
		if !strings.Contains(page, want+"\n") {
			t.Errorf("the page lacks %s:\n%s", want, page)
		}
	}
}

// TestRequestToSeveralPluginsHasOneDuration has a plugin answer a part of a request: it counts as a call, and only the whole request has a duration.
func TestRequestToSeveralPluginsHasOneDuration(t *testing.T) {
	d := opened()
	m := metrics.New()
	d.Observe(Observers{Metrics: m})
	g := d.acquire()
	log, err := audit.Open(audit.Config{File: filepath.Join(t.TempDir(), "log")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = log.Close(context.Background()) }) // the context of the test has ended
	g.audit = log
	defer func() { g.audit = nil }()
	r := call.Request{Method: abi.MethodPromptsList, Principal: &call.Principal{ID: "local"}}
	part := r
	part.Part = true
	if _, err := g.first.whole(&r, func(*tracecontext.Context) (call.Result, error) {
		return recordable{nil, &part, g.first, g.first.plugins[0].Plugin}.recorded(func(func(audit.Operation)) (call.Result, error) { return call.Result{}, nil })
	}); err != nil {
		t.Fatal(err)
	}
	page := pageOf(m)
	for _, want := range []string{
		`mcp_server_operation_duration_seconds_count{mcp_method_name="prompts/list",gen_ai_tool_name="",error_type=""} 1`,
		`bulkhead_calls_total{plugin="` + g.first.plugins[0].Name + `",tool="",method="prompts/list",outcome="ok"} 1`,
	} {
		if !strings.Contains(page, want+"\n") {
			t.Errorf("the page lacks %s:\n%s", want, page)
		}
	}
}

// TestMetricsOfQueues looks at the queues of a plugin while calls wait and run.
func TestMetricsOfQueues(t *testing.T) {
	d := opened()
	m := metrics.New(d.AddMetrics)
	d.Observe(Observers{Metrics: m})
	g := d.acquire()
	p := g.first.plugins[0]
	p.lane.queue.resize(1)
	var calls []*queued
	for range 3 {
		q := p.enqueue(call.Request{Principal: &call.Principal{ID: "local"}}, true)
		p.lane.queue.ask(&q.place)
		calls = append(calls, q)
	}
	page := pageOf(m)
	for _, want := range []string{`state="waiting"} 2`, `state="running"} 1`, `bulkhead_queue_slots{plugin="` + p.Name + `"} 1`, `bulkhead_memory_budget_bytes 1.073741824e+09`} {
		if !strings.Contains(page, want+"\n") {
			t.Errorf("the page lacks %s:\n%s", want, page)
		}
	}
	for _, q := range calls {
		q.place.leave()
	}
}

// TestStateHasQueuesAndCalls looks at the live state while calls wait and run, and at a refused one.
func TestStateHasQueuesAndCalls(t *testing.T) {
	d := opened()
	d.Catalog().Places.Project = "/project"
	state := live.New("http", d.AddState)
	d.Observe(Observers{State: state})
	g := d.acquire()
	defer g.release()
	p := g.first.plugins[0]
	p.lane.queue.resize(1)
	var calls []*queued
	for range 3 {
		q := p.enqueue(call.Request{Principal: &call.Principal{ID: "local"}}, true)
		p.lane.queue.ask(&q.place)
		calls = append(calls, q)
	}
	g.first.observe(&call.Request{}, &audit.Record{Kind: audit.KindRefused, Plugin: p.Name, Outcome: audit.Denied, Code: "denied"}, nil, nil)
	now := state.Snapshot()
	if len(now.Workers) == 0 || now.Workers[0] != (live.Worker{Plugin: p.Name, Running: 1, Waiting: 2, Slots: 1}) || now.Memory.Budget != 1<<30 || len(now.Refused) != 1 || now.ProjectDir != "/project" {
		t.Errorf("%+v", now)
	}
	for _, q := range calls {
		q.place.leave()
	}
}

// TestReloadRemovesSeries replaces a plugin by another: its series are removed, and the new one has zeros where increases matter.
func TestReloadRemovesSeries(t *testing.T) {
	d := opened()
	m := metrics.New()
	d.Observe(Observers{Metrics: m})
	old := d.Catalog().Plugins[0].Name
	m.WorkerEnded(old, "idle")
	replaceBy(t, d, catalogOf(func(c *catalog.Catalog) { c.Plugins[0].Name, c.Plugins[0].Manifest.Digest = "new", "2" }))
	page := pageOf(m)
	if strings.Contains(page, `plugin="`+old+`"`) || !strings.Contains(page, `bulkhead_worker_ends_total{plugin="new",reason="lost"} 0`) {
		t.Errorf("after %s was replaced:\n%s", old, page)
	}
}

// pageOf returns the page of m.
func pageOf(m *metrics.Metrics) string {
	w := httptest.NewRecorder()
	m.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	return w.Body.String()
}
