package budget

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"
)

// waiter is a request that waits. Without an account it is a call that only waits until older requests are granted.
type waiter struct {
	call    Call
	account *Account
	bytes   int64
	starts  bool    // whether the request is for the start of a worker
	lines   []*line // of the principals whose calls the request is for
	since   time.Time
	done    chan error // capacity 1
}

// line is a principal with requests that wait.
type line struct {
	principal string
	turn      uint64 // value of Budget.turns after its last turn, or when it began to wait
}

// holdsBack reports whether newer calls do not begin: a call that runs needs memory, or the start of a worker has waited for long.
func (w *waiter) holdsBack() bool { return !w.starts || time.Since(w.since) >= turnTime }

// await adds a waiter and returns when its request is granted or has failed. The caller holds the lock, which await releases.
func (b *Budget) await(ctx context.Context, w *waiter) error {
	w.since, w.done = time.Now(), make(chan error, 1)
	i, _ := slices.BinarySearchFunc(b.waiters, w.call.Age, func(w *waiter, age uint64) int { return cmp.Compare(w.call.Age, age) })
	b.waiters = slices.Insert(b.waiters, i, w)
	b.join(w, w.call.Principal)
	if o := w.call.Others; o != nil && w.starts {
		for _, principal := range o.principals {
			b.join(w, principal)
		}
		o.start = w
	}
	if w.grows() {
		w.account.waiting++
	}
	b.settle()
	b.mu.Unlock()
	select {
	case err := <-w.done:
		return err
	default:
	}
	timeout := time.NewTimer(w.call.Patience)
	defer timeout.Stop()
	var err error
	select {
	case err := <-w.done:
		return err
	case <-timeout.C:
		err = w.refusal()
	case <-ctx.Done():
		err = ctx.Err()
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	select {
	case granted := <-w.done: // the request was granted or refused before this goroutine got the lock
		return granted
	default:
	}
	b.end(w, err)
	b.settle()
	return <-w.done
}

// join adds a principal to those whose calls a request is for.
func (b *Budget) join(w *waiter, principal string) {
	if l := b.line(principal); !slices.Contains(w.lines, l) {
		w.lines = append(w.lines, l)
	}
}

// line returns the line of a principal: that of its requests that wait, or a new one, whose turn is the last one.
func (b *Budget) line(principal string) *line {
	for _, w := range b.waiters {
		for _, l := range w.lines {
			if l.principal == principal {
				return l
			}
		}
	}
	return &line{principal: principal, turn: b.turns}
}

// next returns the request that is granted next.
func (b *Budget) next() (found *waiter) {
	for _, w := range b.waiters {
		if w.grows() {
			return w
		}
		if found == nil || w.first().turn < found.first().turn {
			found = w
		}
	}
	return found
}

// first returns the line of the request that has its turn first.
func (w *waiter) first() *line {
	return slices.MinFunc(w.lines, func(x, y *line) int { return cmp.Compare(x.turn, y.turn) })
}

// grows reports whether the request is for more credit of a worker.
func (w *waiter) grows() bool { return w.account != nil && !w.starts }

func (w *waiter) refusal() error {
	if w.call.Wrote {
		return ErrRefused
	}
	return ErrBusy
}

// end removes a waiter and tells it the outcome.
func (b *Budget) end(w *waiter, outcome error) {
	i := slices.Index(b.waiters, w)
	b.waiters = slices.Delete(b.waiters, i, i+1)
	if w.grows() {
		w.account.waiting--
	}
	if w.call.Others != nil {
		w.call.Others.start = nil
	}
	w.done <- outcome
}

// grant ends a request that fits.
func (b *Budget) grant(w *waiter) {
	if a := w.account; a != nil {
		if w.bytes > a.limit-a.credit { // other calls of the worker got credit while this one waited
			b.end(w, ErrLimit)
			return
		}
		b.accounts[a] = struct{}{}
		a.add(w.bytes)
	}
	if !w.grows() {
		b.turns++
		w.first().turn = b.turns
	}
	b.end(w, nil)
}

// fits reports whether a request can be granted now. The only call of the only worker that is not suspended gets more than the budget,
// because no other call could free memory.
func (b *Budget) fits(w *waiter) bool {
	if w.account == nil || b.credit+w.bytes <= b.total {
		return true
	}
	others := b.credit - w.account.credit
	for a := range b.accounts {
		if a != w.account && a.isSuspended() {
			others -= a.credit
		}
	}
	return others == 0 && w.isAlone()
}

// isAlone reports whether the request is of the only call of its worker.
func (w *waiter) isAlone() bool { return w.account.worker == nil || w.account.worker.Active() <= 1 }

// settle grants the requests that fit, and makes room for the others. It is called after each change.
func (b *Budget) settle() {
	for len(b.waiters) > 0 {
		first := b.next()
		switch {
		case b.fits(first):
			b.grant(first)
		case b.awaitsReturns(), b.evict(first), b.progresses():
			return
		default:
			b.breakDeadlock()
		}
	}
	b.relax()
}

// breakDeadlock is called when all calls that have begun wait. It grants the oldest of their requests that fits, or else refuses the
// newest one of the principal with most.
func (b *Budget) breakDeadlock() {
	requests := map[string]int{}
	for _, w := range b.waiters {
		switch {
		case w.account == nil:
		case b.fits(w):
			b.grant(w)
			return
		default:
			requests[w.call.Principal]++
		}
	}
	var victim *waiter
	for _, w := range b.waiters {
		if w.account != nil && (victim == nil || victim.call.Wrote && !w.call.Wrote ||
			victim.call.Wrote == w.call.Wrote && requests[victim.call.Principal] <= requests[w.call.Principal]) {
			victim = w
		}
	}
	b.end(victim, victim.refusal()) // the next waiter has an account, or it would not wait
}

// progresses reports whether memory may become free without further action: a worker starts or ends, or a call runs that does not wait.
func (b *Budget) progresses() bool {
	for a := range b.accounts {
		if a.ending || a.worker == nil && a.waiting == 0 || a.worker != nil && a.worker.Active() > a.waiting+a.nesting {
			return true
		}
	}
	return false
}

// awaitsReturns tells the workers that memory is short, unless they know it, and reports whether some of them have still to answer.
func (b *Budget) awaitsReturns() bool {
	if b.relaxing != nil {
		b.relaxing.Stop()
		b.relaxing = nil
	}
	if !b.short {
		b.short, b.asked = true, time.Now()
		for a := range b.accounts {
			a.answered = false
			if a.worker != nil {
				a.worker.Tell(true)
			}
		}
	}
	left := returnTime - time.Since(b.asked)
	if left <= 0 {
		return false
	}
	for a := range b.accounts {
		if !a.answered && a.worker != nil && a.worker.Active() > a.waiting {
			b.retry(left)
			return true
		}
	}
	return false
}

// retry calls settle later.
func (b *Budget) retry(after time.Duration) {
	if b.retrying != nil {
		return
	}
	b.retrying = time.AfterFunc(after, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.retrying = nil
		b.settle()
	})
}

