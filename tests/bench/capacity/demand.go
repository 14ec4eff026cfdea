package main

import (
	"math"
	"math/rand/v2"
	"sort"
	"time"
)

// The habits of clients. docs/capacity.md names each of them.
const (
	workingShare   = 0.1              // of the clients, at the busiest time
	workFor        = 10 * time.Minute // how long a client works on average, before it pauses
	gap            = 5 * time.Second  // between two calls of a client that works, on average
	statelessShare = 0.5              // of the calls
	writeShare     = 0.1              // of the calls in projects
	pluginsUsed    = 2                // plugins that a project uses
	sizeExponent   = 1.5              // of the distribution of the clients of a project, a power law
	largestProject = 5000             // clients
	projectsOpen   = 2                // projects that a client has an entry for, of which it works in one; beside the entry of the endpoint without a project
	streamShare    = 0.9              // of the entries of clients of versions before 2026-07-28: with a stream of GET, which keeps their session while they pause
)

// population returns the clients of each project, in random order. Their sizes are evenly spaced quantiles of the distribution, since a few random
// sizes of a power law say little of others.
func population(clients int, random *rand.Rand) []int {
	sizes := func(projects int) (sizes []int, sum int) {
		for i := range projects {
			size := min(int(math.Pow((float64(i)+0.5)/float64(projects), -1/sizeExponent)), largestProject, clients)
			sizes = append(sizes, size)
			sum += size
		}
		return sizes, sum
	}
	projects := sort.Search(clients, func(n int) bool { _, sum := sizes(n + 1); return sum >= clients }) + 1
	all, sum := sizes(projects)
	all[0] -= sum - clients // the largest one
	random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all
}

// figures are what `go test -bench Capacity` has measured.
type figures struct {
	stateless, read, write, first time.Duration // processor time of a call; first: of the first call, which starts a worker
	oneWrite                      time.Duration // from one write in a project to the next
	base, session, project        float64       // bytes
	worker                        float64       // bytes that a worker uses
	credit                        float64       // bytes of [server] memory that it has
}

// machine is one server.
type machine struct {
	name       string
	processors int
	memory     float64 // of [server], for workers
	figures    figures
}
