package budget

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

const mib = 1 << 20

// fakeWorker is a worker whose calls the test counts. Its calls hold what they got until the test gives it back.
type fakeWorker struct {
	account *Account
	active  atomic.Int32
	ended   atomic.Int32
	mu      sync.Mutex
	short   []bool
	stuck   atomic.Bool // whether it cannot be evicted now
}

func (w *fakeWorker) Active() int { return int(w.active.Load()) }

func (w *fakeWorker) Evict(string) bool {
	if w.stuck.Load() || w.Active() > 0 {
		return false
	}
	w.ended.Add(1)
	return true
}

func (w *fakeWorker) Tell(short bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.short = append(w.short, short)
}

// told returns the arguments of the calls of Tell.
func (w *fakeWorker) told() []bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.short)
}

// evicted returns how often the worker was ended.
func (w *fakeWorker) evicted() int { return int(w.ended.Load()) }

// leave ends a call.
func (w *fakeWorker) leave() {
	w.active.Add(-1)
	w.account.Left()
}

// open starts a worker with bytes of credit.
func open(t *testing.T, b *Budget, bytes int64) *fakeWorker {
	t.Helper()
	a, err := b.Open(t.Context(), begin(t, b), bytes, 1<<40)
	if err != nil {
		t.Fatal(err)
	}
	w := &fakeWorker{account: a}
	a.Serve(w)
	return w
}

func begin(t *testing.T, b *Budget) Call {
	t.Helper()
	c, err := b.Begin(t.Context(), Call{Patience: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// outcome is the result of a request in another goroutine.
type outcome struct {
	done  bool
	bytes int64
	err   error
}

// grow requests credit in another goroutine.
func (w *fakeWorker) grow(t *testing.T, c Call, bytes int64) *outcome {
	t.Helper()
	o := &outcome{}
	if b := w.account.budget; c.Age == 0 { // the call began before others waited
		b.mu.Lock()
		b.calls++
		c.Age = b.calls
		b.mu.Unlock()
	}
	if c.Patience == 0 {
		c.Patience = time.Minute
	}
	go func() {
		o.bytes, o.err = w.account.Grow(t.Context(), c, bytes)
		o.done = true
	}()
	synctest.Wait()
	return o
}

func (o *outcome) want(t *testing.T, what string, done bool, err error) {
	t.Helper()
	synctest.Wait()
	if o.done != done || !errors.Is(o.err, err) {
		t.Errorf("%s: done %t with %v, want %t with %v", what, o.done, o.err, done, err)
	}
}

func TestWorkerGetsChunkUnlessMemoryIsShort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(64 * mib)
		w := open(t, b, 10*mib)
		w.active.Store(1)
		if o := w.grow(t, Call{}, 1); o.bytes != Chunk {
			t.Errorf("got %d bytes, want %d", o.bytes, Chunk)
		}
		if o := w.grow(t, Call{}, 33*mib); o.bytes != 33*mib {
			t.Errorf("got %d bytes near the end of the budget, want %d", o.bytes, 33*mib)
		}
		if got := b.Credit(); got != 59*mib {
			t.Errorf("the credit is %d MiB", got/mib)
		}
		if o := w.grow(t, Call{}, 1<<41); !errors.Is(o.err, ErrLimit) {
			t.Errorf("got %v above the worker's limit", o.err)
		}
	})
}

