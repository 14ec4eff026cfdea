package engine

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tetratelabs/wazero/api"
)

// account is a Credit that grants up to limit bytes and then returns err.
type account struct {
	mu                sync.Mutex
	used, most, limit int64
	err               error
	asked             int // number of calls of Take above limit
}

func (a *account) Take(_ context.Context, bytes int64) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.limit > 0 && a.used+bytes > a.limit {
		a.asked++
		return a.err
	}
	a.used += bytes
	a.most = max(a.most, a.used)
	return nil
}

func (a *account) Give(bytes int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.used -= bytes
}

func (a *account) inUse() int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.used
}

// What a call takes is given back when its instance is restored, and everything but the snapshot's when the instances are closed.
func TestCreditFollowsMemory(t *testing.T) {
	a := &account{}
	m := newModule(t, Spec{Credit: a, Memory: 64 << 20, Operate: func(context.Context, []byte) []byte { return make([]byte, 1<<20) }})
	snapshot := int64(2 * len(m.snapshot.memory))
	atStart := a.inUse()
	if want := snapshot + snapshot/2 + instanceCost; atStart != want {
		t.Errorf("%d bytes are in use after the start, want %d for an instance and the snapshot", atStart, want)
	}
	for tool, least := range map[string]int64{"echo": 0, "big": BufferCost << 20, "ask_once": BufferCost << 20, "grow": 32 << 20} {
		a.most = atStart
		_, err := callTool(t.Context(), m, tool, `{}`)
		if grown := a.most - atStart; grown < least || grown > least+64<<20 {
			t.Errorf("%s took up to %d bytes, want at least %d", tool, grown, least)
		}
		if tool != "grow" && a.inUse() != atStart {
			t.Errorf("%s: %d bytes are in use after the call, want %d as before (%v)", tool, a.inUse(), atStart, err)
		}
		if _, err := callTool(t.Context(), m, "echo", `{}`); err != nil || a.inUse() != atStart {
			t.Errorf("a call after %s: %d bytes are in use, want %d (%v)", tool, a.inUse(), atStart, err)
		}
	}
	m.pool.drain()
	if got := a.inUse(); got != snapshot {
		t.Errorf("%d bytes are in use without an instance, want the %d of the snapshot", got, snapshot)
	}
}

// An ordinary call takes credit only when an instance is created: the next one finds the memory of the instance.
func TestRepeatedCallTakesNoFurtherCredit(t *testing.T) {
	a := &account{}
	m := newModule(t, Spec{Credit: a})
	for range 3 {
		if _, err := callTool(t.Context(), m, "echo", `{"text":"x"}`); err != nil {
			t.Fatal(err)
		}
		a.limit = a.inUse() // no more is granted from here on
	}
	if a.asked > 0 {
		t.Errorf("repeated calls asked %d times for more", a.asked)
	}
}

func TestRefusedGrowthIsFailureOfModule(t *testing.T) {
	a := &account{err: ErrRefused}
	m := newModule(t, Spec{Credit: a, Memory: 256 << 20})
	a.limit = a.inUse() + 16<<20
	_, err := callTool(t.Context(), m, "grow", `{}`)
	if failure := wantCode(t, err, CodeMemory); failure.Message != "crashed: it needed more memory than the server has" {
		t.Errorf("got %q", failure.Message)
	}
	if a.asked != 1 {
		t.Errorf("the call asked %d times, want once, since the answer would be the same", a.asked)
	}
	if _, err := callTool(t.Context(), m, "echo", `{}`); err != nil {
		t.Errorf("the next call: %v", err)
	}
}

func TestCallWithoutCreditEnds(t *testing.T) {
	busy := errors.New("busy")
	for _, test := range []struct {
		tool  string
		extra int64
	}{{"grow", 16 << 20}, {"big", 0}, {"ask", 0}} {
		a := &account{err: busy}
		m := newModule(t, Spec{Credit: a, Memory: 256 << 20, Operations: 10, Operate: func(context.Context, []byte) []byte { return make([]byte, 1<<20) }})
		before := a.inUse()
		a.limit = before + test.extra
		_, err := callTool(t.Context(), m, test.tool, `{}`)
		if failure := wantCode(t, err, CodeMemory); !strings.Contains(failure.Message, "other calls use it") || !errors.Is(failure, busy) {
			t.Errorf("%s: got %q", test.tool, failure.Message)
		}
		if _, err := callTool(t.Context(), m, "echo", `{}`); err != nil || a.inUse() > before {
			t.Errorf("the call after %s: %v, %d bytes in use, want at most %d", test.tool, err, a.inUse(), before)
		}
	}
	a := &account{err: busy}
	m := newModule(t, Spec{Credit: a})
	m.pool.drain()
	a.limit = a.inUse() + 1
	_, err := callTool(t.Context(), m, "echo", `{}`)
	wantCode(t, err, CodeMemory)
	if got := a.inUse(); got != a.limit-1 {
		t.Errorf("%d bytes are in use after an instance got no memory, want %d", got, a.limit-1)
	}
}

