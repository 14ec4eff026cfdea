package store

import (
	"errors"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem"
	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem/faultfs"
)

// Environment variables of the process that is killed: its state directory, the change that it makes, and the operation
// before which it dies.
const (
	killState  = "STORE_TEST_KILL_STATE"
	killChange = "STORE_TEST_KILL_CHANGE"
	killStep   = "STORE_TEST_KILL_STEP"
)

// TestKilledWriter is run in the process that TestKillAtEveryOperation starts; it is skipped otherwise.
func TestKilledWriter(t *testing.T) {
	state := os.Getenv(killState)
	if state == "" {
		t.Skip("this is a part of TestKillAtEveryOperation")
	}
	last, err := strconv.Atoi(os.Getenv(killStep))
	must(t, err)
	self, err := os.FindProcess(os.Getpid())
	must(t, err)
	p := openStore(t, state)
	steps := 0
	p.files = &faultfs.FS{FS: filesystem.OS{}, Before: func(string, string) {
		if steps++; steps == last {
			must(t, self.Kill())
			time.Sleep(time.Minute) // it is dead by then
		}
	}}
	for _, c := range changes() {
		if c.name == os.Getenv(killChange) {
			must(t, c.do(t, p))
		}
	}
}

// TestKillAtEveryOperation kills a process that makes a change, before each of its operations in turn.
func TestKillAtEveryOperation(t *testing.T) {
	for _, c := range changes() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			seen := map[bool]int{}
			for n := 1; ; n++ {
				state := t.TempDir()
				changeBase(t, state)
				child := exec.Command(os.Args[0], "-test.run=^TestKilledWriter$")
				child.Env = append(os.Environ(), killState+"="+state, killChange+"="+c.name, killStep+"="+strconv.Itoa(n))
				out, err := child.CombinedOutput()
				exit := (*exec.ExitError)(nil)
				if err != nil && (!errors.As(err, &exit) || exit.Exited()) {
					t.Fatalf("step %d: %v\n%s", n, err, out)
				}
				seen[checkOldOrNew(t, state, c)]++
				if err == nil { // it had fewer steps
					break
				}
			}
			t.Logf("killed %d times before it was there, %d times after", seen[false], seen[true]-1)
			if seen[false] == 0 || c.name == "import" && seen[true] < 2 {
				t.Errorf("no kill came in between: %v", seen)
			}
		})
	}
}
