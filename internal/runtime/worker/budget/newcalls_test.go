package budget

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// While a plugin has calls without a pause, the start of another plugin's worker must not wait for ever.
func TestNewCallsWaitForStarvedStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(100 * mib)
		x := open(t, b, 80*mib)
		x.active.Store(1)
		c := begin(t, b)
		var started *Account
		go func() { started, _ = b.Open(t.Context(), c, 50*mib, 50*mib) }()
		synctest.Wait()
		begin(t, b) // does not wait yet
		time.Sleep(turnTime)
		entered := false
		go func() {
			begin(t, b)
			entered = true
		}()
		synctest.Wait()
		if entered || started != nil {
			t.Fatal("a new call overtook a start that has waited for long")
		}
		x.leave()
		synctest.Wait()
		if x.evicted() != 1 {
			t.Fatal("the worker that became idle was not evicted")
		}
		x.account.Close()
		synctest.Wait()
		if !entered || started == nil {
			t.Error("the start or the new call still waits")
		}
	})
}

// A call that runs and needs memory gets what becomes free before new calls do.
func TestNewCallsWaitForRunningCallThatNeedsMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(100 * mib)
		x, y := open(t, b, 50*mib), open(t, b, 50*mib)
		x.active.Store(1)
		y.active.Store(1)
		needs := x.grow(t, Call{}, 10*mib)
		var err error
		entered := false
		go func() {
			_, err = b.Begin(t.Context(), Call{Patience: time.Hour})
			entered = true
		}()
		synctest.Wait()
		if entered {
			t.Error("a new call begins while a running one waits for memory")
		}
		if _, err := b.Begin(t.Context(), Call{Patience: time.Second}); !errors.Is(err, ErrBusy) {
			t.Errorf("got %v for a call without patience", err)
		}
		if err := y.account.Return(10 * mib); err != nil {
			t.Fatal(err)
		}
		needs.want(t, "the running call", true, nil)
		if !entered || err != nil {
			t.Errorf("the new call still waits, or failed: %v", err)
		}
	})
}
