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

// These environment variables tell the process that kills itself its state directory, the name of its change, and the
// number of the file system operation before which it kills itself.
const (
	killState  = "STORE_TEST_KILL_STATE"
	killChange = "STORE_TEST_KILL_CHANGE"
	killStep   = "STORE_TEST_KILL_STEP"
)

// TestKilledWriter runs only in the child process that TestKillAtEveryOperation starts.
func TestKilledWriter(t *testing.T) {
	state := os.Getenv(killState)
	if state == "" {
		t.Skip("runs only as a child of TestKillAtEveryOperation")
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
			time.Sleep(time.Minute) // the signal that kills the process takes effect during this sleep
		}
	}}
	for _, c := range changes() {
		if c.name == os.Getenv(killChange) {
			must(t, c.do(t, p))
		}
	}
}

// TestKillAtEveryOperation has child processes change a store. The n-th child process is killed before its n-th file
// system operation.
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
				if err == nil { // the change has fewer than n file system operations
					break
				}
			}
			t.Logf("killed %d times before the commit, %d times after", seen[false], seen[true]-1)
			if seen[false] == 0 || c.name == "import" && seen[true] < 2 {
				t.Errorf("want kills before the commit, and for an import also after the commit; kills by whether the change was committed: %v", seen)
			}
		})
	}
}
