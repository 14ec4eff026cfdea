package dispatch

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/bulkhead-mcp/bulkhead/internal/protocol/call"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/gateway"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/engine"
)

// TestPrincipalsShareTheReadsOfSkills checks that a principal whose requests do not end delays no other, and that waiting is bounded.
func TestPrincipalsShareTheReadsOfSkills(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := New(catalogOf(nil)).current.Load().first
		await := func(ctx context.Context, principal string) (func(), error) {
			r := &call.Request{Method: call.MethodSkillsList, Principal: &call.Principal{ID: principal}}
			return v.awaitSkillRead(ctx, skillList{*r, v}, r)
		}
		var ends []func()
		begin := func(principal string) {
			t.Helper()
			done, err := await(t.Context(), principal)
			if err != nil {
				t.Fatal(err)
			}
			ends = append(ends, done)
		}
		begin("ann")
		begin("ann")
		third := make(chan func(), 1)
		go func() {
			done, err := await(t.Context(), "ann")
			if err != nil {
				t.Error(err)
			}
			third <- done
		}()
		synctest.Wait()
		begin("bob")
		select {
		case <-third:
			t.Fatal("a third request of one principal was started")
		default:
		}
		ends[0]()
		(<-third)()
		ends = ends[1:]
		for i := 0; len(ends) < maxSkillReads; i++ {
			begin(fmt.Sprint("user", i))
		}
		var failure *gateway.Failure
		if _, err := await(t.Context(), "eve"); !errors.As(err, &failure) || failure.Code != string(engine.CodeQueue) || failure.Message == "" {
			t.Errorf("without a turn: %v", err)
		}
		cancelled, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := await(cancelled, "eve"); !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled: %v", err)
		}
		for _, end := range ends {
			end()
		}
		if q := &v.generation.dispatcher.skillReads; q.free != maxSkillReads || q.lines[0].first != nil || q.lines[0].running != 0 {
			t.Errorf("%d turns are free, want %d", q.free, maxSkillReads)
		}
	})
}
