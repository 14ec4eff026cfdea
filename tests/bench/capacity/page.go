package main

import (
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
)

// render returns what the page says of the figures.
func render(f figures, progress io.Writer) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Made by `just capacity` on %s/%s with %d processors.\n\n", runtime.GOOS, runtime.GOARCH, runtime.NumCPU())
	b.WriteString("| measured | |\n| --- | --- |\n")
	for _, row := range []struct{ what, value string }{
		{"processor time of a call that needs no project (`get_current_time`)", ms(f.stateless)},
		{"of a read in a project (`read_text_file`)", ms(f.read)},
		{"of a write (`write_file`)", ms(f.write)},
		{"of the first call in a project, which starts a worker", ms(f.first)},
		{"from one write in a project to the next, with 16 that wait", ms(f.oneWrite)},
		{"memory of a server with one project, without calls", mib(f.base)},
		{"for each further project without calls", kib(f.project)},
		{"for each session of versions before 2026-07-28, with its stream", kib(f.session)},
		{"for each worker, so for each plugin that a project uses", mib(f.worker)},
		{"what a worker has of `[server] memory`", mib(f.credit)},
	} {
		fmt.Fprintf(&b, "| %s | %s |\n", row.what, row.value)
	}
	carried := renderServers(&b, f, progress)
	renderNeeds(&b, f, carried)
	return b.String()
}

// renderServers writes what one server carries, and returns the clients that each machine does, by its name.
func renderServers(b *strings.Builder, f figures, progress io.Writer) map[string]int {
	fmt.Fprintf(b, "\n### What one server carries\n\nA server of projects, simulated: the most clients with which it is busy for at most %.0f %% of the time, and 99 of 100 calls wait for others for less\n"+
		"than %d ms, and at most %.0f of 100 calls start a worker, which takes %d ms of a processor. The pod of the manifests requests %d processor, and has %d GiB for workers.\n\n",
		maxBusy*100, maxWait.Milliseconds(), maxStarts*100, f.first.Milliseconds(), podProcessors, podMemory>>30)
	b.WriteString("| processors, `[server] memory` | clients | projects | busy | 99 of 100 calls wait less than | workers at once | calls that start one | what ends it |\n| --- | --- | --- | --- | --- | --- | --- | --- |\n")
	carried := map[string]int{}
	var pod string
	for _, m := range machines(f) {
		clients, projects, o, why := most(m, func(n int) []int { return population(n, rand.New(rand.NewPCG(7, uint64(n)))) })
		carried[m.name] = clients
		if pod == "" {
			pod = fmt.Sprintf("A shard of the manifests therefore has room for about %s projects with %s clients in all, of which a tenth work at a time.", grouped(projects), grouped(clients))
		}
		fmt.Fprintf(progress, "%s: %d clients\n", m.name, clients)
		fmt.Fprintf(b, "| %s | %s | %s | %.0f %% | %s | %d | %.0f %% | %s |\n", m.name, grouped(clients), grouped(projects), o.busy*100, ms(o.wait99), o.workers, o.starts*100, why)
	}
	b.WriteString("\nWhere memory ends it, workers are ended for others, and the next call of theirs starts one again. With one processor, two starts at once already keep others waiting.\n")
	i := slices.IndexFunc(machines(f), func(m machine) bool { return m.name == usual })
	one, _, o, why := most(machines(f)[i], func(n int) []int { return []int{n} })
	fmt.Fprintf(b, "\n%s\n\nOne project alone, which only one server can have, with %s: %s clients (busy %.0f %%, 99 of 100 calls wait less than %s; then %s). A project whose clients\n"+
		"only write could have %.0f writes a second for each plugin.\n\n", pod, usual, grouped(one), o.busy*100, ms(o.wait99), why, 1/f.oneWrite.Seconds())
	calls := float64(carried[usual]) * workingShare / gap.Seconds() * statelessShare
	fmt.Fprintf(b, "A server that has the calls without a project, too, carries as many clients: those calls take %.1f %% of the processors' time (%s).\n\n", calls*f.stateless.Seconds()/float64(machines(f)[i].processors)*100, usual)
	fmt.Fprintf(b, "A server has room for %d entries of clients of versions before 2026-07-28, whatever its size: %.0f %% of them keep a stream open, and a server has %d streams. A client has %d entries, %d of them at servers\n"+
		"of projects. So one server for everything has room for %d such clients, a replica for %d, and a server of projects for %d.\n",
		legacyEntries(), streamShare*100, maxStreams, projectsOpen+1, projectsOpen, legacyEntries()/(projectsOpen+1), legacyEntries(), legacyEntries()/projectsOpen)
	return carried
}

