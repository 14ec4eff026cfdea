package engine

import (
	"context"
	"testing"
	"testing/synctest"
)

func TestReleaseTwiceKeepsOneInstance(t *testing.T) {
	m := newModule(t, Spec{})
	response, err := m.Call(t.Context(), toolRequest("echo", `{}`))
	if err != nil {
		t.Fatal(err)
	}
	response.Release()
	first := m.pool.take(t.Context(), func() {}) // as another call would
	response.Release()
	if second := m.pool.take(t.Context(), func() {}); first == nil || second != nil {
		t.Error("the pool contains an instance that is in use")
	}
	m.pool.end(first, func(*instance) bool { return true })
	if m.active != 0 {
		t.Errorf("%d calls are in progress", m.active)
	}
}

// A call waits for an instance if several are being restored. Otherwise short calls with long restores would create
// instances without bound.
func TestCallsWaitForRestores(t *testing.T) {
	compiled(t, guest())
	synctest.Test(t, func(t *testing.T) {
		m := newModule(t, Spec{})
		m.spec.Tracker = nil // so that each restore compares pages, and calls Busy first
		resume := make(chan struct{})
		for range 1 + spare {
			releasing := false
			request := toolRequest("echo", `{}`)
			request.Busy = func() {
				if releasing {
					<-resume
				}
			}
			response, err := m.Call(t.Context(), request)
			if err != nil {
				t.Fatal(err)
			}
			releasing = true
			go response.Release()
			synctest.Wait()
		}
		_, err := callTool(canceled(t), m, "echo", `{}`)
		wantCode(t, err, CodeCanceled)
		busy, done := false, make(chan error, 1)
		go func() {
			request := toolRequest("echo", `{}`)
			request.Busy = func() { busy = true }
			response, err := m.Call(context.WithoutCancel(t.Context()), request)
			response.Release()
			done <- err
		}()
		synctest.Wait()
		if len(done) > 0 || !busy {
			t.Error("a call did not wait for the restores, or did not call Busy before it waited")
		}
		close(resume)
		if err := <-done; err != nil {
			t.Error(err)
		}
		synctest.Wait()
		if n := len(m.pool.ready); n != 1+spare {
			t.Errorf("there are %d instances, want %d", n, 1+spare)
		}
	})
}
