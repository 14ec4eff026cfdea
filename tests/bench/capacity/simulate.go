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
	slice     = 10 * time.Millisecond // that a call has a processor, before another one that waits for it
)

// outcome is how a server fared.
type outcome struct {
	busy    float64       // share of the processors' time
	wait99  time.Duration // 99th percentile of the time that calls wait for others
	starts  float64       // share of the calls that start a worker
	workers int           // most at once
}

// event is what a client does next: call, or pause if its time is over; or what happens to a call that runs.
type event struct {
	at, until time.Duration // until: when the client stops to work
	project   int
	call      *call // nil: the event is of a client
}

type events []*event

func (e events) Len() int           { return len(e) }
func (e events) Less(i, j int) bool { return e[i].at < e[j].at }
func (e events) Swap(i, j int)      { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)        { *e = append(*e, x.(*event)) }
func (e *events) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}

// lane is a plugin in a project. A write runs alone; reads run at the same time. Calls begin in the order in which they arrive.
type lane struct {
	waiting []*call
	running int
	writes  bool          // the running call is a write
	idle    time.Duration // when the last call ended
	worker  *list.Element // in server.workers; nil: none runs
}

// call is a call in a lane.
type call struct {
	lane    *lane
	arrived time.Duration
	writes  bool
	left    time.Duration // of its processor time, once it has begun
	pause   time.Duration // that a write keeps others from its lane after that
	needs   time.Duration // what it would take alone
}

// server is a simulated server.
type server struct {
	machine
	next    events
	lanes   [][pluginsUsed]lane
	free    []time.Duration // when each processor is free
	workers list.List       // of *lane, the one that was used last at the front
	starts  int
	most    int
	used    time.Duration   // of the processors
	waits   []time.Duration // of calls
}

// simulate has the clients of projects, whose numbers are sizes, call the tools of one server. Clients work for a time and pause for
// a time; calls of a plugin in a project wait for its writes, and all for a processor. Workers without calls end after five minutes,
// or when their memory is needed, the longest idle first; the next call starts one.
func simulate(m machine, sizes []int, seed uint64) outcome {
	random := rand.New(rand.NewPCG(seed, 1))
	s := &server{machine: m, lanes: make([][pluginsUsed]lane, len(sizes)), free: make([]time.Duration, m.processors)}
	pause := time.Duration(float64(workFor) * (1 - workingShare) / workingShare)
	after := func(mean time.Duration) time.Duration { return time.Duration(random.ExpFloat64() * float64(mean)) }
	for project, size := range sizes {
		for range size {
			if random.Float64() < workingShare {
				s.next = append(s.next, &event{at: after(gap), until: after(workFor), project: project})
			} else {
				s.next = append(s.next, &event{at: after(pause), project: project})
			}
		}
	}
	heap.Init(&s.next)
	for s.next[0].at < simulated {
		e := s.next[0]
		if e.at < warmUp {
			s.starts, s.most = 0, s.workers.Len()
		}
		switch {
		case e.call != nil:
			heap.Pop(&s.next)
			s.goOn(e.at, e.call)
			continue
		case e.until == 0: // begins to work
			e.until = e.at + after(workFor)
			e.at += after(gap)
		case e.at > e.until:
			e.at, e.until = e.until+after(pause), 0
		default:
			if random.Float64() >= statelessShare {
				l := &s.lanes[e.project][random.IntN(pluginsUsed)]
				l.waiting = append(l.waiting, &call{lane: l, arrived: e.at, writes: random.Float64() < writeShare})
				s.begin(e.at, l)
			}
			e.at += after(gap)
		}
		heap.Fix(&s.next, 0) // what was added is later than e was
	}
	o := outcome{busy: s.used.Seconds() / (simulated - warmUp).Seconds() / float64(m.processors), workers: s.most}
	if slices.Sort(s.waits); len(s.waits) > 0 {
		o.starts = float64(s.starts) / float64(len(s.waits))
		o.wait99 = s.waits[len(s.waits)*99/100]
	}
	return o
}

// begin has the calls of a lane begin that need not wait for others of it.
func (s *server) begin(now time.Duration, l *lane) {
	for len(l.waiting) > 0 && (l.running == 0 || !l.writes && !l.waiting[0].writes) {
		c := l.waiting[0]
		l.waiting = l.waiting[1:]
		c.left = s.figures.read
		if c.writes {
			c.left = s.figures.write
			c.pause = max(0, s.figures.oneWrite-s.figures.write)
		}
		if s.use(l, now) {
			c.left += s.figures.first
		}
		c.needs = c.left + c.pause
		if now >= warmUp {
			s.used += c.left
		}
		l.running++
		l.writes = c.writes
		s.goOn(now, c)
	}
}

// goOn gives a call a slice of the processor that is free first, or ends it.
func (s *server) goOn(now time.Duration, c *call) {
	switch {
	case c.left > 0:
		processor := 0
		for i, free := range s.free {
			if free < s.free[processor] {
				processor = i
			}
		}
		part := min(c.left, slice)
		c.left -= part
		now = max(now, s.free[processor]) + part
		s.free[processor] = now
		heap.Push(&s.next, &event{at: now, call: c})
	case c.pause > 0:
		heap.Push(&s.next, &event{at: now + c.pause, call: c})
		c.pause = 0
	default:
		if c.arrived >= warmUp {
			s.waits = append(s.waits, now-c.arrived-c.needs)
		}
		c.lane.running--
		c.lane.idle = now
		s.begin(now, c.lane)
	}
}

// use gives a lane a worker, and reports whether that must be started.
func (s *server) use(l *lane, now time.Duration) (started bool) {
	for last := s.workers.Back(); last != nil; last = s.workers.Back() {
		longest := last.Value.(*lane)
		full := l.worker == nil && float64(s.workers.Len()+1)*s.figures.credit > s.memory
		if longest.running > 0 || now-longest.idle < idleTime && !full { // a worker that runs a call is not ended
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
