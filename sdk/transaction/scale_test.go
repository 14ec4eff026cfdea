//go:build unix

package transaction_test

import (
	"fmt"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/bulkhead-mcp/bulkhead/sdk/transaction"
)

// processorTime returns the processor time that the process has spent in user mode.
func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var usage syscall.Rusage
	must(t, syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return time.Duration(usage.Utime.Nano())
}

// TestTimePerFileDoesNotGrow compares the user time per file of two transactions. One has twelve times as many files as the other. Each file
// is in a new directory.
func TestTimePerFileDoesNotGrow(t *testing.T) {
	perFile := func(files int) time.Duration {
		best := time.Duration(0)
		for range 2 {
			dir := directory(t)
			var changes []transaction.Change
			for i := range files {
				changes = append(changes, transaction.Change{Root: dir, Path: filepath.Join(dir, fmt.Sprint(i), "f"), After: []byte("x")})
			}
			start := processorTime(t)
			must(t, transaction.Log{FS: noSync{}, Dir: filepath.Join(dir, "journal")}.Apply(changes))
			if used := (processorTime(t) - start) / time.Duration(files); best == 0 || used < best {
				best = used
			}
		}
		return best
	}
	few, many := perFile(200), perFile(2400)
	if many > 3*max(few, 20*time.Microsecond) {
		t.Errorf("%v for each of 200 files, %v for each of 2400", few, many)
	}
}
