package dispatch

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

func TestSlotGoesToTheEarliestRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slots{free: 1, limit: 1}
		if err := s.acquire(t.Context(), 1, time.Minute); err != nil {
			t.Fatal(err)
		}
		var got []uint64
		for _, number := range []uint64{4, 2, 3} {
			go func() {
				if err := s.acquire(t.Context(), number, time.Minute); err != nil {
					t.Error(err)
				}
				got = append(got, number)
				s.release()
			}()
			synctest.Wait()
		}
		s.release()
		synctest.Wait()
		if want := []uint64{2, 3, 4}; !slices.Equal(got, want) {
			t.Errorf("slots went to %v, want %v", got, want)
		}
		if s.free != 1 || len(s.waiting) != 0 {
			t.Errorf("%d slots are free and %d calls wait, want 1 and 0", s.free, len(s.waiting))
		}
	})
}

func TestSlotsForgetCancelledWaiters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slots{}
		if err := s.acquire(t.Context(), 1, time.Minute); !errors.Is(err, errNoSlot) {
			t.Errorf("got %v after the time to wait, want %v", err, errNoSlot)
		}
		canceled, cancel := context.WithCancel(t.Context())
		cancel()
		if err := s.acquire(canceled, 2, time.Minute); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v from a cancelled wait, want %v", err, context.Canceled)
		}
		s.release()
		if s.free != 1 || len(s.waiting) != 0 {
			t.Errorf("%d slots are free and %d calls wait, want 1 and 0", s.free, len(s.waiting))
		}
	})
}

// TestSlotGrantedWhileWaiterGivesUpIsKept grants a slot to a waiter after the waiter's time is over and before the waiter withdraws.
func TestSlotGrantedWhileWaiterGivesUpIsKept(t *testing.T) {
	s := &slots{}
	w := s.enqueue(1)
	s.release()
	if s.withdraw(w) {
		t.Error("a waiter that has a slot was withdrawn, and the slot is lost")
	}
	if w = s.enqueue(2); !s.withdraw(w) || len(s.waiting) > 0 {
		t.Error("a waiter without a slot could not be withdrawn")
	}
}
