// Package metrics counts what a server does, and offers it in the text format of Prometheus. Metrics has the families; Record, which is
// called for each audit record, is where calls are counted, so that nothing is measured twice. What exists anyway, such as the lengths of
// queues, is not counted along but read by a Source when the page is requested.
//
// The number of series is bounded: labels are constants of the host or names of the config and the manifests, never what a client sends,
// and beyond a bound a name is replaced by "other".
package metrics

import (
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/runtime/audit"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/worker"
)

// Metrics are the metrics of one server. They are safe for concurrent use.
type Metrics struct {
	families []*Family

	calls, clientCalls, viaCalls     *Family
	failures, limits, refused        *Family
	fuel, received, sent             *Family
	durations, waits                 *Family
	starts, failedStarts, workerEnds *Family
	compilations, failedCompilations *Family
	tasks, reloads, tokens           *Family
	sessions, answers                *Family

	sources []Source
	page    page
}

// Source adds what it knows to a page.
type Source func(*Page)

// durationBounds are the buckets that OpenTelemetry advises for mcp.server.operation.duration, with three smaller ones, in seconds.
var durationBounds = []float64{0.001, 0.0025, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300}

// sessionBounds are the buckets of durations of sessions, in seconds: those that OpenTelemetry advises for mcp.server.session.duration, without the
// smallest, and up to a week.
var sessionBounds = []float64{0.1, 0.5, 1, 5, 10, 30, 60, 120, 300, 1800, 7200, 28_800, 86_400, 604_800}

// waitBounds are the buckets of times that calls wait, in seconds.
var waitBounds = []float64{0.001, 0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60}

// New returns Metrics with what the sources add.
func New(sources ...Source) *Metrics {
	m := &Metrics{sources: sources}
	count := func(name, help string, labels ...string) *Family {
		m.families = append(m.families, newFamily(counter, name, help, labels...))
		return m.families[len(m.families)-1]
	}
	measure := func(bounds []float64, name, help string, labels ...string) *Family {
		f := newFamily(histogram, name, help, labels...)
		f.bounds = bounds
		m.families = append(m.families, f)
		return f
	}
	m.calls = count("bulkhead_calls_total", "Requests that plugins or the host's own tools have answered, by outcome.", Plugin, Tool, "method", "outcome")
	m.clientCalls = count("bulkhead_client_calls_total", "The same requests by the table of [[clients]] that applies; * is for clients without a table.", Client, "outcome")
	m.viaCalls = count("bulkhead_calls_via_total", "Calls that came through a tool of the host, such as those of scripts.", "via", "outcome")
	m.failures = count("bulkhead_call_failures_total", "Calls that failed or were denied, by the code of the failure.", Plugin, "code")
	m.limits = count("bulkhead_limits_hit_total", "Calls that ended because of a limit.", Plugin, "limit")
	m.refused = count("bulkhead_refused_total", "Requests and operations that were refused because they are not granted, by the code of the refusal.", Plugin, "code")
	m.fuel = count("bulkhead_fuel_total", "Instructions that modules have executed.", Plugin)
	m.received = count("bulkhead_call_request_bytes_total", "Bytes of the parameters of calls.", Plugin)
	m.sent = count("bulkhead_call_response_bytes_total", "Bytes of the results of calls.", Plugin)
	m.durations = measure(durationBounds, "mcp_server_operation_duration_seconds",
		"Time from the start of a request to its result (mcp.server.operation.duration of OpenTelemetry).", "mcp_method_name", genAITool, "error_type")
	m.waits = measure(waitBounds, "bulkhead_queue_wait_seconds", "Time that a call waited for its turn and a slot of its plugin.", Plugin)
	m.starts = measure(waitBounds, "bulkhead_worker_start_seconds", "Time that the start of a worker process took, with compiling its module if necessary.", Plugin)
	m.failedStarts = count("bulkhead_worker_start_failures_total", "Worker processes that did not start.", Plugin)
	m.workerEnds = count("bulkhead_worker_ends_total", "Worker processes that have ended, by reason.", Plugin, "reason")
	m.compilations = measure(waitBounds, "bulkhead_compile_seconds", "Time that compiling a module took.", Plugin)
	m.failedCompilations = count("bulkhead_compile_failures_total", "Modules that could not be compiled.", Plugin)
	m.tasks = count("bulkhead_tasks_begun_total", "Calls that have begun to run as tasks, or went on after a question.", Plugin)
	m.reloads = count("bulkhead_reloads_total", "Changes of the configuration, by whether they were applied (ok) or rejected (denied).", "outcome")
	m.tokens = count("bulkhead_token_changes_total", "Changes of the tokens of the server.")
	m.sessions = measure(sessionBounds, "mcp_server_session_duration_seconds",
		"Time from the start of a session over HTTP to its end (mcp.server.session.duration of OpenTelemetry).", "mcp_protocol_version")
	m.answers = count("bulkhead_http_responses_total", "Answers to HTTP requests, by status; those that are refused before they reach a plugin, too.", "status")
	for _, outcome := range []audit.Outcome{audit.OK, audit.Denied} {
		m.reloads.Add(0, string(outcome))
	}
	return m
}

