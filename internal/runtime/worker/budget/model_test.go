package budget

import (
	"context"
	"errors"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
)

// model runs calls of plugins against a Budget, with workers that do what those of package child do: they use what they were granted,
// and return what they do not use while memory is short.
type model struct {
	t        *testing.T
	b        *Budget
	patience time.Duration

	mu                              sync.Mutex
	plugins                         []*modelWorker // the current worker of each plugin; nil if there is none
	starts, evictions, busy, refuse int
}

type modelWorker struct {
	m       *model
	plugin  int
	account *Account
	opened  chan struct{} // closed after the start
	err     error         // why the start failed
	base    int64         // credit that it never returns
	active  int
	waiting int // number of calls that wait for the start
	used    int64
	granted int64
	short   bool
}

func (w *modelWorker) Active() int {
	w.m.mu.Lock()
	defer w.m.mu.Unlock()
	return w.active
}

func (w *modelWorker) Evict(string) bool {
	w.m.mu.Lock()
	defer w.m.mu.Unlock()
	if w.active > 0 || w.waiting > 0 || w.m.plugins[w.plugin] != w {
		return false
	}
	w.m.plugins[w.plugin] = nil
	w.m.evictions++
	go func() {
		time.Sleep(time.Duration(1+rand.IntN(20)) * time.Millisecond)
		w.account.Close()
	}()
	return true
}

// Tell answers as a process does: later, and only while it has calls.
func (w *modelWorker) Tell(short bool) {
	go func() {
		time.Sleep(time.Duration(rand.IntN(3)) * time.Millisecond)
		w.m.mu.Lock()
		w.short = short
		w.m.mu.Unlock()
		if short {
			w.returnUnused()
		}
	}()
}

func (w *modelWorker) returnUnused() {
	w.m.mu.Lock()
	unused := w.granted - w.used
	w.granted -= unused
	w.m.mu.Unlock()
	if err := w.account.Return(unused); err != nil {
		w.m.t.Error(err)
	}
}

// acquire returns the worker of a plugin, which it starts if there is none.
func (m *model) acquire(plugin int, c Call) (*modelWorker, error) {
	m.mu.Lock()
	w := m.plugins[plugin]
	if w == nil {
		w = &modelWorker{m: m, plugin: plugin, opened: make(chan struct{}), base: (1 + rand.Int64N(20)) * mib}
		m.plugins[plugin] = w
		m.starts++
		go func() {
			w.account, w.err = m.b.Open(m.t.Context(), c, w.base, 1<<40)
			if w.err == nil {
				time.Sleep(10 * time.Millisecond)
				w.account.Serve(w)
			} else {
				m.mu.Lock()
				m.plugins[plugin] = nil
				m.mu.Unlock()
			}
			close(w.opened)
		}()
	}
	w.waiting++
	m.mu.Unlock()
	<-w.opened
	m.mu.Lock()
	defer m.mu.Unlock()
	w.waiting--
	if w.err == nil {
		w.active++
	}
	return w, w.err
}

// call runs one call, which takes memory in steps and then returns it.
func (m *model) call(plugin int, most int64) error {
	c, err := m.b.Begin(m.t.Context(), Call{Patience: m.patience, Principal: strconv.Itoa(rand.IntN(4))})
	if err != nil {
		return err
	}
	w, err := m.acquire(plugin, c)
	if err != nil {
		return err
	}
	var taken int64
	for range rand.IntN(4) {
		c.Wrote = c.Wrote || rand.IntN(4) == 0
		var got int64
		if got, err = w.take(m.t.Context(), c, 1+rand.Int64N(most)); errors.Is(err, ErrRefused) {
			err = nil
			m.mu.Lock()
			m.refuse++
			m.mu.Unlock()
		}
		taken += got
		m.check()
		if err != nil {
			break
		}
		time.Sleep(time.Duration(rand.IntN(30)) * time.Millisecond)
	}
	m.mu.Lock()
	w.used -= taken
	short := w.short
	m.mu.Unlock()
	if short {
		w.returnUnused()
	}
	m.mu.Lock()
	w.active--
	m.mu.Unlock()
	w.account.Left()
	m.check()
	return err
}

func (w *modelWorker) take(ctx context.Context, c Call, bytes int64) (int64, error) {
	w.m.mu.Lock()
	held := min(bytes, w.granted-w.used)
	w.used += held
	w.m.mu.Unlock()
	if held == bytes {
		return bytes, nil
	}
	granted, err := w.account.Grow(ctx, c, bytes-held)
	w.m.mu.Lock()
	defer w.m.mu.Unlock()
	if err != nil {
		w.used -= held
		return 0, err
	}
	w.granted += granted
	w.used += bytes - held
	return bytes, nil
}

// check compares the credit with the budget: only a single worker may have more.
func (m *model) check() {
	m.b.mu.Lock()
	defer m.b.mu.Unlock()
	var sum int64
	for a := range m.b.accounts {
		sum += a.credit
		if a.waiting < 0 || a.credit < 0 {
			m.t.Errorf("an account has a credit of %d and %d waiting calls", a.credit, a.waiting)
		}
	}
	if sum != m.b.credit || sum > m.b.total && len(m.b.accounts) > 1 {
		m.t.Errorf("%d workers have a credit of %d bytes, counted as %d; the budget is %d", len(m.b.accounts), sum, m.b.credit, m.b.total)
	}
}

// run makes calls from a number of clients, and checks that all of them end.
func (m *model) run(plugins, clients, calls int, most int64) {
	m.plugins = make([]*modelWorker, plugins)
	var all sync.WaitGroup
	for range clients {
		all.Go(func() {
			for range calls {
				if err := m.call(rand.IntN(plugins), most); errors.Is(err, ErrBusy) {
					m.mu.Lock()
					m.busy++
					m.mu.Unlock()
				} else if err != nil {
					m.t.Error(err)
				}
			}
		})
	}
	all.Wait()
	m.check()
	m.b.mu.Lock()
	defer m.b.mu.Unlock()
	if len(m.b.waiters) > 0 {
		m.t.Errorf("%d requests wait although all calls have ended", len(m.b.waiters))
	}
}

// The credit of all workers never exceeds the budget, and all calls end, however many calls want how much memory.
func TestCreditNeverExceedsBudget(t *testing.T) {
	for range testenv.Count(5, 20, 200) {
		synctest.Test(t, func(t *testing.T) {
			m := &model{t: t, b: New((1 + rand.Int64N(200)) * mib), patience: time.Duration(1+rand.IntN(20_000)) * time.Millisecond}
			m.run(1+rand.IntN(6), 1+rand.IntN(40), 20, 1+rand.Int64N(60)*mib)
			time.Sleep(2 * shortTime) // let the timers end
		})
	}
}

// With memory for all workers and calls, none is evicted, and none of the calls fails.
func TestSufficientBudgetEvictsNothing(t *testing.T) {
	for _, clients := range []int{4, 64, 1000} {
		synctest.Test(t, func(t *testing.T) {
			m := &model{t: t, b: New(1 << 40), patience: time.Second}
			m.run(5, clients, 2000/clients, 8*mib)
			if m.starts > 5 || m.evictions+m.busy+m.refuse > 0 {
				t.Errorf("%d clients: %d starts, %d evictions, %d calls ended and %d refused", clients, m.starts, m.evictions, m.busy, m.refuse)
			}
		})
	}
}
