package dispatch

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestSlotGoesToTheEarliestRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &queue{free: 1, limit: 1}
		places := make([]place, 4)
		for i := range places {
			q.enter(&places[i], "", false)
		}
		if err := places[0].start(t.Context(), time.Minute); err != nil {
			t.Fatal(err)
		}
		var got []int
		for _, number := range []int{3, 1, 2} {
			go func() {
				if err := places[number].start(t.Context(), time.Minute); err != nil {
					t.Error(err)
				}
				got = append(got, number)
				places[number].leave()
				places[number].release()
			}()
			synctest.Wait()
		}
		places[0].leave()
		places[0].release()
		synctest.Wait()
		if want := []int{1, 2, 3}; !slices.Equal(got, want) {
			t.Errorf("slots went to %v, want %v", got, want)
		}
		if q.free != 1 || q.lines[0].first != nil {
			t.Errorf("%d slots are free, want 1, and no call is left", q.free)
		}
	})
}

// Tasks run for minutes: a client that begins many of them does not keep the other calls of a plugin from running.
func TestTasksLeaveOneSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, concurrentReads := range []bool{true, false} {
			q := &queue{concurrentReads: concurrentReads, free: 3, limit: 3}
			places := make([]place, 5)
			for i := range places {
				q.enter(&places[i], "ann", false)
				places[i].task = i < 4
			}
			started := make([]atomic.Bool, len(places))
			for i := range places {
				go func() { started[i].Store(places[i].start(t.Context(), time.Hour) == nil) }()
				synctest.Wait()
			}
			for i, want := range []bool{true, true, false, false, true} {
				if started[i].Load() != want {
					t.Errorf("call %d: started %v, want %v", i, !want, want)
				}
			}
			places[4].leave()
			places[4].release()
			synctest.Wait()
			if started[2].Load() {
				t.Error("a third task has the slot of the call")
			}
			places[0].leave() // but keeps its slot until its answer is written
			synctest.Wait()
			if started[2].Load() {
				t.Error("tasks hold all slots")
			}
			places[0].release()
			synctest.Wait()
			if !started[2].Load() || started[3].Load() {
				t.Error("not exactly one more task has started after one has ended")
			}
			time.Sleep(time.Hour) // the patience of the fourth task
			synctest.Wait()
			places[3].leave()
			for _, i := range []int{1, 2} {
				places[i].leave()
				places[i].release()
			}
			if q.free != 3 || q.tasks != 0 {
				t.Errorf("%d slots are free, and %d tasks run", q.free, q.tasks)
			}
		}
		q := &queue{free: 1, limit: 1}
		p := place{}
		q.enter(&p, "ann", false)
		if p.task = true; p.start(t.Context(), time.Minute) != nil {
			t.Error("a task cannot have the only slot")
		}
	})
}

func TestSlotsForgetCancelledWaiters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &queue{}
		var first, second place
		q.enter(&first, "", false)
		q.enter(&second, "", false)
		if err := first.start(t.Context(), time.Minute); !errors.Is(err, errNoSlot) {
			t.Errorf("got %v after the time to wait, want %v", err, errNoSlot)
		}
		canceled, cancel := context.WithCancel(t.Context())
		cancel()
		if err := second.start(canceled, time.Minute); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v from a cancelled wait, want %v", err, context.Canceled)
		}
		first.release()
		if q.free != 1 {
			t.Errorf("%d slots are free, want 1", q.free)
		}
	})
}

// TestSlotGrantedWhileWaiterGivesUpIsKept grants a slot to a waiter after the waiter's time is over and before the waiter withdraws.
func TestSlotGrantedWhileWaiterGivesUpIsKept(t *testing.T) {
	q := &queue{}
	var p, other place
	q.enter(&p, "", false)
	q.enter(&other, "", false)
	q.ask(&p)
	p.release()
	if q.withdraw(&p) {
		t.Error("a waiter that has a slot was withdrawn, and the slot is lost")
	}
	if q.ask(&other); !q.withdraw(&other) || other.started {
		t.Error("a waiter without a slot could not be withdrawn")
	}
}
