package budget

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
)

// hostile runs calls of workers that ask for any numbers, keep or return what they like, do not answer, and end at any time. Their calls
// have time limits, as the host enforces them.
type hostile struct {
	t       *testing.T
	b       *Budget
	largest int64 // the largest size of the budget so far
}

// number returns a number of bytes that an attacker may choose.
func number() int64 {
	return rand.N[int64](4*mib) + []int64{-2 * mib, 0, 0, 0, 10 * mib, 100 * mib, 1 << 40, math.MaxInt64 - 4*mib}[rand.IntN(8)]
}

// request makes a request and checks that it ends within its patience, or with its context.
func (h *hostile) request(c Call, run func(ctx context.Context) error) {
	ctx, cancel := context.WithCancel(h.t.Context())
	defer cancel()
	if rand.IntN(4) == 0 {
		time.AfterFunc(rand.N(2*time.Second), cancel)
	}
	began := time.Now()
	err := run(ctx)
	if waited := time.Since(began); waited > max(0, c.Patience) {
		h.t.Errorf("a request with a patience of %v waited for %v", c.Patience, waited)
	}
	if err != nil && !slices.ContainsFunc([]error{ErrBusy, ErrRefused, ErrLimit, context.Canceled}, func(e error) bool { return errors.Is(err, e) }) {
		h.t.Error(err)
	}
	h.check()
}

// worker runs a worker and its calls.
func (h *hostile) worker() {
	patience := rand.N(3 * time.Second)
	c := Call{Patience: patience, Principal: strconv.Itoa(rand.IntN(3))}
	if rand.IntN(2) == 0 {
		c.Others = &Others{}
		h.b.Join(c.Others, strconv.Itoa(rand.IntN(3)))
		time.AfterFunc(rand.N(3*time.Second), func() { h.b.Join(c.Others, strconv.Itoa(rand.IntN(3))) })
	}
	h.request(c, func(ctx context.Context) (err error) {
		c, err = h.b.Begin(ctx, c)
		return err
	})
	w := &fakeWorker{}
	h.request(c, func(ctx context.Context) (err error) {
		w.account, err = h.b.Open(ctx, c, (1+rand.Int64N(10))*mib, (11+rand.Int64N(200))*mib)
		if err != nil {
			w.account = nil
		}
		return err
	})
	if w.account == nil {
		return
	}
	w.stuck.Store(rand.IntN(3) == 0)
	w.account.Serve(w)
	ended := make(chan struct{})
	time.AfterFunc(rand.N(4*time.Second), func() {
		w.account.Close()
		close(ended)
	})
	var calls sync.WaitGroup
	for range 1 + rand.IntN(4) {
		calls.Go(func() { h.calls(w, patience) })
	}
	calls.Wait()
	<-ended
}

func (h *hostile) calls(w *fakeWorker, patience time.Duration) {
	for range 4 {
		c := Call{Patience: patience}
		h.request(c, func(ctx context.Context) (err error) {
			c, err = h.b.Begin(ctx, c)
			return err
		})
		w.active.Add(1)
		for range rand.IntN(5) {
			switch c.Wrote = c.Wrote || rand.IntN(4) == 0; rand.IntN(3) {
			case 0:
				h.request(c, func(ctx context.Context) error {
					got, err := w.account.Grow(ctx, c, number())
					if got < 0 {
						h.t.Errorf("got %d bytes", got)
					}
					return err
				})
			case 1:
				if err := w.account.Return(number()); err != nil && !errors.Is(err, ErrReturn) {
					h.t.Error(err)
				}
			default:
				time.Sleep(rand.N(500 * time.Millisecond))
			}
			h.check()
		}
		w.leave()
	}
}

// check checks what holds whatever workers do.
func (h *hostile) check() {
	h.b.mu.Lock()
	defer h.b.mu.Unlock()
	var sum int64
	with := 0 // accounts with credit
	for a := range h.b.accounts {
		if a.credit < 0 || a.credit > a.limit || a.waiting < 0 {
			h.t.Errorf("a worker with the limit %d has a credit of %d and %d requests that wait", a.limit, a.credit, a.waiting)
		}
		if sum += a.credit; a.credit > 0 {
			with++
		}
	}
	if sum != h.b.credit || sum > h.largest && with > 1 {
		h.t.Errorf("%d workers have %d bytes, counted as %d, of a budget of %d", with, sum, h.b.credit, h.largest)
	}
}

// Whatever workers ask for, keep and return, no request waits longer than its patience, the credit of all of them is within the budget, and
// all of it is free when they have ended.
func TestHostileWorkersKeepToBudget(t *testing.T) {
	for range testenv.Count(5, 30, 300) {
		synctest.Test(t, func(t *testing.T) {
			h := &hostile{t: t, largest: (20 + rand.Int64N(200)) * mib}
			h.b = New(h.largest)
			var all sync.WaitGroup
			for range 1 + rand.IntN(20) {
				all.Go(func() {
					for range 5 {
						h.worker()
					}
				})
			}
			all.Go(func() {
				for range 10 {
					time.Sleep(rand.N(time.Second))
					h.b.SetTotal(1 + rand.Int64N(h.largest))
				}
			})
			all.Wait()
			if credit, waiting := h.b.Credit(), h.b.Waiting(); credit != 0 || waiting != 0 {
				t.Errorf("no worker is left, and %d bytes are in use; %d requests wait", credit, waiting)
			}
			time.Sleep(2 * shortTime) // let the timers end
			if h.b.retrying != nil || h.b.relaxing != nil || h.b.short {
				t.Error("a timer is still set, or memory still short")
			}
		})
	}
}

// The numbers in requests are those of an untrusted worker.
func TestGrowRefusesAnyNumberAboveLimit(t *testing.T) {
	b := New(64 * mib)
	a, err := b.Open(t.Context(), begin(t, b), 10*mib, 40*mib)
	if err != nil {
		t.Fatal(err)
	}
	a.Serve(&fakeWorker{account: a})
	for _, bytes := range []int64{30*mib + 1, 31 * mib, 1 << 40, math.MaxInt64 - Chunk, math.MaxInt64 - MinChunk, math.MaxInt64 - 1, math.MaxInt64} {
		if got, err := a.Grow(t.Context(), Call{}, bytes); !errors.Is(err, ErrLimit) || b.Credit() != 10*mib {
			t.Errorf("a request of %d bytes: got %d, %v; the workers have %d", bytes, got, err, b.Credit())
		}
	}
	for _, bytes := range []int64{-1, math.MinInt64, 10*mib + 1, math.MaxInt64} {
		if err := a.Return(bytes); !errors.Is(err, ErrReturn) || b.Credit() != 10*mib {
			t.Errorf("a return of %d bytes: %v; the workers have %d", bytes, err, b.Credit())
		}
	}
}

// Each of several requests that wait is within the limit, but not all of them together.
func TestWaitingRequestsKeepToLimitOfWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(100 * mib)
		other, w := open(t, b, 90*mib), &fakeWorker{}
		a, err := b.Open(t.Context(), begin(t, b), 10*mib, 40*mib)
		if err != nil {
			t.Fatal(err)
		}
		w.account = a
		a.Serve(w)
		w.active.Store(2)
		other.active.Store(1)
		first, second := w.grow(t, Call{}, 30*mib), w.grow(t, Call{}, 30*mib)
		other.account.Close()
		first.want(t, "the first request", true, nil)
		second.want(t, "the second request", true, ErrLimit)
		if got, limit := a.Bound(); got != limit {
			t.Errorf("the worker has %d bytes of %d", got, limit)
		}
		time.Sleep(2 * shortTime) // let the timers end
	})
}
