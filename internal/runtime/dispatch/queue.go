package dispatch

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// queue orders the calls of one lane and bounds how many run, or have an answer that is not yet written: each of them holds a slot. A call
// that writes runs alone. The calls of one principal have the same effect as calls made one at a time, although reads run concurrently: a
// call that reads runs after the writes that the principal requested before it, a call that writes after all its earlier calls.
//
// Principals take turns: the next call is the first one of the principal whose last turn was the longest ago. A call that writes keeps its turn
// while calls run, and no other call begins. So a call that is the first of its principal waits for at most one call of each other principal;
// with concurrent reads, which take turns of their own, for two. Tasks, which take minutes, leave one slot to other calls.
type queue struct {
	mu              sync.Mutex
	concurrentReads bool // whether reads are not ordered: see manifest.ReadsConcurrent
	limit           int  // number of slots
	free            int  // number of free slots; negative if more calls run than a reduced limit allows
	share           int  // most calls of one principal that run; 0: as many as there are slots
	lines           []*line
	clock           uint64 // number of turns so far
	looseFirst      bool   // whether a call that is not ordered is the next one, if there are both

	reads, writes int // ordered calls that run
	tasks         int // tasks that hold a slot
	unordered     int // calls in the queue that are not ordered
	turned        time.Time
}

// line is the calls of one principal, in the order of its requests.
type line struct {
	principal      string
	first, last    *place
	running        int    // calls that were started and have not left
	ordered, loose uint64 // when the line had its last turn, by the clock of the queue, for calls that are ordered and for others
}

// place is the place of a call in a queue.
type place struct {
	queue         *queue
	line          *line
	write         bool
	ordered       bool
	task          bool // set before start
	before, after *place

	asked   bool          // the call waits for its start
	started bool          // the call runs, or has run
	since   time.Time     // when the call began to wait
	ready   chan struct{} // closed when the call is started; nil if the call did not have to wait
}

var errNoSlot = errors.New("none of the plugin's slots became free in time")

// configure sets concurrentReads for calls that enter later.
func (q *queue) configure(concurrentReads bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.concurrentReads = concurrentReads
}

// resize sets the number of slots to limit.
func (q *queue) resize(limit int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.free, q.limit = q.free+limit-q.limit, limit
	q.startNext()
}

// enter adds a call of a principal at the place p. The caller must call p.leave later.
func (q *queue) enter(p *place, principal string, write bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	l := q.lineOf(principal)
	*p = place{queue: q, line: l, write: write, ordered: write || !q.concurrentReads, before: l.last}
	if l.last == nil {
		l.first = p
	} else {
		l.last.after = p
	}
	l.last = p
	if !p.ordered {
		q.unordered++
	}
}

// lineOf returns the line of a principal. One empty line is kept, so that a single principal does not need a new one for each call.
func (q *queue) lineOf(principal string) *line {
	for _, l := range q.lines {
		if l.principal == principal {
			return l
		}
	}
	if len(q.lines) == 1 && q.lines[0].first == nil {
		q.lines[0].principal, q.lines[0].ordered, q.lines[0].loose = principal, q.clock, q.clock
		return q.lines[0]
	}
	l := &line{principal: principal, ordered: q.clock, loose: q.clock} // its turn is the last one
	q.lines = append(q.lines, l)
	return l
}

// start returns when the call may run and has a slot, which the caller must release later. If ctx ends first, start returns its error. If
// nothing but a slot has been missing for the duration patience, start returns errNoSlot.
func (p *place) start(ctx context.Context, patience time.Duration) error {
	q := p.queue
	if q.ask(p) {
		return nil
	}
	timeout := time.NewTimer(patience)
	defer timeout.Stop()
	for {
		var err error
		select {
		case <-p.ready:
			return nil
		case <-ctx.Done():
			err = ctx.Err()
		case now := <-timeout.C:
			if left := q.patienceLeft(p, patience, now); left > 0 {
				timeout.Reset(left)
				continue
			}
			err = errNoSlot
		}
		if q.withdraw(p) {
			return err
		}
		return nil
	}
}

// ask reports whether the call was started. If not, p.ready is closed when it is.
func (q *queue) ask(p *place) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	p.asked = true
	q.startNext()
	if !p.started {
		p.ready, p.since = make(chan struct{}), time.Now()
	}
	return p.started
}

// withdraw states that the call does not wait any more. It returns false if the call was started.
func (q *queue) withdraw(p *place) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	p.asked = false
	q.startNext()
	return !p.started
}