// renderNeeds writes what a number of clients needs.
func renderNeeds(b *strings.Builder, f figures, carried map[string]int) {
	b.WriteString("\n### What clients need\n\nReplicas are for calls without a project, at least two; servers are those of projects, the shards. The last column is the least number of them,\n" +
		"of any size, if all clients are of versions before 2026-07-28.\n\n")
	fmt.Fprintf(b, "| clients | at work | calls a second | projects | largest | pods of the manifests: replicas, servers | %s: replicas, servers | the fullest of these | for older clients: replicas, servers |\n"+
		"| --- | --- | --- | --- | --- | --- | --- | --- | --- |\n", usual)
	for _, clients := range []int{100, 300, 1000, 10_000, 1_000_000} {
		sizes := population(clients, rand.New(rand.NewPCG(7, uint64(clients))))
		calls := float64(clients) * workingShare / gap.Seconds()
		entries := func(endpoints int) int { return ceil(float64(clients*endpoints) / float64(legacyEntries())) }
		var needs []string
		servers := 0
		for _, m := range machines(f) {
			if m.processors == podProcessors || m.name == usual {
				replicas := max(2, ceil(calls*statelessShare*f.stateless.Seconds()/(float64(m.processors)*maxBusy)))
				servers = max(1, ceil(float64(clients)/float64(max(carried[m.name], 1))), ceil(float64(len(sizes))/config.MaxProjects))
				needs = append(needs, grouped(replicas)+", "+grouped(servers))
			}
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s | %s clients | %s | %.1f × the mean | %s, %s |\n", grouped(clients), grouped(ceil(float64(clients)*workingShare)), grouped(ceil(calls)), grouped(len(sizes)),
			grouped(slices.Max(sizes)), strings.Join(needs, " | "), fullest(sizes, servers), grouped(max(2, entries(1))), grouped(entries(projectsOpen)))
	}
}

// legacyEntries returns the most entries of clients of versions before 2026-07-28 that a server has streams and sessions for. Those without a
// stream have a session while they work.
func legacyEntries() int {
	sessions := streamShare + (1-streamShare)*workingShare
	return int(min(maxStreams/streamShare, maxSessions/sessions))
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
	short := float64(o.workers+1)*m.figures.credit > m.memory
	switch {
	case projects > config.MaxProjects:
		return fmt.Sprintf("it may have %d projects", config.MaxProjects)
	case short && (o.busy > maxBusy || o.wait99 > maxWait || o.starts > maxStarts):
		return "memory: workers are ended and started again"
	case o.busy > maxBusy:
		return "the processors are busy"
	case o.wait99 > maxWait:
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

// grouped formats a number as pages do: 10,000.
func grouped(n int) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%s,%03d", grouped(n/1000), n%1000)
}

func ms(d time.Duration) string { return fmt.Sprintf("%.1f ms", float64(d.Microseconds())/1000) }
func kib(bytes float64) string  { return fmt.Sprintf("%.0f KiB", bytes/(1<<10)) }
func mib(bytes float64) string  { return fmt.Sprintf("%.0f MiB", bytes/(1<<20)) }
