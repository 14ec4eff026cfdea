// The command capacity reads the output of BenchmarkCapacity from stdin and writes what a page of the documentation says of it: what was measured,
// what one server carries by a simulation, and what a number of clients need.
//
//	go test ./tests/bench -run '^$' -bench Capacity | go run ./tests/bench/capacity docs/capacity.md
package main

import (
	"fmt"
	"io"
	"maps"
	"time"

	"github.com/bulkhead-mcp/bulkhead/tests/bench/report"
)

// The comments around what is generated.
const begin, end = "<!-- capacity: begin -->", "<!-- capacity: end -->"

// What simulated servers may be asked, and what they have room for: the bounds of docs/http.md.
const (
	maxBusy     = 0.6 // of the processors
	maxWait     = 100 * time.Millisecond
	maxStarts   = 0.15 // of the calls; those of clients that come back after a pause are about half of that
	maxSessions = 512
	maxStreams  = 256
	mostClients = 1 << 17 // beyond which a simulation is not tried
)

// The pod of docs/deploy/kubernetes: the processors that it requests, and its [server] memory.
const (
	podProcessors = 1
	podMemory     = 1 << 30
)

// machines returns the servers that the page describes, of which the first is the pod. The table of needs has the first one and the one named usual.
func machines(f figures) []machine {
	return []machine{
		{"the pod of the manifests", podProcessors, podMemory, f},
		{"4 processors, 2 GiB", 4, 2 << 30, f},
		{usual, 4, 8 << 30, f},
		{"4 processors, 32 GiB", 4, 32 << 30, f},
	}
}

const usual = "4 processors, 8 GiB"

func main() { report.Main(run) }

func run(in io.Reader, progress io.Writer, page string) error {
	all, err := report.Parse(io.TeeReader(in, progress))
	if err != nil {
		return err
	}
	measured, err := figuresOf(all)
	if err != nil {
		return err
	}
	return report.Replace(page, begin, end, render(measured, progress))
}

// figuresOf returns the figures of the results. It is an error if one is missing.
func figuresOf(all []report.Result) (f figures, err error) {
	values := map[string]float64{}
	for _, r := range all {
		maps.Copy(values, r.Values)
	}
	value := func(unit string) float64 {
		v, ok := values[unit]
		if (!ok || v <= 0) && err == nil {
			err = fmt.Errorf("the output has no %s: run `go test ./tests/bench -run '^$' -bench Capacity`", unit)
		}
		return v
	}
	duration := func(unit string) time.Duration { return time.Duration(value(unit) * float64(time.Microsecond)) }
	f = figures{
		stateless: duration("stateless-cpu-µs"), read: duration("read-cpu-µs"), write: duration("write-cpu-µs"), first: duration("first-call-cpu-µs"),
		oneWrite: duration("write-of-one-project-µs"),
		base:     value("base-MiB") * (1 << 20), session: value("session-KiB") * (1 << 10), project: value("project-KiB") * (1 << 10),
		worker: value("worker-MiB") * (1 << 20), credit: value("credit-MiB") * (1 << 20),
	}
	return f, err
}
