package dispatch

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// calls is a queue together with the places of its calls, keyed by the calls' names. Each call waits for its start.
type calls struct {
	queue  queue
	places map[string]*place
}

// newCalls returns a queue with enough slots.
func newCalls() *calls {
	return &calls{queue: queue{limit: 1000, free: 1000}, places: map[string]*place{}}
}

// step performs an event: "+r1" adds the reading call r1, "+w2" adds the writing call w2, "-r1" removes r1.
func (l *calls) step(event string) {
	name := event[1:]
	if event[0] == '-' {
		l.places[name].leave()
		delete(l.places, name)
		return
	}
	l.enter(name, "", name[0] == 'w')
}

// enter adds a call of a principal, which waits for its start.
func (l *calls) enter(name, principal string, write bool) {
	l.places[name] = &place{}
	l.queue.enter(l.places[name], principal, write)
	l.queue.ask(l.places[name])
}

// running returns the names of the calls that may run, sorted.
func (l *calls) running() []string {
	var names []string
	for name, place := range l.places {
		if place.started {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func TestQueueLetsRun(t *testing.T) {
	for name, c := range map[string]struct{ events, running string }{
		"reads side by side":                                       {"+r1 +r2 +r3", "r1 r2 r3"},
		"a write alone":                                            {"+w1 +w2 +w3", "w1"},
		"a write after the reads before it":                        {"+r1 +r2 +w3 -r1", "r2"},
		"a write once the reads before it are over":                {"+r1 +r2 +w3 -r1 -r2", "w3"},
		"writes in their order":                                    {"+w1 +w2 +w3 -w1", "w2"},
		"a read behind the write before it":                        {"+w1 +r2", "w1"},
		"all the reads behind a write once it is over":             {"+w1 +r2 +r3 -w1", "r2 r3"},
		"a read not before a write that waits":                     {"+r1 +w2 +r3", "r1"},
		"the read behind that write after it":                      {"+r1 +w2 +r3 -r1 -w2", "r3"},
		"nobody sooner for a waiting write that gave up":           {"+w1 +w2 +w3 -w2", "w1"},
		"who comes behind one that gave up":                        {"+w1 +w2 +w3 -w2 -w1", "w3"},
		"reads on both sides of a write that gave up":              {"+r1 +w2 +r3 -w2", "r1 r3"},
		"the later of them after the earlier":                      {"+r1 +w2 +r3 -w2 -r1", "r3"},
		"the other reads of a turn that one of them left":          {"+w1 +r2 +r3 -r2 -w1", "r3"},
		"a read in a turn that all others left":                    {"+w1 +r2 -r2 +r3 -w1", "r3"},
		"a new call after all that waited gave up":                 {"+w1 +r2 +w3 -r2 -w3 -w1 +w4", "w4"},
		"a new call behind the running one when others gave up":    {"+w1 +r2 +w3 -r2 -w3 +w4", "w1"},
		"a call in a queue that has run empty":                     {"+r1 -r1 +w2", "w2"},
		"reads that join those that run, when one of them is over": {"+r1 +r2 -r1 +r3", "r2 r3"},
	} {
		t.Run(name, func(t *testing.T) {
			l := newCalls()
			for _, event := range strings.Fields(c.events) {
				l.step(event)
			}
			if got := strings.Join(l.running(), " "); got != c.running {
				t.Errorf("after %s: %s may run, want %s", c.events, got, c.running)
			}
		})
	}
}

func TestQueueWithConcurrentReadsOrdersWritesOnly(t *testing.T) {
	l := newCalls()
	l.queue.configure(true)
	for _, event := range []string{"+w1", "+r2", "+w3", "+r4"} {
		l.step(event)
	}
	if got := strings.Join(l.running(), " "); got != "r2 r4 w1" {
		t.Errorf("%s run, want reads beside a write", got)
	}
	l.step("-w1")
	if got := strings.Join(l.running(), " "); got != "r2 r4 w3" {
		t.Errorf("%s run, want a write beside reads", got)
	}
	for _, event := range []string{"-r2", "-w3", "-r4"} {
		l.step(event)
	}
	if len(l.queue.lines) != 1 || l.queue.lines[0].first != nil || l.queue.unordered != 0 {
		t.Error("the queue is not empty after all calls left")
	}
}

func TestCallWaitsForItsStart(t *testing.T) {
	q := queue{limit: 9, free: 9}
	var first, second place
	q.enter(&first, "", true)
	q.enter(&second, "", true)
	if err := first.start(t.Context(), time.Minute); err != nil {
		t.Error(err)
	}
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	if err := second.start(canceled, time.Minute); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v from a cancelled wait", err)
	}
	waited := make(chan error)
	go func() { waited <- second.start(t.Context(), time.Minute) }()
	select {
	case <-waited:
		t.Error("the second write did not wait")
	default:
	}
	first.leave()
	if err := <-waited; err != nil {
		t.Error(err)
	}
}

// TestPatienceIsForSlotsOnly checks that the time during which a call's order lets it not run does not count.
func TestPatienceIsForSlotsOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := queue{limit: 1, free: 1}
		var write, read, other place
		for _, p := range []*place{&write, &read, &other} {
			q.enter(p, "", p == &write)
		}
		if err := write.start(t.Context(), time.Minute); err != nil {
			t.Fatal(err)
		}
		begun := time.Now()
		failed := make(chan error, 2)
		go func() { failed <- read.start(t.Context(), time.Minute) }()
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		if len(failed) > 0 {
			t.Fatalf("a read behind a write ended after %v: %v", time.Since(begun), <-failed)
		}
		write.leave() // but keeps its slot
		begun = time.Now()
		if err := <-failed; !errors.Is(err, errNoSlot) || time.Since(begun) != time.Minute {
			t.Errorf("got %v after %v", err, time.Since(begun))
		}
		write.release()
		if err := other.start(t.Context(), time.Minute); err != nil {
			t.Error(err)
		}
	})
}