// patienceLeft returns how much longer the call may wait for a slot. The time during which its order lets it not run does not count.
func (q *queue) patienceLeft(p *place, patience time.Duration, now time.Time) time.Duration {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.hasSlot(p) || !p.isNext() || p.ordered && !q.allows(p) {
		return patience
	}
	since := p.since
	if q.turned.After(since) {
		since = q.turned
	}
	return patience - now.Sub(since)
}

// length returns the number of calls that wait for their start, of those that run, and of slots.
func (q *queue) length() (waiting, running, slots int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, l := range q.lines {
		for p := l.first; p != nil; p = p.after {
			switch {
			case p.started:
				running++
			case p.asked:
				waiting++
			}
		}
	}
	return waiting, running, q.limit
}

// leave removes the call from the queue, whether or not the call has run.
func (p *place) leave() {
	q := p.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	if p.before == nil {
		p.line.first = p.after
	} else {
		p.before.after = p.after
	}
	if p.after == nil {
		p.line.last = p.before
	} else {
		p.after.before = p.before
	}
	if p.started {
		p.line.running--
	}
	switch {
	case !p.ordered:
		q.unordered--
	case p.started && p.write:
		q.writes--
	case p.started:
		q.reads--
	}
	if p.started && q.reads+q.writes == 0 {
		q.turned = time.Now()
	}
	if p.line.first == nil && len(q.lines) > 1 {
		i := slices.Index(q.lines, p.line)
		q.lines = slices.Delete(q.lines, i, i+1)
	}
	q.startNext()
}

// release returns the slot of the call.
func (p *place) release() {
	q := p.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	q.free++
	if p.task {
		q.tasks--
	}
	q.startNext()
}

// startNext starts calls while slots are free.
func (q *queue) startNext() {
	for q.free > 0 {
		p := q.pick()
		if p == nil {
			return
		}
		q.free--
		q.clock++
		p.started = true
		p.line.running++
		if p.task {
			q.tasks++
		}
		switch {
		case !p.ordered:
			p.line.loose = q.clock
		case p.write:
			p.line.ordered = q.clock
			q.writes++
		default:
			p.line.ordered = q.clock
			q.reads++
		}
		q.looseFirst = p.ordered
		if p.ready != nil {
			close(p.ready)
		}
	}
}

// pick returns the call that is started next; nil if none can be started.
func (q *queue) pick() *place {
	ordered, loose := q.longestWaiting(true), (*place)(nil)
	if ordered != nil && !q.allows(ordered) {
		ordered = nil // it keeps its turn until those that run have ended
	}
	if q.unordered > 0 {
		loose = q.longestWaiting(false)
	}
	if ordered == nil || loose != nil && q.looseFirst {
		return loose
	}
	return ordered
}

// longestWaiting returns the first call of the line whose last turn was the longest ago, of those that have calls that wait; nil if none has.
func (q *queue) longestWaiting(ordered bool) (found *place) {
	var since uint64
	for _, l := range q.lines {
		turn := l.loose
		if ordered {
			turn = l.ordered
		}
		if found != nil && since <= turn {
			continue
		}
		if p := l.next(ordered); p != nil {
			found, since = p, turn
		}
	}
	return found
}

// allows reports whether an ordered call may run beside those that run.
func (q *queue) allows(p *place) bool { return q.writes == 0 && (!p.write || q.reads == 0) }

// hasSlot reports whether one of the free slots is for the call.
func (q *queue) hasSlot(p *place) bool {
	return q.free > 0 && (!p.task || q.limit == 1 || q.tasks < q.limit-1) && (q.share == 0 || p.line.running < q.share)
}

// next returns the first call that waits for its start, for which there is a slot, and that the earlier calls of its principal let run: an
// ordered one, or one that is not.
func (l *line) next(ordered bool) *place {
	any := false // whether there are earlier ordered calls, which are then reads
	for p := l.first; p != nil; p = p.after {
		if p.asked && !p.started && p.ordered == ordered && !(p.write && any) && p.queue.hasSlot(p) {
			return p
		}
		if ordered && p.write {
			return nil
		}
		any = any || p.ordered
	}
	return nil
}

// isNext reports whether the earlier calls of its principal let the call run.
func (p *place) isNext() bool {
	for b := p.before; b != nil && p.ordered; b = b.before {
		if b.ordered && (p.write || b.write) {
			return false
		}
	}
	return true
}
