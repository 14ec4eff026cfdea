//go:build unix

package worker

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/protocol/call"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/confine"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/worker/budget"
)

// TestStartsTakeTurnsByPrincipal has calls of three principals wait for memory for their workers: one of them for several plugins, one for
// another plugin, and one for the last of the first principal's plugins.
func TestStartsTakeTurnsByPrincipal(t *testing.T) {
	pool := NewPool(startCredit)
	all, err := pool.memory.Open(t.Context(), budget.Call{}, startCredit, startCredit)
	if err != nil {
		t.Fatal(err)
	}
	all.Serve(busyWorker{})
	var (
		mu      sync.Mutex
		started []int
		plugins []*Supervisor
		calls   sync.WaitGroup
	)
	for i := range 5 {
		plugins = append(plugins, inPool(t, pool, func(c *Config) {
			prepare := c.Prepare
			c.Prepare = func(ctx context.Context) (*Launch, error) {
				l, err := prepare(ctx)
				l.Confined = func(confine.Report) error {
					mu.Lock()
					defer mu.Unlock()
					started = append(started, i)
					return nil
				}
				return l, err
			}
		}))
	}
	send := func(principal string, plugin, waiting int) {
		calls.Go(func() {
			r := withParams("echo", `{}`)
			r.Principal = &call.Principal{ID: principal}
			if _, err := plugins[plugin].Call(t.Context(), r); err != nil {
				t.Errorf("%s: plugin %d: %v", principal, plugin, err)
			}
		})
		waitUntil(t, fmt.Sprint(waiting, " requests that wait"), func() bool { return pool.memory.Waiting() == waiting })
	}
	for i := range 4 {
		send("many", i, i+1)
	}
	send("other", 4, 5)
	send("joins", 3, 5)
	waitUntil(t, "a call that joined", func() bool {
		plugins[3].mu.Lock()
		defer plugins[3].mu.Unlock()
		return plugins[3].starting.waiting == 2
	})
	all.Close()
	calls.Wait()
	if want := []int{0, 3, 4}; !slices.Equal(started[:3], want) { // a worker may end before the second call that waited for it, and start again
		t.Errorf("the workers were started in the order %v, want %v first", started, want)
	}
}