// TestPrincipalsTakeTurns queues a thousand calls of one principal, and then one of another, of each kind.
func TestPrincipalsTakeTurns(t *testing.T) {
	for name, c := range map[string]struct {
		concurrent, writes, write bool
		slots, most               int // calls that may be started before that of the other principal
	}{
		"a write behind writes":          {writes: true, write: true, slots: 8, most: 1},
		"a read behind writes":           {writes: true, slots: 8, most: 1},
		"a write behind reads":           {write: true, slots: 8, most: 1},
		"a read behind reads":            {slots: 8, most: 1},
		"a read behind reads, one slot":  {slots: 1, most: 1},
		"concurrent reads":               {concurrent: true, slots: 4, most: 2},
		"a write behind these":           {concurrent: true, write: true, slots: 4, most: 2},
		"a concurrent read behind write": {concurrent: true, writes: true, slots: 1, most: 2},
	} {
		t.Run(name, func(t *testing.T) {
			l := newCalls()
			l.queue = queue{limit: c.slots, free: c.slots, concurrentReads: c.concurrent}
			var running, all []*place
			for i := range 1000 {
				l.enter(strconv.Itoa(i), "many", c.writes)
				all = append(all, l.places[strconv.Itoa(i)])
			}
			l.enter("other", "other", c.write)
			other := l.places["other"]
			started := func() (n int) {
				for _, p := range all {
					if p.started {
						n++
					}
				}
				return n
			}
			before := started()
			for i := 0; !other.started; i++ {
				if i == len(all) {
					t.Fatal("the call was not started")
				}
				all[i].leave()
				all[i].release()
				running = append(running, all[i])
			}
			if n := started() - before; n > c.most {
				t.Errorf("%d calls of the first principal were started before, want at most %d; %d ended", n, c.most, len(running))
			}
		})
	}
}

// FuzzQueue adds, starts and removes calls of several principals in any order, with a model of what may run: the calls of one principal
// have the effect of calls made one at a time, a write runs alone, slots are not exceeded, something runs if it can, and no principal waits
// for more than one call of each other principal, of those that take turns with it.
func FuzzQueue(f *testing.F) {
	f.Add([]byte{0, 1, 0, 3, 2}, uint8(1), false)
	f.Add([]byte{1, 1, 1, 7, 2, 2}, uint8(2), true)
	f.Add([]byte{1, 0, 16, 33, 4, 6, 1, 2, 2, 18, 35, 2}, uint8(3), false)
	f.Fuzz(func(t *testing.T, events []byte, slots uint8, concurrent bool) {
		limit := int(slots%4) + 1
		q := queue{limit: limit, free: limit, concurrentReads: concurrent}
		type entry struct {
			*place
			principal string
			write     bool
			passed    map[string]int // calls of others that were started while this one was the first that could be
			was       bool           // whether it was started at the last look
			first     bool           // whether it was the first one of its principal that waits, and could run, before the last event
		}
		var open []*entry // calls in the queue, in the order in which they entered
		// earliest reports whether a call's own earlier calls let it run.
		earliest := func(i int) bool {
			for _, earlier := range open[:i] {
				if earlier.principal != open[i].principal || concurrent && !(earlier.write && open[i].write) {
					continue
				}
				if earlier.write || open[i].write {
					return false
				}
			}
			return true
		}
		for _, event := range events[:min(len(events), 200)] {
			for i, e := range open {
				e.first = !e.started && earliest(i) && !slices.ContainsFunc(open[:i], func(o *entry) bool { return !o.started && o.principal == e.principal })
			}
			switch kind, principal := event&3, strconv.Itoa(int(event>>4)%3); {
			case kind < 2:
				e := &entry{place: &place{}, principal: principal, write: kind == 1, passed: map[string]int{}}
				q.enter(e.place, principal, e.write)
				open = append(open, e)
				q.ask(e.place)
			case len(open) > 0:
				i := int(event>>2) % len(open)
				e := open[i]
				started := e.started
				e.leave()
				open = slices.Delete(open, i, i+1)
				if started {
					e.release()
				}
			}
			running, writes, reads := 0, 0, 0
			for _, e := range open {
				if e.started {
					running++
					if e.write {
						writes++
					} else if !concurrent {
						reads++
					}
				}
			}
			if running > limit || writes > 1 || writes > 0 && reads > 0 {
				t.Fatalf("after %v: %d calls run, %d of them write, with %d slots", events, running, writes, limit)
			}
			waiting := 0
			for i, e := range open {
				if e.started && !earliest(i) {
					t.Fatalf("after %v: call %d runs before an earlier one of its principal", events, i)
				}
				if !e.started {
					waiting++
				}
			}
			if running == 0 && waiting > 0 {
				t.Fatalf("after %v: %d calls wait, although none runs", events, waiting)
			}
			for _, e := range open {
				if !e.started || e.was {
					continue
				}
				e.was = true
				for j, other := range open {
					if other.started || other.principal == e.principal || other.ordered != e.ordered || !other.first {
						continue
					}
					if other.passed[e.principal]++; other.passed[e.principal] > 1 {
						t.Fatalf("after %v: call %d waits for more than one call of principal %s", events, j, e.principal)
					}
				}
			}
		}
	})
}
