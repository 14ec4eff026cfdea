package history

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/runtime/audit"
)

var logSize = flag.Int64("log-size", 8<<20, "bytes of the log of TestLargeLog")

// TestLargeLog counts a log that is much larger than a step, with names that clients vary. The memory in use does not depend on its
// size, and another update reads what is new. `just large-log` has a log of 10 GB.
func TestLargeLog(t *testing.T) {
	dir := t.TempDir()
	if *logSize > 1<<30 { // not in memory
		var err error
		if dir, err = os.MkdirTemp("/var/tmp", "large-log"); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.RemoveAll(dir) })
	}
	log := filepath.Join(dir, "audit.jsonl")
	f, err := os.OpenFile(log, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	const span = 30 * 24 * time.Hour
	out, written, calls := bufio.NewWriterSize(f, 1<<20), int64(0), int64(0)
	for ; written < *logSize; calls++ {
		at := now.Add(-span + time.Duration(float64(span)*float64(written)/float64(*logSize)))
		n, err := fmt.Fprintf(out, `{"time":%q,"kind":"call","id":"r-%d","plugin":"notes","version":"1.0.0","digest":"%064d","client":"editor %d","principal":"local","request":"%d",`+
			`"method":"tools/call","tool":"notes_%d","outcome":"ok","duration_us":%d,"fuel":12345,"bytes_in":100,"bytes_out":2000,"operations":[{"op":"fs/read","target":"/home/me/x","outcome":"ok","count":3}],`+
			`"arguments":"hmac-sha256:%064d"}`+"\n", at.Format("2006-01-02T15:04:05.000000Z"), calls, 7, calls%5000, calls, calls%40, calls%100_000, 3)
		if err != nil {
			t.Fatal(err)
		}
		written += int64(n)
	}
	if err := out.Flush(); err != nil {
		t.Fatal(err)
	}
	h, err := Open(filepath.Join(dir, "state"), log)
	if err != nil {
		t.Fatal(err)
	}
	h.now = func() time.Time { return now }
	h.step = min(h.step, *logSize/8)
	var before, during runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	most, began := uint64(0), time.Now()
	err = h.Update(t.Context(), func(p Progress) {
		runtime.ReadMemStats(&during)
		most = max(most, during.HeapInuse-min(during.HeapInuse, before.HeapInuse))
	})
	if err != nil {
		t.Fatal(err)
	}
	if most > 128<<20 {
		t.Errorf("%d MiB of memory were in use", most>>20)
	}
	s, err := h.Summary(t.Context(), Query{})
	if err != nil || s.Total.Calls != calls {
		t.Fatalf("%d calls, want %d, %v", s.Total.Calls, calls, err)
	}
	t.Logf("%d MB with %d calls in %s, %d MiB of memory", written>>20, calls, time.Since(began), most>>20)
	if _, err := fmt.Fprintf(f, `{"time":%q,"kind":"call","tool":"last","outcome":"ok"}`+"\n", now.Format(time.RFC3339)); err != nil {
		t.Fatal(err)
	}
	began = time.Now()
	p, err := h.Step(t.Context())
	if err != nil || p.Read > 100 || p.Unread != 0 {
		t.Errorf("got %+v, %v", p, err)
	}
	t.Logf("one more line: %s", time.Since(began))
}

// TestLogIsRotatedWhileItIsRead writes from two hosts, which rotate the log, while two readers count it.
func TestLogIsRotatedWhileItIsRead(t *testing.T) {
	f := newFixture(t)
	const each = 1000
	var writers, readers sync.WaitGroup
	ctx, stop := context.WithCancel(t.Context())
	for range 2 {
		log, err := audit.Open(audit.Config{File: f.log, MaxSize: audit.MinMaxSize, Keep: audit.MaxKeep, OnFailure: audit.FailClosed, Now: func() time.Time { return now }})
		if err != nil {
			t.Fatal(err)
		}
		writers.Go(func() {
			for i := range each {
				r := audit.Record{Kind: audit.KindCall, ID: log.NewID(), Plugin: "p", Tool: strings.Repeat("x", 1000), Outcome: audit.OK, Arguments: fmt.Appendf(nil, "%d", i)}
				if err := log.Write(r); err != nil {
					t.Error(err)
					return
				}
			}
			if err := log.Close(context.Background()); err != nil {
				t.Error(err)
			}
		})
	}
	for range 2 {
		h := f.open()
		h.step = 10_000
		readers.Go(func() {
			for ctx.Err() == nil {
				if _, err := h.Step(context.Background()); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	writers.Wait()
	stop()
	readers.Wait()
	if s := f.summary(Query{}); s.Total.Calls != 2*each || s.Damaged != 0 {
		t.Errorf("%d calls, want %d, %d damaged lines", s.Total.Calls, 2*each, s.Damaged)
	}
}
