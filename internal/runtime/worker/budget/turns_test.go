package budget

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"
)

// holder is a worker whose calls run for ever.
type holder struct{}

func (holder) Active() int       { return 1 }
func (holder) Evict(string) bool { return false }
func (holder) Tell(bool)         {}

// requests are those of several principals to a Budget of which a worker has all memory.
type requests struct {
	t       *testing.T
	b       *Budget
	account *Account // of that worker
	waiting []*request
}

// request is a request for 1 MiB to start a worker, or to begin.
type request struct {
	principals []string
	starts     bool
	others     Others
	cancel     context.CancelFunc
	done       bool
	err        error
	passed     map[*request]bool // requests that were granted while this one was the first of one of its principals
}

func newRequests(t *testing.T) *requests {
	b := New(1000 * mib)
	a, err := b.Open(t.Context(), begin(t, b), 1000*mib, 1000*mib)
	if err != nil {
		t.Fatal(err)
	}
	a.Serve(holder{})
	return &requests{t: t, b: b, account: a}
}

func (s *requests) add(principal string, starts bool) *request {
	ctx, cancel := context.WithCancel(s.t.Context())
	r := &request{principals: []string{principal}, starts: starts, cancel: cancel, passed: map[*request]bool{}}
	c := Call{Principal: principal, Patience: time.Hour}
	s.waiting = append(s.waiting, r)
	if starts { // the call began before any request waited
		s.b.mu.Lock()
		s.b.calls++
		c.Age, c.Others = s.b.calls, &r.others
		s.b.mu.Unlock()
	}
	go func() {
		if starts {
			_, r.err = s.b.Open(ctx, c, mib, mib)
		} else {
			_, r.err = s.b.Begin(ctx, c)
		}
		r.done = true
	}()
	synctest.Wait()
	return r
}

// free returns memory for a number of starts.
func (s *requests) free(starts int64) {
	if err := s.account.Return(starts * mib); err != nil {
		s.t.Fatal(err)
	}
	synctest.Wait()
}

// isFirst reports whether a request is the oldest one of one of its principals.
func (s *requests) isFirst(r *request) bool {
	return slices.ContainsFunc(r.principals, func(principal string) bool {
		return r == s.waiting[slices.IndexFunc(s.waiting, func(other *request) bool { return slices.Contains(other.principals, principal) })]
	})
}

// shares reports whether calls of one principal make both requests.
func (r *request) shares(other *request) bool {
	return slices.ContainsFunc(r.principals, func(p string) bool { return slices.Contains(other.principals, p) })
}

// settle removes the requests that have ended, and notes by which ones others were passed. first are those that were the first of a principal.
func (s *requests) settle(first []*request) {
	var granted []*request
	for _, r := range s.waiting {
		if r.done && r.err == nil {
			granted = append(granted, r)
		}
	}
	s.waiting = slices.DeleteFunc(s.waiting, func(r *request) bool { return r.done })
	for _, other := range granted {
		for _, r := range s.waiting {
			if r.shares(other) {
				clear(r.passed) // it may have been the turn of a principal of r
			} else if slices.Contains(first, r) {
				r.passed[other] = true
			}
		}
	}
}

