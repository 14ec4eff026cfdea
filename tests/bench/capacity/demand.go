package main

import (
	"math"
	"math/rand/v2"
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
)

// population returns the clients of each project, until there are clients in all.
func population(clients int, random *rand.Rand) (sizes []int) {
	for clients > 0 {
		size := int(math.Pow(1-random.Float64(), -1/sizeExponent))
		size = min(size, largestProject, clients)
		sizes = append(sizes, size)
		clients -= size
	}
	return sizes
}

// figures are what `go test -bench Capacity` has measured.
type figures struct {
	stateless, read, write, first time.Duration // processor time of a call; first: of the first call, which starts a worker
	oneWrite                      time.Duration // from one write in a project to the next
	base, session, project        float64       // bytes
	worker                        float64       // bytes
}

// machine is one server.
type machine struct {
	processors int
	memory     float64 // of [server], for workers
	figures    figures
}
