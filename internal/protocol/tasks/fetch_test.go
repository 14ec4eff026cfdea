package tasks

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestUnreadPayloadsAreBounded has an owner fetch large payloads without reading the responses: the memory that they take is bounded, and other
// owners fetch theirs.
func TestUnreadPayloadsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var f fetches
		begin := func(owner Owner, size int64) func() {
			t.Helper()
			end, err := f.begin(t.Context(), owner, size)
			if err != nil {
				t.Fatal(err)
			}
			return end
		}
		first := begin(ann, maxPayload)
		second := begin(ann, maxPayload)
		begin(ann, smallPayload)()
		if _, err := f.begin(t.Context(), ann, maxPayload); !errors.Is(err, ErrBusy) {
			t.Errorf("a third large payload of one owner: %v", err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := f.begin(ctx, ann, smallPayload+1); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("of a request that was cancelled: %v", err)
		}
		begin(bob, maxPayload)()
		time.AfterFunc(time.Second, first)
		third := begin(ann, maxPayload) // waits for the first
		second()
		third()

		var ends []func()
		for i := range maxFetched / maxPayload {
			ends = append(ends, begin(Owner(rune('a'+i)), maxPayload))
		}
		if _, err := f.begin(t.Context(), ann, smallPayload+1); !errors.Is(err, ErrBusy) {
			t.Errorf("beyond the bound of all owners: %v", err)
		}
		for _, end := range ends {
			end()
		}
		if f.all != 0 || len(f.owned) != 0 {
			t.Errorf("after all have ended: %d bytes of %v", f.all, f.owned)
		}
	})
}

// TestResultsBeyondTheBoundAreNotKept begins tasks while their owner has no results, so that all are admitted.
func TestResultsBeyondTheBoundAreNotKept(t *testing.T) {
	s, _ := newStore(t, t.TempDir())
	task, other := begin(t, s, ann, Options{Time: time.Minute, Writes: true}), begin(t, s, bob, Options{Time: time.Minute})
	s.add(entry{owner: ann, size: maxOwnedBytes - 10}, 1)
	task.End(Completed, []byte(`{"content":[]}`))
	other.End(Completed, []byte(`{"content":[]}`))
	got, err := find(s, ann, task.State().ID)
	if err != nil || got.Status != Failed || !strings.Contains(string(got.Payload), "are kept have 134217718 bytes already. It may have written something") {
		t.Errorf("%s %s, %v", got.Status, got.Payload, err)
	}
	if got := status(t, s, bob, other.State().ID); got != Completed {
		t.Errorf("a task of another owner is %s", got)
	}
}

// TestRequestsOfOneOwnerLeaveRoomForOthers begins tasks whose requests are as large as they can be, and which do not end.
func TestRequestsOfOneOwnerLeaveRoomForOthers(t *testing.T) {
	s, _ := newStore(t, t.TempDir())
	begin(t, s, ann, Options{Time: time.Minute, Size: maxOwnedRequests + 1}) // one fits in any case
	if _, err := s.Begin(ann, Options{ID: NewID(), Size: 1}); !errors.As(err, new(*FullError)) {
		t.Errorf("a further request of the owner: %v", err)
	}
	begin(t, s, bob, Options{Time: time.Minute, Size: maxOwnedRequests})
}

// TestTaskThatEndedWithItsProcessIsNotFailed has a process read a record before another one ends the task and exits.
func TestTaskThatEndedWithItsProcessIsNotFailed(t *testing.T) {
	state := t.TempDir()
	s, _ := newStore(t, state)
	task := begin(t, s, ann, Options{Time: time.Minute})
	id := task.State().ID
	again, _ := newStore(t, state)
	working, err := again.files.readHead(ann, id)
	if err != nil {
		t.Fatal(err)
	}
	task.End(Completed, []byte(`{}`))
	s.Close()
	if r, err := again.interrupt(ann, id, working); err != nil || r.Status != Completed {
		t.Errorf("%+v, %v", r, err)
	}
	if got := status(t, again, ann, id); got != Completed {
		t.Error(got)
	}
}