// Expect adds what seldom happens to a plugin with the value 0: Prometheus sees no increase in a series that begins with 1.
func (m *Metrics) Expect(plugin string) {
	m.failedStarts.Add(0, plugin)
	m.failedCompilations.Add(0, plugin)
	for _, why := range worker.Ends {
		m.workerEnds.Add(0, plugin, string(why))
	}
}

// Retain removes the series of names that are not in use any more. keep reports whether the value of a label, one of Plugin, Tool and
// Client, is in use.
func (m *Metrics) Retain(keep func(label, name string) bool) {
	for _, f := range m.families {
		for _, label := range names {
			kind := label
			if label == genAITool {
				kind = Tool
			}
			f.retain(label, func(name string) bool { return keep(kind, name) })
		}
	}
}

// encode returns the text of all families.
func (m *Metrics) encode() []byte {
	now := &Page{}
	for _, add := range m.sources {
		add(now)
	}
	var b []byte
	for _, f := range slices.Concat(m.families, now.families) {
		b = f.appendText(b)
	}
	return b
}

// WorkerStarted counts the start of a worker process, which took so long.
func (m *Metrics) WorkerStarted(plugin string, took time.Duration, err error) {
	if err != nil {
		m.failedStarts.Add(1, plugin)
		return
	}
	m.starts.Observe(took.Seconds(), plugin)
}

// WorkerEnded counts the end of a worker process. reason is a constant of package worker.
func (m *Metrics) WorkerEnded(plugin, reason string) { m.workerEnds.Add(1, plugin, reason) }

// Compiled counts the compilation of a module, which took so long.
func (m *Metrics) Compiled(plugin string, took time.Duration, err error) {
	if err != nil {
		m.failedCompilations.Add(1, plugin)
		return
	}
	m.compilations.Observe(took.Seconds(), plugin)
}

// Answered counts the answer to an HTTP request.
func (m *Metrics) Answered(status int) { m.answers.Add(1, strconv.Itoa(status)) }

// SessionEnded counts a session over HTTP, which has taken so long. version is the protocol version that the server has chosen.
func (m *Metrics) SessionEnded(version string, took time.Duration) {
	m.sessions.Observe(took.Seconds(), version)
}

// page is the last encoded page. Requests that follow each other closely share it, so that any number of them costs one encoding.
type page struct {
	mu   sync.Mutex
	text []byte
	made time.Time
}

// pageTime is how long a page is used again.
const pageTime = time.Second

// text returns a page that is at most pageTime old.
func (m *Metrics) text(now time.Time) []byte {
	p := &m.page
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.text == nil || now.Sub(p.made) >= pageTime {
		p.text, p.made = m.encode(), now
	}
	return p.text
}
