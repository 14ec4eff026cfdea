package dispatch

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
)

// line is a queue together with the tickets of its calls, keyed by the calls' names.
type line struct {
	queue   queue
	tickets map[string]ticket
}

// step performs an event: "+r1" adds the reading call r1, "+w2" adds the writing call w2, "-r1" removes r1.
func (l *line) step(event string) {
	name := event[1:]
	if event[0] == '-' {
		l.tickets[name].leave()
		delete(l.tickets, name)
		return
	}
	l.tickets[name] = l.queue.enter(name[0] == 'w')
}

// running returns the names of the calls that may run, sorted.
func (l *line) running() []string {
	var names []string
	for name, ticket := range l.tickets {
		select {
		case <-ticket.turn.ready:
			names = append(names, name)
		default:
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
		"reads on both sides of a write that gave up, one by one":  {"+r1 +w2 +r3 -w2", "r1"},
		"the later of them after the earlier":                      {"+r1 +w2 +r3 -w2 -r1", "r3"},
		"the other reads of a turn that one of them left":          {"+w1 +r2 +r3 -r2 -w1", "r3"},
		"a read in a turn that all others left":                    {"+w1 +r2 -r2 +r3 -w1", "r3"},
		"a new call after all that waited gave up":                 {"+w1 +r2 +w3 -r2 -w3 -w1 +w4", "w4"},
		"a new call behind the running one when others gave up":    {"+w1 +r2 +w3 -r2 -w3 +w4", "w1"},
		"a call in a queue that has run empty":                     {"+r1 -r1 +w2", "w2"},
		"reads that join those that run, when one of them is over": {"+r1 +r2 -r1 +r3", "r2 r3"},
	} {
		t.Run(name, func(t *testing.T) {
			l := &line{tickets: map[string]ticket{}}
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
	q := queue{concurrentReads: true}
	write, read, next := q.enter(true), q.enter(false), q.enter(true)
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	if err := read.wait(canceled); err != nil {
		t.Errorf("a read waits for a write: %v", err)
	}
	if err := next.wait(canceled); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v from a write requested after another, want %v", err, context.Canceled)
	}
	write.leave()
	if err := next.wait(t.Context()); err != nil {
		t.Errorf("a write waits for a read: %v", err)
	}
	read.leave()
	next.leave()
	if q.first != nil {
		t.Error("the queue is not empty after all calls left")
	}
}

func TestTicketWaits(t *testing.T) {
	var q queue
	first, second := q.enter(true), q.enter(true)
	if err := first.wait(t.Context()); err != nil {
		t.Error(err)
	}
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	if err := second.wait(canceled); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v from a cancelled wait", err)
	}
	waited := make(chan error)
	go func() { waited <- second.wait(t.Context()) }()
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

// FuzzQueue adds and removes calls in any order. It checks that a call may run if the queue is not empty, that a write runs alone, that
// no later call overtakes a write, and that no write overtakes an earlier call.
func FuzzQueue(f *testing.F) {
	f.Add([]byte{0, 1, 0, 3, 2})
	f.Add([]byte{1, 1, 1, 7, 2, 2})
	f.Add([]byte{1, 0, 0, 6, 1, 2, 2, 2})
	f.Fuzz(func(t *testing.T, events []byte) {
		var q queue
		type entry struct {
			ticket
			write bool
		}
		var open []entry // calls in the queue, in the order in which they entered
		for _, event := range events[:min(len(events), 100)] {
			switch kind := event & 3; {
			case kind < 2:
				open = append(open, entry{q.enter(kind == 1), kind == 1})
			case len(open) > 0:
				i := int(event>>2) % len(open)
				open[i].leave()
				open = slices.Delete(open, i, i+1)
			}
			running := 0
			for i, e := range open {
				select {
				case <-e.turn.ready:
					running++
				default:
					continue
				}
				for _, earlier := range open[:i] {
					if e.write || earlier.write {
						t.Fatalf("after %v: call %d runs with an earlier one, and one of them writes", events, i)
					}
				}
			}
			if running == 0 && len(open) > 0 {
				t.Fatalf("after %v: %d calls wait, although none runs", events, len(open))
			}
		}
	})
}
