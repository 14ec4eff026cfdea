// The command capacity reads the output of BenchmarkCapacity from stdin and writes what a page of the documentation says of it: what was measured,
// what one server carries by a simulation, and what a number of clients need.
//
//	go test ./tests/bench -run '^$' -bench Capacity | go run ./tests/bench/capacity docs/capacity.md
package main

import (
	"fmt"
	"io"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
	"github.com/bulkhead-mcp/bulkhead/tests/bench/report"
)

// The comments around what is generated.
const begin, end = "<!-- capacity: begin -->", "<!-- capacity: end -->"

// What the simulated servers have, what they may be asked, and what they have room for.
const (
	processors  = 4
	usual       = 8 << 30 // bytes of [server] memory for the table of needs
	maxBusy     = 0.6     // of the processors
	maxWait     = 100 * time.Millisecond
	maxSessions = 512
	mostClients = 1 << 17 // beyond which a simulation is not tried
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: capacity PAGE.md < OUTPUT-OF-BENCHMARKS")
		os.Exit(2)
	}
	if err := run(os.Stdin, os.Stderr, os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

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
		base:     value("base-MiB") * (1 << 20), session: value("session-KiB") * (1 << 10), project: value("project-KiB") * (1 << 10), worker: value("worker-MiB") * (1 << 20),
	}
	return f, err
}

func render(f figures, progress io.Writer) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Made by `just capacity` on %s/%s with %d processors.\n\n", runtime.GOOS, runtime.GOARCH, runtime.NumCPU())
	b.WriteString("| measured | |\n| --- | --- |\n")
	for _, row := range []struct {
		what  string
		value string
	}{
		{"processor time of a call that needs no project (`get_current_time`)", ms(f.stateless)},
		{"of a read in a project (`read_text_file`)", ms(f.read)},
		{"of a write (`write_file`)", ms(f.write)},
		{"of the first call in a project, which starts a worker", ms(f.first)},
		{"from one write in a project to the next, with 16 that wait", ms(f.oneWrite)},
		{"memory of a server with one project, without calls", mib(f.base)},
		{"for each further project without calls", kib(f.project)},
		{"for each session of versions before 2026-07-28, with its stream", kib(f.session)},
		{"for each worker, so for each plugin that a project uses", mib(f.worker)},
	} {
		fmt.Fprintf(&b, "| %s | %s |\n", row.what, row.value)
	}
	b.WriteString("\n### What one server carries\n\n")
	fmt.Fprintf(&b, "A server of projects with %d processors, simulated: the most clients with which it is busy for at most %.0f %% of the time, and 99 of 100 calls wait for\n"+
		"others for less than %d ms.\n\n", processors, maxBusy*100, maxWait.Milliseconds())
	b.WriteString("| `[server] memory` | clients | projects | busy | 99 of 100 calls wait less than | workers at once | started in a minute | what ends it |\n| --- | --- | --- | --- | --- | --- | --- | --- |\n")
	carried := 0
	for _, memory := range []float64{2 << 30, 8 << 30, 32 << 30} {
		m := machine{processors, memory, f}
		clients, projects, o, why := most(m, func(n int) []int { return population(n, rand.New(rand.NewPCG(7, uint64(n)))) })
		fmt.Fprintf(progress, "%.0f GiB: %d clients\n", memory/(1<<30), clients)
		fmt.Fprintf(&b, "| %.0f GiB | %d | %d | %.0f %% | %s | %d | %.0f | %s |\n", memory/(1<<30), clients, projects, o.busy*100, ms(o.slowest), o.workers, o.starts, why)
		if memory == usual {
			carried = clients
		}
	}
	m := machine{processors, usual, f}
	one, _, o, why := most(m, func(n int) []int { return []int{n} })
	fmt.Fprintf(&b, "\nOne project alone, which only one server can have: %d clients (busy %.0f %%, 99 of 100 calls wait less than %s; then %s). A project whose clients only write could have\n"+
		"%.0f writes a second for each plugin.\n", one, o.busy*100, ms(o.slowest), why, 1/f.oneWrite.Seconds())
	b.WriteString("\n### What clients need\n\n")
	b.WriteString("| clients | at work | calls a second | replicas without projects | projects | largest | servers of projects | the fullest of them | servers, if all sessions are of versions before 2026-07-28 |\n" +
		"| --- | --- | --- | --- | --- | --- | --- | --- | --- |\n")
	for _, clients := range []int{1000, 10_000, 1_000_000} {
		sizes := population(clients, rand.New(rand.NewPCG(7, uint64(clients))))
		calls := float64(clients) * workingShare / gap.Seconds()
		replicas := max(2, ceil(calls*statelessShare*f.stateless.Seconds()/(processors*maxBusy)))
		servers := max(1, ceil(float64(clients)/float64(max(carried, 1))), ceil(float64(len(sizes))/config.MaxProjects))
		fmt.Fprintf(&b, "| %d | %.0f | %.0f | %d | %d | %d clients | %d | %.1f × the mean | %d |\n", clients, float64(clients)*workingShare, calls, replicas, len(sizes), slices.Max(sizes), servers,
			fullest(sizes, servers), ceil(float64(clients)*workingShare/maxSessions))
	}
	return b.String()
}

// most returns the most clients that a server carries, to about a tenth, and why it carries no more.
func most(m machine, sizes func(clients int) []int) (clients, projects int, fared outcome, why string) {
	why = "no more was tried"
	for step, next := 64, 64; next <= mostClients && step > clients/10; {
		in := sizes(next)
		o := simulate(m, in, uint64(next))
		if reason := overload(m, len(in), o); reason != "" {
			why = reason
			step /= 2
		} else {
			clients, projects, fared = next, len(in), o
			if why == "no more was tried" {
				step = next
			}
		}
		next = clients + step
	}
	return clients, projects, fared, why
}

// overload returns why a server with so many projects, which fared so, has too many clients.
func overload(m machine, projects int, o outcome) string {
	switch {
	case projects > config.MaxProjects:
		return fmt.Sprintf("it may have %d projects", config.MaxProjects)
	case o.busy > maxBusy && float64(o.workers+1)*m.figures.worker > m.memory:
		return "memory: workers are ended and started again"
	case o.busy > maxBusy:
		return "the processors are busy"
	case o.slowest > maxWait:
		return "calls wait for each other"
	}
	return ""
}

// fullest returns how many times the mean of the clients the fullest of servers has, with projects placed in the order of their creation.
func fullest(sizes []int, servers int) float64 {
	clients, all := make([]int, servers), 0
	for i, size := range sizes {
		clients[i%servers] += size
		all += size
	}
	return float64(slices.Max(clients)) * float64(servers) / float64(all)
}

func ceil(x float64) int { return int(math.Ceil(x)) }

func ms(d time.Duration) string { return fmt.Sprintf("%.1f ms", float64(d.Microseconds())/1000) }
func kib(bytes float64) string  { return fmt.Sprintf("%.0f KiB", bytes/(1<<10)) }
func mib(bytes float64) string  { return fmt.Sprintf("%.0f MiB", bytes/(1<<20)) }
