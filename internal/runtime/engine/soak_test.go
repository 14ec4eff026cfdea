package engine

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
)

// After concurrent calls, some of which are cancelled, crash or exceed a limit, idle instances equal the snapshot. There are
// at most spare more of them than concurrent calls.
func TestIdleInstancesEqualSnapshot(t *testing.T) {
	const concurrent = 3
	calls := testenv.Count(10, 40, 40)
	m := newModule(t, Spec{Memory: 24 << 20, Fuel: 20_000_000})
	var work sync.WaitGroup
	for seed := range uint64(concurrent) {
		work.Go(func() {
			random := rand.New(rand.NewPCG(seed, 3))
			for range calls {
				ctx, cancel := context.WithCancel(t.Context())
				tool, arguments := "remember", fmt.Sprintf(`{"text":"secret %d"}`, random.Uint64())
				switch random.IntN(12) {
				case 0:
					tool = "grow" // grows the memory to its limit
				case 1:
					tool = "spin" // runs until it is cancelled or out of fuel
				case 2:
					tool = "big"
				}
				request := toolRequest(tool, arguments)
				if random.IntN(3) == 0 {
					request.Busy = cancel
				}
				response, _ := m.Call(ctx, request) // the tools above fail in some calls
				response.Release()
				cancel()
			}
		})
	}
	work.Wait()
	if _, err := callTool(t.Context(), m, "remember", `{"text":"secret"}`); err != nil { // the last calls may all have failed
		t.Fatal(err)
	}
	if n := len(m.pool.ready); n == 0 || n > concurrent+spare {
		t.Errorf("there are %d idle instances", n)
	}
	for _, inst := range m.pool.ready {
		l := inst.memory
		if l.size != uint64(len(m.snapshot.memory)) || l.accessible != l.size || !bytes.Equal(l.space[:l.size], m.snapshot.memory) {
			t.Errorf("a memory of %d bytes, of which %d are accessible, differs from the snapshot of %d", l.size, l.accessible, len(m.snapshot.memory))
		}
		for n, g := range inst.globals {
			if g.Get() != m.snapshot.globals[n] {
				t.Errorf("global %d differs from the snapshot", n)
			}
		}
		if !l.setAccessible(l.limit) {
			t.Fatal("the system refuses memory")
		}
		if left := bytes.Trim(l.space[l.size:], "\x00"); len(left) > 0 {
			t.Errorf("%d bytes are left above the snapshot", len(left))
		}
		if !l.setAccessible(l.size) {
			t.Fatal("the system refuses memory")
		}
	}
}