func TestIdleWorkersAreEvictedOnceForAllRequestsAndOnlyIfThatSuffices(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(100 * mib)
		busy := open(t, b, 40*mib)
		busy.active.Store(2)
		first, second, third := open(t, b, 20*mib), open(t, b, 20*mib), open(t, b, 20*mib)
		tooMuch := busy.grow(t, Call{}, 61*mib)
		time.Sleep(2 * returnTime)
		tooMuch.want(t, "a request for more than all idle workers have", false, nil)
		if first.evicted()+second.evicted()+third.evicted() > 0 {
			t.Error("a worker was evicted in vain")
		}
		busy.active.Store(1) // the other call has ended, so that no call can free memory
		busy.account.Left()
		tooMuch.want(t, "the only call, which is to get more than the budget", false, nil)
		if first.evicted()+second.evicted()+third.evicted() != 3 {
			t.Error("not all workers were evicted for a request that only fits without them")
		}
		for _, w := range []*fakeWorker{first, second, third} {
			w.account.Close()
		}
		tooMuch.want(t, "the only call, after the idle workers have ended", true, nil)
		_ = busy.account.Return(61 * mib)

		first, second, third = open(t, b, 20*mib), open(t, b, 20*mib), open(t, b, 20*mib)
		first.active.Store(1)
		first.leave() // the least recently used one is now the second
		busy.active.Store(3)
		busy.grow(t, Call{}, 15*mib)
		time.Sleep(2 * returnTime)
		another := busy.grow(t, Call{}, 15*mib)
		if first.evicted() != 0 || second.evicted() != 1 || third.evicted() != 1 {
			t.Errorf("evicted %d, %d and %d times; want the two least recently used ones once", first.evicted(), second.evicted(), third.evicted())
		}
		another.want(t, "before the workers have ended", false, nil)
		second.account.Close()
		third.account.Close()
		another.want(t, "after the workers have ended", true, nil)
		if second.evicted()+third.evicted() != 2 || b.Credit() > 100*mib {
			t.Errorf("%d evictions, credit of %d MiB", second.evicted()+third.evicted(), b.Credit()/mib)
		}
	})
}

func TestReturnedCreditPrecedesEviction(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(100 * mib)
		idle, busy, other := open(t, b, 30*mib), open(t, b, 40*mib), open(t, b, 30*mib)
		busy.active.Store(1)
		other.active.Store(1)
		o := busy.grow(t, Call{}, 10*mib)
		o.want(t, "before the answers", false, nil)
		if !slices.Equal(other.told(), []bool{true}) || !slices.Equal(idle.told(), []bool{true}) {
			t.Errorf("the workers were told %v and %v", other.told(), idle.told())
		}
		if err := other.account.Return(12 * mib); err != nil {
			t.Fatal(err)
		}
		o.want(t, "after the answer", true, nil)
		if idle.evicted() > 0 {
			t.Error("an idle worker was evicted, although another one returned credit")
		}
		time.Sleep(2 * shortTime)
		synctest.Wait()
		if !slices.Equal(other.told(), []bool{true, false}) {
			t.Errorf("the worker was told %v, want that memory is not short any more", other.told())
		}
		if err := other.account.Return(1 << 40); !errors.Is(err, ErrReturn) {
			t.Errorf("got %v for more than was granted", err)
		}
		if err := other.account.Return(-1); !errors.Is(err, ErrReturn) {
			t.Errorf("got %v for a negative return", err)
		}
	})
}

// A worker that does not answer, as a compromised one may, delays the eviction of idle workers only for returnTime.
func TestSilentWorkerDoesNotPreventEviction(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(100 * mib)
		idle, busy, silent := open(t, b, 30*mib), open(t, b, 40*mib), open(t, b, 30*mib)
		busy.active.Store(1)
		silent.active.Store(1)
		busy.grow(t, Call{}, 10*mib)
		if idle.evicted() > 0 {
			t.Error("a worker was evicted before the others could answer")
		}
		time.Sleep(2 * returnTime)
		synctest.Wait()
		if idle.evicted() != 1 {
			t.Errorf("the idle worker was evicted %d times", idle.evicted())
		}
	})
}

func TestWorkerThatCannotBeEvictedNowIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(100 * mib)
		idle, busy := open(t, b, 50*mib), open(t, b, 50*mib)
		idle.stuck.Store(true)
		busy.active.Store(1)
		o := busy.grow(t, Call{}, 10*mib)
		o.want(t, "while the idle worker cannot be ended", false, nil)
		idle.stuck.Store(false)
		time.Sleep(2 * retryTime)
		synctest.Wait()
		if idle.evicted() != 1 {
			t.Fatal("the worker was not tried again")
		}
		idle.account.Close()
		o.want(t, "after the idle worker has ended", true, nil)
	})
}

