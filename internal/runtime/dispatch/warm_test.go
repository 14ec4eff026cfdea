package dispatch_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/authoring/hosttest"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/wasmtest"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/dispatch"
)

func TestWarmStartsNoWorker(t *testing.T) {
	w := hosttest.New(t, hosttest.Plugin("b", wasmtest.Answering(hosttest.Done), hosttest.Reads("b_reads")), hosttest.Plugin("c", wasmtest.Crashing(), hosttest.Reads("c_reads")))
	d := openIn(t, w)
	d.Warm(t.Context())
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		compiled, err := filepath.Glob(w.Dir + "/cache/bulkhead/module-*/sums.json")
		if err != nil {
			t.Fatal(err)
		}
		if len(compiled) == 2 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the modules were not compiled")
		}
	}
	if started := dispatch.Started(d); len(started) > 0 {
		t.Errorf("workers of %q were started", started)
	}
}
