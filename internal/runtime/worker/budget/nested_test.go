package budget

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// suspend starts a worker with bytes of credit, whose only call waits for other calls.
func suspend(t *testing.T, b *Budget, bytes int64) *fakeWorker {
	t.Helper()
	w := open(t, b, bytes)
	w.active.Store(1)
	w.account.Suspend()
	return w
}

// closeWhenEvicted closes the account of a worker when it is evicted, as a process that ends does.
func closeWhenEvicted(t *testing.T, w *fakeWorker) {
	t.Helper()
	go func() {
		for w.evicted() == 0 && t.Context().Err() == nil {
			time.Sleep(time.Millisecond)
		}
		w.account.Close()
	}()
}

// A call that waits for its nested call holds the memory that this one needs: without an exception both would wait for ever.
func TestNestedCallGetsMemoryThatOnlySuspendedCallsHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(100 * mib)
		suspend(t, b, 90*mib)
		idle := open(t, b, 5*mib)
		closeWhenEvicted(t, idle)
		began := time.Now()
		nested := open(t, b, 50*mib)
		if waited := time.Since(began); waited >= time.Minute {
			t.Errorf("the nested call waited %s", waited)
		}
		if idle.evicted() == 0 {
			t.Error("an idle worker keeps memory while the budget is exceeded")
		}
		nested.active.Store(1)
		closeWhenEvicted(t, nested)
		var second *fakeWorker
		go func() { second = open(t, b, 10*mib) }()
		synctest.Wait()
		if second != nil {
			t.Error("two workers get memory beyond the budget at the same time")
		}
		nested.leave()
		synctest.Wait()
		time.Sleep(time.Second)
		if second == nil || b.Credit() != 100*mib {
			t.Error("the next nested call gets no memory after the first one has ended")
		}
	})
}

// Suspended calls free no memory, so a request that waits only for them is refused at once, not after its patience.
func TestSuspendedCallsDoNotCountAsProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(100 * mib)
		suspend(t, b, 60*mib)
		w := open(t, b, 35*mib)
		w.active.Store(2)
		began := time.Now()
		c := begin(t, b)
		c.Patience = time.Hour
		results := make(chan error, 2)
		for range 2 {
			go func() { _, err := w.account.Grow(t.Context(), c, 20*mib); results <- err }()
		}
		if err := <-results; !errors.Is(err, ErrBusy) {
			t.Errorf("got %v", err)
		}
		if waited := time.Since(began); waited > time.Minute {
			t.Errorf("a request waited %s for calls that free no memory", waited)
		}
		w.leave()
		<-results
	})
}