// relax tells the workers after a while that memory is not short any more.
func (b *Budget) relax() {
	if !b.short || b.relaxing != nil {
		return
	}
	var timer *time.Timer
	timer = time.AfterFunc(shortTime, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.relaxing != timer {
			return // a request waits again
		}
		b.short, b.relaxing = false, nil
		for a := range b.accounts {
			if a.worker != nil {
				a.worker.Tell(false)
			}
		}
	})
	b.relaxing = timer
}

// evict ends idle workers, least recently used first, if that makes room for first, the next request. It makes room for as many requests as
// all idle workers together can. It reports whether workers are ending that make room.
func (b *Budget) evict(first *waiter) bool {
	free, busy := b.total-b.credit, b.credit // busy: the credit of workers that do not end
	var idle []*Account
	room := free
	for a := range b.accounts {
		switch {
		case a.ending:
			free += a.credit
			room += a.credit
			busy -= a.credit
		case a.isIdle():
			idle = append(idle, a)
			room += a.credit
			busy -= a.credit
		case a != first.account && a.isSuspended():
			busy -= a.credit // it does not prevent first from getting more than the budget
		}
	}
	need := first.bytes
	if need > room {
		if busy > first.account.credit || !first.isAlone() {
			return false // the memory of idle workers does not suffice
		}
		need = b.total // the first request gets more than the budget, and so the worker must be the only one that is not suspended
	} else {
		for _, w := range b.waiters {
			if w != first && need+w.bytes > room {
				break
			}
			if w != first {
				need += w.bytes
			}
		}
	}
	slices.SortFunc(idle, func(x, y *Account) int { return cmp.Compare(x.used, y.used) })
	for _, a := range idle {
		if free >= need {
			break
		}
		if !a.worker.Evict(fmt.Sprintf("%d requests wait for memory", len(b.waiters))) {
			b.retry(retryTime)
			continue
		}
		a.ending = true
		free += a.credit
	}
	return b.retrying != nil || free > b.total-b.credit
}
