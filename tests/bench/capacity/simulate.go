package main

import (
	"container/heap"
	"container/list"
	"math/rand/v2"
	"slices"
	"time"
)

// The simulated time, of which the first part starts the workers and is not counted, and how long an idle worker stays.
const (
	warmUp    = 10 * time.Minute
	simulated = 40 * time.Minute
	idleTime  = 5 * time.Minute
)

// outcome is how a server fared.
type outcome struct {
	busy    float64       // share of the processors' time
	median  time.Duration // of the time that calls wait for others
	slowest time.Duration // of the same, the 99th percentile
	starts  float64       // of workers in a minute
	workers int           // most at once
}

// event is what a client does next: call, or pause if its time is over.
type event struct {
	at, until time.Duration // until: when the client stops to work
	project   int
}

type events []event

func (e events) Len() int           { return len(e) }
func (e events) Less(i, j int) bool { return e[i].at < e[j].at }
func (e events) Swap(i, j int)      { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)        { *e = append(*e, x.(event)) }
func (e *events) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}

// lane is a plugin in a project. A write runs alone; reads run at the same time.
type lane struct {
	written, idle time.Duration // when the last write ends, when the last call ends
	worker        *list.Element // in server.workers; nil: none runs
}

// server is a simulated server.
type server struct {
	machine
	lanes   [][pluginsUsed]lane
	free    []time.Duration // when each processor is free
	workers list.List       // of *lane, the one that was used last at the front
	starts  int
	most    int
}

// simulate has the clients of projects, whose numbers are sizes, call the tools of one server. Clients work for a time and pause for
// a time; calls of a plugin in a project wait for its writes, and all for a processor. Workers without calls end after five minutes,
// or when their memory is needed, the longest idle first; the next call starts one.
func simulate(m machine, sizes []int, seed uint64) outcome {
	random := rand.New(rand.NewPCG(seed, 1))
	s := &server{machine: m, lanes: make([][pluginsUsed]lane, len(sizes)), free: make([]time.Duration, m.processors)}
	pause := time.Duration(float64(workFor) * (1 - workingShare) / workingShare)
	after := func(mean time.Duration) time.Duration { return time.Duration(random.ExpFloat64() * float64(mean)) }
	var clients events
	for project, size := range sizes {
		for range size {
			if random.Float64() < workingShare {
				clients = append(clients, event{after(gap), after(workFor), project})
			} else {
				clients = append(clients, pausing(after(pause), project))
			}
		}
	}
	heap.Init(&clients)
	var waits []time.Duration
	var used time.Duration
	for len(clients) > 0 && clients[0].at < simulated {
		e := &clients[0]
		switch {
		case e.until == 0: // begins to work
			e.until = e.at + after(workFor)
			e.at += after(gap)
		case e.at > e.until:
			*e = pausing(e.until+after(pause), e.project)
		default:
			if random.Float64() >= statelessShare {
				work, wait := s.call(e.at, &s.lanes[e.project][random.IntN(pluginsUsed)], random.Float64() < writeShare)
				if e.at >= warmUp {
					waits, used = append(waits, wait), used+work
				}
			}
			e.at += after(gap)
		}
		if e.at < warmUp {
			s.starts, s.most = 0, 0
		}
		heap.Fix(&clients, 0)
	}
	o := outcome{busy: used.Seconds() / (simulated - warmUp).Seconds() / float64(m.processors), starts: float64(s.starts) / (simulated - warmUp).Minutes(), workers: s.most}
	if slices.Sort(waits); len(waits) > 0 {
		o.median, o.slowest = waits[len(waits)/2], waits[len(waits)*99/100]
	}
	return o
}

func pausing(until time.Duration, project int) event { return event{at: until, project: project} }

// call simulates a call that arrives at a time. It returns its processor time, and how long it waits beside that.
func (s *server) call(at time.Duration, l *lane, writes bool) (work, wait time.Duration) {
	work = s.figures.read
	ready := max(at, l.written)
	if writes {
		work, ready = s.figures.write, max(at, l.idle)
	}
	if s.use(l, at) {
		work += s.figures.first
	}
	processor := 0
	for i, free := range s.free {
		if free < s.free[processor] {
			processor = i
		}
	}
	ready = max(ready, s.free[processor])
	end := ready + work
	s.free[processor] = end
	if writes { // the next one waits for more than the processor
		end = max(end, ready+s.figures.oneWrite)
		l.written = end
	}
	l.idle = max(l.idle, end)
	return work, ready - at
}

// use gives a lane a worker, and reports whether that must be started.
func (s *server) use(l *lane, now time.Duration) (started bool) {
	for last := s.workers.Back(); last != nil; last = s.workers.Back() {
		longest := last.Value.(*lane)
		full := l.worker == nil && float64(s.workers.Len()+1)*s.figures.worker > s.memory
		if now-longest.idle < idleTime && (!full || longest.idle > now) { // a worker that runs a call is not ended
			break
		}
		s.workers.Remove(last)
		longest.worker = nil
	}
	if l.worker != nil {
		s.workers.MoveToFront(l.worker)
		return false
	}
	l.worker = s.workers.PushFront(l)
	s.starts++
	s.most = max(s.most, s.workers.Len())
	return true
}
