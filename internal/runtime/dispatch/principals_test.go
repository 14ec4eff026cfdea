package dispatch

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/runtime/worker"
)

func TestPrincipalsShareNoWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &principalWorkers{start: func() *worker.Supervisor { return worker.New(worker.Config{}) }}
		defer w.close()
		a, doneA := w.use("a")
		again, doneAgain := w.use("a")
		b, doneB := w.use("b")
		if a != again || a == b {
			t.Error("each principal needs one worker of its own")
		}
		doneA()
		doneB()
		time.Sleep(principalIdle)
		if c, done := w.use("c"); c == a || c == b || len(w.all) != 2 { // a has a call in flight, b is closed
			t.Errorf("%d workers after an idle time", len(w.all))
		} else {
			done()
		}
		doneAgain()
		if after, done := w.use("b"); after == b {
			t.Error("a closed worker is used again")
		} else {
			done()
		}
	})
}
