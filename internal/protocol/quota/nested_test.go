package quota

import (
	"context"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/protocol/call"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/gateway"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// nesting is a backend whose calls make calls.
type nesting struct {
	gateway.Backend
	run func(ctx context.Context)
}

func (n nesting) Find(call.Request) (gateway.Queued, *abi.Error) { return n, nil }

func (n nesting) Execute(ctx context.Context, _ gateway.Notifier) (call.Result, error) {
	n.run(ctx)
	return call.Result{}, nil
}

func (n nesting) Failure(string, string) *gateway.Failure { return nil }

func TestCallsOfScriptsCount(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		limits Limits
		want   int // calls that a script makes, each of which uses 10 units of fuel
	}{
		"no quota": {Limits{}, 5},
		"requests": {Limits{Requests: 1, Burst: 3}, 3},
		"fuel":     {Limits{Fuel: 15}, 2},
	} {
		made := 0
		b := NewBackend(nesting{run: func(ctx context.Context) {
			for range 5 {
				if end, refused := BeginNested(ctx); refused == nil {
					end(10)
					made++
				}
			}
		}}, &Book{})
		b.SetLimits(test.limits)
		queued, refused := b.Find(call.Request{Principal: &call.Principal{ID: "p"}})
		if refused != nil {
			t.Fatal(refused)
		}
		if _, err := queued.Execute(t.Context(), nil); err != nil || made != test.want {
			t.Errorf("%s: %v, %d calls are made, want %d", name, err, made, test.want)
		}
	}
}

// The calls of a script at the same time count towards those of its principal, except one, which has the place of the script.
func TestParallelCallsOfScriptsCount(t *testing.T) {
	t.Parallel()
	b := NewBackend(nesting{run: func(ctx context.Context) {
		end, ok := BeginFurther(ctx)
		if !ok {
			t.Error("the second of two places is refused")
			return
		}
		if _, ok := BeginFurther(ctx); ok {
			t.Error("there are three calls at the same time, of at most two")
		}
		end()
	}}, &Book{})
	b.SetLimits(Limits{Concurrent: 2})
	queued, _ := b.Find(call.Request{Principal: &call.Principal{ID: "p"}})
	_, _ = queued.Execute(t.Context(), nil)
}
