package doctor

import (
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestExecutableMemoryIsChecked forbids memory that is written and executed in a process of its own, where it cannot be allowed again.
func TestExecutableMemoryIsChecked(t *testing.T) {
	if os.Getenv("DOCTOR_DENIES_EXECUTION") != "" {
		runtime.LockOSThread()
		const refuseExecGain = 1
		if err := unix.Prctl(unix.PR_SET_MDWE, refuseExecGain, 0, 0, 0); err != nil {
			t.Skipf("this kernel has no PR_SET_MDWE: %v", err)
		}
		e := &examination{}
		e.platform()
		if len(e.checks) != 1 || e.checks[0].Outcome != CheckFailed || !strings.Contains(e.checks[0].Remedy, "MemoryDenyWriteExecute") {
			t.Errorf("%+v", e.checks)
		}
		return
	}
	if !canExecute() {
		t.Error("this process cannot execute what it has compiled")
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestExecutableMemoryIsChecked$", "-test.v")
	cmd.Env = append(os.Environ(), "DOCTOR_DENIES_EXECUTION=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%v: %s", err, out)
	}
	if strings.Contains(string(out), "--- SKIP") {
		t.Skip(string(out))
	}
}
