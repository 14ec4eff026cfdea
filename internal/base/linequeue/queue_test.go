package linequeue_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/base/linequeue"
)

// gate is a writer that blocks until open is closed.
type gate struct {
	open chan struct{}

	mu sync.Mutex
	b  bytes.Buffer
}

func newGate() *gate { return &gate{open: make(chan struct{})} }

func (g *gate) Write(p []byte) (int, error) {
	<-g.open
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.b.Write(p)
}

func (g *gate) String() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.b.String()
}

const maxBytes = 1 << 20

func newQueue(out io.Writer) *linequeue.Queue {
	return linequeue.New(maxBytes, func(batch []byte, lost int) {
		_, _ = out.Write(batch)
		if lost > 0 {
			fmt.Fprintf(out, "%d lines dropped\n", lost)
		}
	})
}

// closeIn closes a queue, and reports whether all lines were written in time.
func closeIn(q *linequeue.Queue, wait time.Duration) bool {
	ctx, cancel := context.WithTimeout(context.Background(), wait)
	defer cancel()
	_, err := q.Close(ctx)
	return err == nil
}

func TestLinesAreWrittenInOrder(t *testing.T) {
	out := newGate()
	close(out.open)
	q := newQueue(out)
	var want strings.Builder
	for i := range 1000 {
		line := fmt.Sprintf("line %d\n", i)
		want.WriteString(line)
		if n, err := q.Write([]byte(line)); n != len(line) || err != nil {
			t.Fatalf("Write: got %d, %v; want the length of the line and no error", n, err)
		}
	}
	if !closeIn(q, time.Minute) {
		t.Fatal("Close reports that lines were not written")
	}
	if out.String() != want.String() {
		t.Errorf("%d bytes were written, want %d", len(out.String()), want.Len())
	}
}

// TestFullQueueDropsAndCounts fills the queue by lines or by bytes. The report of dropped lines follows the queued lines.
func TestFullQueueDropsAndCounts(t *testing.T) {
	for name, c := range map[string]struct {
		line string
		kept int
	}{
		"short lines": {"x\n", maxBytes / 2},
		"long lines":  {strings.Repeat("x", 64<<10-1) + "\n", maxBytes / (64 << 10)},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				out := newGate()
				q := newQueue(out)
				_, _ = q.Write([]byte("first\n"))
				synctest.Wait() // the writer has removed the line from the queue
				for range c.kept + 7 {
					_, _ = q.Write([]byte(c.line))
				}
				close(out.open)
				synctest.Wait()
				want := "first\n" + strings.Repeat(c.line, c.kept) + "7 lines dropped\n"
				if out.String() != want {
					t.Errorf("%d bytes were written, want %d; they end with %.40q", len(out.String()), len(want), out.String()[max(0, len(out.String())-40):])
				}
				_, _ = q.Write([]byte("last\n"))
				if !closeIn(q, time.Minute) || !strings.HasSuffix(out.String(), "dropped\nlast\n") {
					t.Errorf("%.40q follows the report of dropped lines, want the last line", strings.TrimPrefix(out.String(), want))
				}
			})
		})
	}
}

func TestCloseTimesOutOnBlockedWriter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := newGate()
		q := newQueue(out)
		_, _ = q.Write([]byte("stuck\n"))
		if closeIn(q, 200*time.Millisecond) {
			t.Error("Close reports that all lines were written")
		}
		_, _ = q.Write([]byte("late\n"))
		close(out.open)
		synctest.Wait()
		if out.String() != "stuck\n" {
			t.Errorf("%q was written, want only the line that was in flight at Close", out.String())
		}
	})
}

// TestWriteToUnreadPipeDoesNotBlock writes more than 64 KiB, the capacity of a pipe on Linux.
func TestWriteToUnreadPipeDoesNotBlock(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	q := newQueue(w)
	line := []byte(strings.Repeat("x", 999) + "\n")
	for range 10_000 {
		_, _ = q.Write(line)
	}
	if closeIn(q, time.Millisecond) {
		t.Error("10 MB fit into a pipe that is not read")
	}
	r.Close() // fails the blocked write
}
