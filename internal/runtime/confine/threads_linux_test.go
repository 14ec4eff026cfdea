package confine

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
)

const lockedThreads = 24

func init() {
	scenarios["threads"] = func(j job) (Report, map[string]string, error) {
		stop := startAndEndThreads()
		defer stop()
		var ready, done sync.WaitGroup
		release := make(chan struct{})
		results := map[string]string{}
		var mu sync.Mutex
		for i := range lockedThreads {
			ready.Add(1)
			done.Go(func() {
				runtime.LockOSThread()
				defer runtime.UnlockOSThread()
				thread := unix.Gettid()
				ready.Done()
				<-release
				escaped := escapes(j)
				mu.Lock()
				defer mu.Unlock()
				results[fmt.Sprintf("%d (thread %d of %d)", i, thread, os.Getpid())] = escaped
			})
		}
		ready.Wait()
		report, err := Apply(j.Config)
		close(release)
		done.Wait()
		for i := range lockedThreads {
			done.Go(func() {
				runtime.LockOSThread() // the thread ends with the goroutine, so each goroutine has a new one
				escaped := escapes(j)
				mu.Lock()
				defer mu.Unlock()
				results[fmt.Sprintf("%d (thread %d, started afterwards)", i, unix.Gettid())] = escaped
			})
			done.Wait()
		}
		return report, results, err
	}
}

// startAndEndThreads starts threads, which end soon, until stop is called.
func startAndEndThreads() (stop func()) {
	stopped := make(chan struct{})
	for range 4 {
		go func() {
			for {
				select {
				case <-stopped:
					return
				case <-time.After(50 * time.Microsecond):
					go runtime.LockOSThread()
				}
			}
		}()
	}
	return func() { close(stopped) }
}

// secureBits are all bits of linux/securebits.h but SECBIT_KEEP_CAPS, whose lock is set.
const secureBits = 0xef

// escapes returns the names of forbidden actions that the calling thread can perform.
func escapes(j job) string {
	found := ""
	if readAt(unix.AT_FDCWD, j.Base+"/secret") == nil {
		found += "reads a file; "
	}
	if socket(unix.AF_UNIX) == nil {
		found += "creates a socket; "
	}
	if set, err := unix.PrctlRetInt(unix.PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0); err == nil && set == 0 {
		found += "may gain privileges; "
	}
	if bits, err := unix.PrctlRetInt(unix.PR_GET_SECUREBITS, 0, 0, 0, 0); err == nil && bits != secureBits {
		found += "may regain capabilities; "
	}
	if hasCapability(unix.CAP_SYS_CHROOT) {
		found += "has a capability; "
	}
	return found
}

// TestNoThreadEscapes starts threads before, during and after Apply. It applies each per-thread layer alone, because one layer could hide that
// another is missing. seccomp also denies reading the capabilities.
func TestNoThreadEscapes(t *testing.T) {
	t.Log("with cgo:", withCgo())
	for _, l := range run(t, job{Scenario: "probe"}, options{noNamespaces: true}).Report.Missing() {
		if l.Name == LayerRoot || l.Name == LayerLandlock || l.Name == LayerSeccomp {
			t.Skipf("%s is missing: %s", l.Name, l.Reason)
		}
	}
	for _, test := range []struct {
		only []string
		want string
	}{
		{[]string{}, "reads a file; creates a socket; may gain privileges; may regain capabilities; has a capability; "},
		{[]string{LayerNoNewPrivs}, "reads a file; creates a socket; may regain capabilities; has a capability; "},
		{[]string{LayerCapabilities}, "reads a file; creates a socket; may gain privileges; "},
		{[]string{LayerNoNewPrivs, LayerLandlock}, "creates a socket; may regain capabilities; has a capability; "},
		{[]string{LayerSeccomp, LayerNoNewPrivs}, "reads a file; "},
		{nil, ""},
	} {
		// Namespaces give capabilities to a user other than 0.
		answer := run(t, job{Scenario: "threads", Only: test.only}, options{})
		if len(answer.Results) != 2*lockedThreads {
			t.Fatalf("%d threads answered", len(answer.Results))
		}
		for thread, got := range answer.Results {
			if got != test.want {
				t.Errorf("with %v, %s: %q, want %q", test.only, thread, got, test.want)
			}
		}
	}
}

// TestAllThreadsAreConfined reads the state of all threads, among them those that run no goroutine.
func TestAllThreadsAreConfined(t *testing.T) {
	lines := []string{"NoNewPrivs:\t1", "CapPrm:\t0000000000000000"}
	if Probe().Active(LayerSeccomp) {
		lines = append(lines, "Seccomp:\t2")
	}
	observe(t, nil, func(proc string) {
		files, err := filepath.Glob(proc + "/task/*/status")
		must(t, err)
		if len(files) < 2 {
			t.Errorf("%d threads, want several", len(files))
		}
		for _, file := range files {
			status, err := os.ReadFile(file)
			must(t, err)
			for _, line := range lines {
				if !strings.Contains(string(status), "\n"+line+"\n") {
					t.Errorf("%s lacks %q:\n%s", file, line, status)
				}
			}
		}
	})
}

// withCgo reports whether this binary is linked with cgo.
func withCgo() bool {
	_, _, errno := syscall.AllThreadsSyscall(syscall.SYS_GETPID, 0, 0, 0)
	return errno != 0
}

// TestInOtherBuild repeats the tests in a binary with cgo if this one has none, and the other way round. Both have the same
// layers.
func TestInOtherBuild(t *testing.T) {
	t.Parallel()
	testenv.NotShort(t, "builds a program")
	enabled := "0"
	if !withCgo() {
		compiler, err := exec.Command("go", "env", "CC").Output()
		must(t, err)
		if _, err := exec.LookPath(strings.TrimSpace(string(compiler))); err != nil {
			t.Skipf("there is no C compiler for the build with cgo: %v", err)
		}
		enabled = "1"
	}
	name := filepath.Join(t.TempDir(), "confine.test")
	build := exec.Command("go", "test", "-c", "-o", name, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED="+enabled)
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	out, err := exec.Command(name, "confined", `{"Scenario": "probe"}`).Output()
	must(t, err)
	if diff := cmp.Diff(Probe(), decode(t, out).Report); diff != "" {
		t.Errorf("the layers differ (-this build +CGO_ENABLED=%s)\n%s", enabled, diff)
	}
	out, err = exec.Command(name, "-test.v", "-test.skip=^TestInOtherBuild$").CombinedOutput()
	if err != nil {
		t.Error(err)
	}
	t.Logf("CGO_ENABLED=%s: %s", enabled, out)
}