// counter is a global of a module.
type counter struct {
	api.MutableGlobal
	value uint64
}

func (c *counter) Get() uint64  { return c.value }
func (c *counter) Set(v uint64) { c.value = v }

func TestExtismKernelTakesCredit(t *testing.T) {
	a := &account{}
	i := &instance{owner: &Module{spec: Spec{Credit: a, Memory: 32 << 20}}, memory: &linearMemory{}}
	i.kernel.instance = i
	c := newExecution(t.Context(), i.owner, i)
	i.current = c
	i.fuel = &counter{}
	if address := i.kernel.alloc(c, 10<<20); address == 0 || a.inUse() < 10<<20 {
		t.Errorf("a block of 10 MiB takes %d bytes", a.inUse())
	}
	i.kernel.reset()
	if a.inUse() != 0 {
		t.Errorf("%d bytes are in use after the call", a.inUse())
	}
}

// waiting is a Credit whose grants take an hour.
type waiting struct{}

func (waiting) Take(ctx context.Context, _ int64) error {
	defer PauseTimeLimit(ctx)()
	time.Sleep(time.Hour)
	return nil
}

func (waiting) Give(int64) {}

func TestWaitForCreditDoesNotCountTowardsTimeLimit(t *testing.T) {
	compiled(t, guest())
	synctest.Test(t, func(t *testing.T) {
		m := newModule(t, Spec{Time: time.Minute, Credit: waiting{}})
		if _, err := callTool(t.Context(), m, "big", `{}`); err != nil {
			t.Errorf("a call that waited for memory: %v", err)
		}
		request := toolRequest("spin", `{}`)
		request.Busy = func() { time.Sleep(time.Hour) }
		_, err := m.Call(t.Context(), request)
		wantCode(t, err, CodeTimeout)
	})
}

func TestPausedTimeLimit(t *testing.T) {
	for what, watched := range map[string]bool{"with a timer": true, "without a timer until its end": false} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			l := limit(t.Context(), time.Minute)
			defer l.release()
			if watched {
				l.Done()
			}
			derived := context.WithValue(l, atOnceKey{}, true)
			time.Sleep(30 * time.Second)
			resume := PauseTimeLimit(derived)
			time.Sleep(time.Hour)
			if l.Err() != nil {
				t.Errorf("%s: got %v while the limit is paused", what, l.Err())
			}
			resume()
			if at, ok := l.Deadline(); !ok || at.Sub(began) != time.Hour+time.Minute {
				t.Errorf("%s: the deadline is after %v, want %v", what, at.Sub(began), time.Hour+time.Minute)
			}
			time.Sleep(29 * time.Second)
			if l.Err() != nil {
				t.Errorf("%s: got %v before the end", what, l.Err())
			}
			<-l.Done()
			if got := time.Since(began); got != time.Hour+time.Minute || !errors.Is(l.Err(), context.DeadlineExceeded) {
				t.Errorf("%s: the context ended after %v with %v", what, got, l.Err())
			}
			PauseTimeLimit(l)() // has no effect any more
			PauseTimeLimit(t.Context())()
			if !errors.Is(l.Err(), context.DeadlineExceeded) {
				t.Errorf("%s: got %v after a pause of a limit that has passed", what, l.Err())
			}
		})
	}
	synctest.Test(t, func(t *testing.T) { // something begins to wait during the pause
		l := limit(t.Context(), time.Minute)
		defer l.release()
		resume := PauseTimeLimit(l)
		began, done := time.Now(), l.Done()
		time.AfterFunc(time.Hour, resume)
		<-done
		if got := time.Since(began); got != time.Hour+time.Minute {
			t.Errorf("a wait that began during the pause ended after %v", got)
		}
	})
}

// A derivation does not wait for memory, since other calls may wait for it, and lack of memory neither becomes a result nor makes the
// derive functions unusable.
func TestDerivationWithoutCreditEndsCall(t *testing.T) {
	a := &account{err: ErrRefused}
	m := newModule(t, Spec{Credit: a})
	if cost := m.DeriveCost(); cost <= 3*int64(len(m.snapshot.memory)) {
		t.Fatalf("derivations cost %d bytes", cost)
	}
	m.deriver.module.spec.Credit.(*prepaid).left = 0
	a.limit = a.inUse() + 1
	for range 2 {
		_, err := m.Derive(t.Context(), 0, []byte("x"))
		wantCode(t, err, CodeMemory)
	}
	a.limit = 0
	if _, err := m.Derive(t.Context(), 0, []byte("x")); err != nil {
		t.Errorf("a derivation with enough memory: %v", err)
	}
	before := a.inUse()
	for range 3 {
		if _, err := m.Derive(t.Context(), 0, []byte("x")); err != nil || a.inUse() != before {
			t.Errorf("a further derivation: %v, %d bytes in use, want %d", err, a.inUse(), before)
		}
	}
	if MayWait(context.WithValue(t.Context(), atOnceKey{}, true)) || !MayWait(t.Context()) {
		t.Error("only derivations may not wait")
	}
}