// FuzzTurns adds, joins and cancels requests of several principals in any order, and frees memory for some: while a request is the first
// of a principal, no other principal gets more than one turn.
func FuzzTurns(f *testing.F) {
	f.Add([]byte{0, 0, 0, 16, 3, 3, 3, 3})
	f.Add([]byte{0, 0, 16, 33, 1, 17, 3, 2, 3, 7, 3, 3, 3})
	f.Add([]byte{0, 0, 0, 0, 16, 20, 36, 3, 3, 32, 3, 3, 3, 3})
	f.Fuzz(func(t *testing.T, events []byte) {
		synctest.Test(t, func(t *testing.T) {
			s := newRequests(t)
			const principals = 4
			shared := false
			s.add("0", true)
			time.Sleep(turnTime) // from now on, no call begins out of turn
			for _, event := range events[:min(len(events), 100)] {
				first := slices.DeleteFunc(slices.Clone(s.waiting), func(r *request) bool { return !s.isFirst(r) })
				principal, n := strconv.Itoa(int(event>>4)%principals), int(event>>2)
				switch kind := event & 3; {
				case kind == 0:
					if r := s.add(principal, event&4 == 0); r.done { // not out of turn: no request was held back
						s.waiting = s.waiting[:len(s.waiting)-1]
					}
				case kind == 3:
					s.free(1)
				case len(s.waiting) == 0:
				case kind == 1:
					s.waiting[n%len(s.waiting)].cancel()
				case s.waiting[n%len(s.waiting)].starts:
					r := s.waiting[n%len(s.waiting)]
					s.b.Join(&r.others, principal)
					r.principals, shared = append(r.principals, principal), true
				}
				synctest.Wait()
				s.settle(first)
				for _, r := range first {
					turns := map[string]int{}
					for other := range r.passed {
						turns[other.principals[0]]++
					}
					if len(r.passed) >= principals {
						t.Fatalf("after %v: %d requests were granted before the first one of %v", events, len(r.passed), r.principals)
					}
					for principal, n := range turns {
						if n > 1 && !shared {
							t.Fatalf("after %v: %d requests of %s were granted before the first one of %v", events, n, principal, r.principals)
						}
					}
				}
			}
			for len(s.waiting) > 0 { // nothing is forgotten
				before := len(s.waiting)
				s.free(1)
				s.settle(nil)
				if len(s.waiting) == before {
					t.Fatalf("after %v: memory was freed, and %d requests wait", events, before)
				}
			}
			time.Sleep(2 * shortTime) // let the timers end
		})
	})
}

// TestPrincipalsTakeTurns makes a thousand requests of one principal, and then one of another.
func TestPrincipalsTakeTurns(t *testing.T) {
	for name, starts := range map[string]bool{"the start of a worker": true, "a call that begins": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newRequests(t)
				for range 900 {
					s.add("many", true)
				}
				time.Sleep(turnTime)
				other := s.add("other", starts)
				if other.done {
					t.Fatal("the request does not wait")
				}
				s.free(2)
				if !other.done || other.err != nil {
					t.Errorf("after two workers could be started, the request waits, or failed: %v", other.err)
				}
				for _, r := range s.waiting {
					r.cancel()
				}
				time.Sleep(2 * shortTime)
			})
		})
	}
}

// TestStartHasTurnsOfAllWhoWait makes a call of another principal wait for the last of many starts.
func TestStartHasTurnsOfAllWhoWait(t *testing.T) {
	for _, before := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			s := newRequests(t)
			for range 100 {
				s.add("many", true)
			}
			last := s.add("many", true)
			if before { // the call waits before the start needs memory
				last.cancel()
				synctest.Wait()
				last = &request{}
				s.b.Join(&last.others, "other")
				go func() {
					_, last.err = s.b.Open(t.Context(), Call{Age: 1 << 30, Principal: "many", Patience: time.Hour, Others: &last.others}, mib, mib)
					last.done = true
				}()
				synctest.Wait()
			} else {
				s.b.Join(&last.others, "other")
			}
			s.free(2)
			if !last.done || last.err != nil {
				t.Errorf("after two workers could be started, that of both principals was not, or failed: %v", last.err)
			}
			for _, r := range s.waiting {
				r.cancel()
			}
			time.Sleep(2 * shortTime)
		})
	}
}

// TestDeadlockEndsCallOfPrincipalWithMost makes a call of a principal the newest of those that wait for memory: those of a principal that
// has most of it end first.
func TestDeadlockEndsCallOfPrincipalWithMost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(100 * mib)
		x, y := open(t, b, 60*mib), open(t, b, 40*mib)
		x.active.Store(3)
		y.active.Store(1)
		x.grow(t, Call{Principal: "many"}, 10*mib)
		x.grow(t, Call{Principal: "many"}, 10*mib)
		newest := x.grow(t, Call{Principal: "many"}, 10*mib)
		other := y.grow(t, Call{Principal: "other"}, 10*mib)
		newest.want(t, "the newest call of the principal with three", true, ErrBusy)
		other.want(t, "the only call of another one, which is the newest of all", false, nil)
		if err := x.account.Return(30 * mib); err != nil {
			t.Fatal(err)
		}
		other.want(t, "after memory was returned", true, nil)
		if errors.Is(other.err, ErrBusy) {
			t.Error("the call failed")
		}
		time.Sleep(2 * shortTime)
	})
}