func TestDeadlockEndsNewestCallThatHasWrittenNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(100 * mib)
		x, y := open(t, b, 50*mib), open(t, b, 50*mib)
		x.active.Store(2)
		y.active.Store(1)
		oldest := x.grow(t, Call{}, 10*mib)
		middle := x.grow(t, Call{}, 10*mib)
		oldest.want(t, "while a call runs", false, nil)
		newest := y.grow(t, Call{Wrote: true}, 10*mib)
		middle.want(t, "the newest call that has written nothing", true, ErrBusy)
		oldest.want(t, "the oldest call", false, nil)
		newest.want(t, "the newest call, which has written something", false, nil)
		if err := x.account.Return(20 * mib); err != nil { // the memory of the call that ended
			t.Fatal(err)
		}
		x.leave()
		oldest.want(t, "after the other call has ended", true, nil)
		newest.want(t, "after the other call has ended", true, nil)

		older, newer := x.grow(t, Call{Wrote: true}, 10*mib), y.grow(t, Call{Wrote: true}, 10*mib)
		newer.want(t, "the newest of calls that have written something", true, ErrRefused)
		older.want(t, "the older one", false, nil)
	})
}

// Requests that fit are granted before a deadlock has a victim, also if an older one does not fit.
func TestDeadlockGrantsWhatFitsFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(100 * mib)
		x, y := open(t, b, 45*mib), open(t, b, 45*mib)
		x.active.Store(1)
		y.active.Store(1)
		large := x.grow(t, Call{}, 20*mib)
		small := y.grow(t, Call{}, 5*mib)
		small.want(t, "the small request", true, nil)
		large.want(t, "the large request", false, nil)
		y.leave()
		time.Sleep(2 * returnTime)
		synctest.Wait()
		if y.evicted() != 1 {
			t.Error("the worker that became idle was not evicted")
		}
		y.account.Close()
		large.want(t, "the large request", true, nil)
	})
}

func TestRequestWaitsNoLongerThanItsPatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(100 * mib)
		x, y := open(t, b, 50*mib), open(t, b, 50*mib)
		x.active.Store(2)
		y.active.Store(2) // its calls run, so there is no deadlock
		unwritten := x.grow(t, Call{Patience: time.Second}, 10*mib)
		written := x.grow(t, Call{Patience: time.Second, Wrote: true}, 10*mib)
		start := &outcome{}
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			_, start.err = b.Open(ctx, Call{Age: 100, Patience: time.Minute}, mib, mib)
			start.done = true
		}()
		time.Sleep(time.Second + time.Millisecond)
		unwritten.want(t, "a call that has written nothing", true, ErrBusy)
		written.want(t, "a call that has written something", true, ErrRefused)
		start.want(t, "a patient start", false, nil)
		cancel()
		start.want(t, "a cancelled start", true, context.Canceled)
	})
}

func TestEndedWorkerFailsItsRequestsAndFreesItsMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(100 * mib)
		x, y := open(t, b, 50*mib), open(t, b, 50*mib)
		x.active.Store(1)
		y.active.Store(2)
		lost, other := x.grow(t, Call{}, 10*mib), y.grow(t, Call{}, 10*mib)
		x.account.Close()
		x.account.Close()
		lost.want(t, "a request of the worker that ended", true, ErrBusy)
		other.want(t, "a request of another worker", true, nil)
		if got := b.Credit(); got != 60*mib && got != 66*mib {
			t.Errorf("the credit is %d MiB", got/mib)
		}
		for _, late := range []int64{0, 10 * mib} {
			if err := x.account.Return(late); err != nil || b.Credit() < 60*mib {
				t.Errorf("a late return of %d MiB: %v, credit %d MiB", late/mib, err, b.Credit()/mib)
			}
		}
	})
}
